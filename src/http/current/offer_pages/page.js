"use strict";
// Inserts offers as they arrive, sorts and filters them, removes the links of offers that end, and reports the
// page's height to the frame around it. The page is complete without this script.

const offers = document.getElementById("offers");
const state = document.getElementById("status");
const news = document.getElementById("news");
const sorting = document.getElementById("sorting");
const trusted = window.trustedTypes?.createPolicy("offers", { createHTML: (html) => html });

// The longest time of a timer is less than a month.
const DAY = 86400000;
let timer, source, announced;

if (offers) {
  sorting.addEventListener("change", filtered);
  sorting.querySelector("button").addEventListener("click", () => {
    sorting.querySelector("[name=term]").value = "";
    sorting.querySelector("[name=firm]").checked = false;
    filtered();
    sorting.querySelector("[name=order]").focus();
  });
  for (const list of [offers, ...offers.querySelectorAll(".list")]) [...list.children].forEach((child, nth) => { child.nth = nth; });
  if (offers.dataset.events) follow(offers.dataset.events);
  end();
  // Timers stop while the machine sleeps or the page is hidden.
  document.addEventListener("visibilitychange", end);
}
if (parent !== window) reportHeight();

// The page opens only in frames of allowed sites; the message goes to no other.
function reportHeight() {
  const site = location.ancestorOrigins?.[0] ?? (document.referrer && new URL(document.referrer).origin);
  const page = document.documentElement;
  const report = () => parent.postMessage({ offerdHeight: Math.ceil(page.getBoundingClientRect().height) }, site);
  if (site) new ResizeObserver(report).observe(page);
}

// Marks offers that have ended, and sets a timer for the next end.
function end() {
  const now = Date.now();
  let next = Infinity;
  for (const offer of offers.querySelectorAll("[data-ends-in]")) {
    offer.ends ??= now + Number(offer.dataset.endsIn);
    if (offer.ends <= now) close(offer);
    else next = Math.min(next, offer.ends - now);
  }
  recount();
  arrange();
  clearTimeout(timer);
  if (next < Infinity) timer = setTimeout(end, Math.min(next, DAY));
}

function close(offer) {
  delete offer.dataset.endsIn;
  const over = document.createElement("p");
  over.className = "over";
  over.textContent = "This offer has ended.";
  offer.querySelector(".go").replaceWith(over);
  for (const link of offer.querySelectorAll("a")) link.replaceWith(link.firstChild);
  news.textContent = `An offer of ${namesOf(offer.closest(".cards > li")).join()} has ended.`;
}

// Updates the number of offers in the status sentence; the rest of the sentence stays.
function recount() {
  const standing = offers.querySelectorAll(".go").length;
  const none = state.classList.contains("pending") ? "No offers" : "No offers any more";
  const found = standing === 0 ? none : standing === 1 ? "1 offer" : `${standing} offers`;
  state.textContent = state.textContent.replace(/^(?:\d+ offers?|No offers(?: any more)?)(?= so far|\.)/, found);
}

function follow(address) {
  source?.close();
  source = new EventSource(address);
  announced = new Set(namesOf(offers));
  source.addEventListener("offers", (event) => {
    // Parsed in an inert document, in which scripts do not run and nothing is loaded before it is inserted.
    const html = trusted ? trusted.createHTML(event.data) : event.data;
    const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("offers");
    const complete = !fresh.dataset.events;
    if (complete) source.close();
    const added = [...new Set(namesOf(fresh))].filter((name) => !announced.has(name));
    added.forEach((name) => announced.add(name));
    renew(offers, fresh);
    state.textContent = fresh.dataset.status;
    state.classList.toggle("pending", !complete);
    end();
    if (added.length || complete) {
      const of = added.length ? `New: ${added.join(", ")}. ` : "";
      news.textContent = of + fresh.dataset.status;
    }
  });
  source.addEventListener("error", ({ target }) => {
    if (target !== source || target.readyState !== EventSource.CLOSED) return;
    state.classList.remove("pending");
    state.textContent = news.textContent = "The connection was lost. Open this page again to see whether there are more offers.";
  });
}

