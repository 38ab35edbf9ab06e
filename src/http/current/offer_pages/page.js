"use strict";
// Inserts offers as they arrive, and removes the links of offers that end; the page is complete without this
// script.

const offers = document.getElementById("offers");
const state = document.getElementById("status");
const news = document.getElementById("news");
const trusted = window.trustedTypes?.createPolicy("offers", { createHTML: (html) => html });

// The longest time of a timer is less than a month.
const DAY = 86400000;
let timer;

if (offers?.dataset.events) follow(offers.dataset.events);
end();
// Timers stop while the machine sleeps or the page is hidden.
document.addEventListener("visibilitychange", end);

// Marks offers that have ended, and sets a timer for the next end.
function end() {
  const now = Date.now();
  let next = Infinity;
  for (const card of document.querySelectorAll("[data-ends-in]")) {
    card.ends ??= now + Number(card.dataset.endsIn);
    if (card.ends <= now) close(card);
    else next = Math.min(next, card.ends - now);
  }
  recount();
  clearTimeout(timer);
  if (next < Infinity) timer = setTimeout(end, Math.min(next, DAY));
}

function close(card) {
  delete card.dataset.endsIn;
  const over = document.createElement("p");
  over.className = "over";
  over.textContent = "This offer has ended.";
  card.querySelector(".go").replaceWith(over);
  for (const link of card.querySelectorAll("a")) link.replaceWith(link.firstChild);
  news.textContent = `The offer of ${namesOf(card).join()} has ended.`;
}

// Updates the number of offers in the status sentence; the rest of the sentence stays.
function recount() {
  const standing = document.querySelectorAll(".cards .go").length;
  const none = state.classList.contains("pending") ? "No offers" : "No offers any more";
  const found = standing === 0 ? none : standing === 1 ? "1 offer" : `${standing} offers`;
  state.textContent = state.textContent.replace(/^(?:\d+ offers?|No offers(?: any more)?)(?= so far|\.)/, found);
}

function follow(address) {
  const source = new EventSource(address);
  source.addEventListener("offers", (event) => {
    // Parsed in an inert document, in which scripts do not run and nothing is loaded before it is inserted.
    const html = trusted ? trusted.createHTML(event.data) : event.data;
    const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("offers");
    const complete = !fresh.dataset.events;
    if (complete) source.close();
    const added = renew(offers, fresh);
    state.textContent = fresh.dataset.status;
    state.classList.toggle("pending", !complete);
    end();
    if (added.length || complete) {
      const of = added.length ? `New: ${added.join(", ")}. ` : "";
      news.textContent = of + fresh.dataset.status;
    }
  });
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.CLOSED) return;
    state.classList.remove("pending");
    state.textContent = news.textContent = "The connection was lost. Open this page again to see whether there are more offers.";
  });
}

// Makes one list like another, by the ids of its children. Existing children stay, with their focus; returns
// the institutions of the new offers.
function renew(old, fresh) {
  const added = [];
  const wanted = [...fresh.children];
  const ids = new Set(wanted.map((child) => child.id));
  for (const child of [...old.children]) if (!ids.has(child.id)) child.remove();
  wanted.forEach((child, nth) => {
    const known = document.getElementById(child.id);
    if (known?.tagName === "SECTION") added.push(...renew(known.querySelector(".cards"), child.querySelector(".cards")));
    if (!known) added.push(...namesOf(child));
    const node = known ?? child;
    if (!known) node.classList.add("fresh");
    if (old.children[nth] !== node) old.insertBefore(node, old.children[nth] ?? null);
  });
  return added;
}

function namesOf(node) {
  return [...node.querySelectorAll("h3")].map((name) => name.textContent);
}
