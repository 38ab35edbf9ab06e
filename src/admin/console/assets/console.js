// Keeps an open page fresh: the daemon streams the content of <main>, and this script updates what has
// changed. Only elements with an id and `data-live` change, so that a form being filled in, or a focused row,
// stays as it is. Each message is also a heartbeat; without it the page shows a banner and its figures fade.
'use strict';

const main = document.querySelector('main[data-beat]');
const state = document.getElementById('live');
const contact = document.getElementById('contact');
// Tolerates two missed heartbeats.
const patience = main ? 2500 * Number(main.dataset.beat) : 0;
let source = null;
// When the daemon was last heard from, and last contacted.
let heard = Date.now();
let asked = heard;

function tell(name, words) {
  state.dataset.state = name;
  state.textContent = words;
}

// Updates that arrived for focused parts of the page, by id.
const waiting = new Map();

document.addEventListener('focusout', () => setTimeout(() => new Set(waiting.values()).forEach(place)));

function take(html) {
  heard = Date.now();
  place(html);
  find();
  tell('on', 'fresh' in state.dataset ? 'live' : 'in contact');
}

function place(html) {
  const next = new DOMParser().parseFromString(html, 'text/html');
  for (const fresh of next.querySelectorAll('[data-live][id]')) {
    const shown = document.getElementById(fresh.id);
    if (!shown) continue;
    // A part with the focus is not replaced while the visitor types or reads there.
    if (shown.contains(document.activeElement)) {
      waiting.set(fresh.id, html);
      continue;
    }
    waiting.delete(fresh.id);
    for (const open of shown.querySelectorAll('details[open][id]')) {
      const same = fresh.querySelector('#' + CSS.escape(open.id));
      if (same) same.open = true;
    }
    if (shown.innerHTML !== fresh.innerHTML) shown.replaceChildren(...fresh.childNodes);
  }
}

function find() {
  if (!document.body.dataset.contact) return;
  delete document.body.dataset.contact;
  contact.textContent = '';
}

// A daemon that answers but closes the stream is not gone: it was restarted, or has too many streams.
function lose() {
  const closed = source && source.readyState === EventSource.CLOSED;
  const since = new Date(heard).toISOString().slice(11, 19);
  const words = `${closed ? 'not updated' : 'no contact'} since ${since} UTC`;
  document.body.dataset.contact = 'lost';
  if (contact.textContent !== words) contact.textContent = words;
  tell('off', closed ? 'as it was' : 'reconnecting');
}

// A silent connection may be dead without either end noticing, so reconnect.
function watch() {
  if (!source || Date.now() - Math.max(heard, asked) <= patience) return;
  lose();
  rest();
  listen();
}

function listen() {
  if (source || document.hidden) return;
  asked = Date.now();
  source = new EventSource(location.href);
  source.addEventListener('page', (event) => take(event.data));
  source.onerror = () => tell('off', source.readyState === EventSource.CLOSED ? 'as loaded' : 'reconnecting');
}

function rest() {
  if (source) source.close();
  source = null;
}

if (main && 'EventSource' in window) {
  listen();
  setInterval(watch, 1000);
  document.addEventListener('visibilitychange', () => (document.hidden ? rest() : listen()));
  window.addEventListener('pagehide', rest);
  window.addEventListener('pageshow', listen);
}

// A form that asks for confirmation; `data-confirm` is the question.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// A chosen file fills the field that `data-into` names.
for (const chosen of document.querySelectorAll('input[data-into]')) {
  chosen.addEventListener('change', async () => {
    if (chosen.files[0]) document.getElementById(chosen.dataset.into).value = await chosen.files[0].text();
  });
}

// A print button, which needs this script.
for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => window.print());
}

// An open group of the navigation closes on a click elsewhere and on Escape.
const opened = () => document.querySelector('header nav details[open]');
document.addEventListener('click', (event) => {
  if (opened() && !opened().contains(event.target)) opened().open = false;
});
document.addEventListener('keydown', (event) => {
  const group = opened();
  if (event.key !== 'Escape' || !group) return;
  group.open = false;
  group.querySelector('summary').focus();
});

// An address to copy: complete it with the host that this browser uses, and select it on focus.
for (const field of document.querySelectorAll('input.link')) {
  field.value = new URL(field.value, location.href).href;
  field.hidden = false;
  field.addEventListener('focus', () => field.select());
}
