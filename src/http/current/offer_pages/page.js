"use strict";
// Puts offers in their places as they arrive, takes their links away as they end, and says so; the page has been whole without.

const offers = document.getElementById("offers");
const state = document.getElementById("status");
const news = document.getElementById("news");
const trusted = window.trustedTypes?.createPolicy("offers", { createHTML: (html) => html });

// What a timer can wait for at most is less than a month.
const DAY = 86400000;
let timer;

if (offers?.dataset.events) follow(offers.dataset.events);
end();
// Timers sleep with the machine, and while the page is not looked at.
document.addEventListener("visibilitychange", end);

// Ends the offers whose time has come, and waits for the next one.
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

// Says how many offers stand, in the words that the page has for it; what else is said stays.
function recount() {
  const standing = document.querySelectorAll(".cards .go").length;
  const none = state.classList.contains("pending") ? "No offers" : "No offers any more";
  const found = standing === 0 ? none : standing === 1 ? "1 offer" : `${standing} offers`;
  state.textContent = state.textContent.replace(/^(?:\d+ offers?|No offers(?: any more)?)(?= so far|\.)/, found);
}

function follow(address) {
  const source = new EventSource(address);
  source.addEventListener("offers", (event) => {
    // The page's own words, in which scripts do not run and nothing is loaded before it is put in its place.
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

// Makes one list as another is, by the ids of what stands in it. What is there already stays, with its focus; gives who made
// the offers that are new.
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