// Makes one list hold what another does, by the ids of its children. Existing children stay, with their focus.
function renew(old, fresh) {
  const wanted = [...fresh.children];
  const ids = new Set(wanted.map((child) => child.id));
  for (const child of [...old.children]) if (!ids.has(child.id)) child.remove();
  wanted.forEach((child, nth) => {
    const known = document.getElementById(child.id);
    const list = child.querySelector(".list");
    if (!known) {
      child.classList.add("fresh");
      old.append(child);
      for (const within of child.querySelectorAll(".list")) [...within.children].forEach((one, at) => { one.nth = at; });
    } else {
      if (list) renew(known.querySelector(".list"), list);
      // A card shows the disclaimers that all of its offers have, so a new offer may change where they stand.
      known.querySelector(":scope > .fine")?.replaceWith(child.querySelector(":scope > .fine"));
    }
    (known ?? child).nth = nth;
  });
}

// Sorts and filters the offers as the controls say. Only moves what is out of place, so that the focus stays.
function arrange() {
  const all = [...offers.querySelectorAll(".terms > li")];
  const [order, term] = ["order", "term"].map((name) => sorting.querySelector(`[name=${name}]`));
  const firm = sorting.querySelector("[name=firm]");
  offerTerms(term, all);
  firm.disabled = !firm.checked && new Set(all.map((offer) => "firm" in offer.dataset)).size < 2;

  const isWanted = ({ dataset }) => (!term.value || dataset.term === term.value) && (!firm.checked || "firm" in dataset);
  for (const offer of all) offer.hidden = !isWanted(offer);
  for (const group of offers.querySelectorAll(".cards > li, section")) group.hidden = !group.querySelector(".terms > li:not([hidden])");
  const keyOf = (offer) => Number(offer.dataset[order.value] ?? Infinity);
  const least = (node) => Math.min(...[...node.querySelectorAll(".terms > li:not([hidden])")].map(keyOf));
  place(offers, () => 0);
  for (const list of offers.querySelectorAll(".cards")) place(list, order.value === "match" ? () => 0 : least);
  for (const list of offers.querySelectorAll(".terms")) place(list, order.value === "match" ? () => 0 : keyOf);

  const shown = all.filter((offer) => !offer.hidden).length;
  sorting.hidden = all.length < 2 && !state.classList.contains("pending");
  sorting.classList.toggle("idle", all.length < 2);
  sorting.querySelector("button").classList.toggle("idle", shown === all.length);
  sorting.querySelector("p span").textContent =
    shown === 0 ? "No offer fits." : `Showing ${shown === all.length ? "all" : `${shown} of`} ${all.length} offers.`;
}

// Puts the children of a list in the order of their keys, the lowest first.
function place(list, keyOf) {
  const keys = new Map([...list.children].map((child) => [child, keyOf(child)]));
  const sorted = [...keys.keys()].sort((one, other) => keys.get(one) - keys.get(other) || one.nth - other.nth);
  sorted.forEach((child, nth) => { if (list.children[nth] !== child) list.insertBefore(child, list.children[nth]); });
}

// The terms to choose from, the shortest first.
function offerTerms(select, all) {
  const terms = new Map(all.filter(({ dataset }) => dataset.term).map(({ dataset }) => [dataset.term, Number(dataset.months ?? Infinity)]));
  const sorted = [...terms.keys()].sort((one, other) => terms.get(one) - terms.get(other));
  const chosen = terms.has(select.value) ? select.value : "";
  if (select.length !== sorted.length + 1) select.replaceChildren(select.options[0], ...sorted.map((term) => new Option(term, term)));
  select.value = chosen;
  select.disabled = sorted.length < 2;
}

function filtered() {
  arrange();
  news.textContent = sorting.querySelector("p span").textContent;
}

function namesOf(node) {
  return [...node.querySelectorAll("h3")].map((name) => name.textContent);
}
