// Keeps an open page fresh: the daemon sends the inside of <main> anew, and what has changed is put in place. Only elements
// with an id and `data-live` change, so that a form that is being filled in, or a row that has the focus, stays as it is.
// Each message is a sign of life too; when they stay out, the page says so at its top and its figures fade.
'use strict';

const main = document.querySelector('main[data-beat]');
const state = document.getElementById('live');
const contact = document.getElementById('contact');
// Two signs of life may be missed.
const patience = main ? 2500 * Number(main.dataset.beat) : 0;
let source = null;
// When the daemon was last heard, and last listened to.
let heard = Date.now();
let asked = heard;

function tell(name, words) {
  state.dataset.state = name;
  state.textContent = words;
}

// Parts of the page that came while they had the focus, by their ids.
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
    // Who types or reads there is not interrupted; it is put in place when they have left.
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

// A daemon that answers, but does not keep this page open, is not gone: it was restarted, or keeps too many open.
function lose() {
  const closed = source && source.readyState === EventSource.CLOSED;
  const since = new Date(heard).toISOString().slice(11, 19);
  const words = `${closed ? 'not updated' : 'no contact'} since ${since} UTC`;
  document.body.dataset.contact = 'lost';
  if (contact.textContent !== words) contact.textContent = words;
  tell('off', closed ? 'as it was' : 'reconnecting');
}

// A connection that is silent may be dead without either end having been told, so another one is made.
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

// A form that asks first: `data-confirm` holds the question.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// A button that prints works here only.
for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => window.print());
}

// On a narrow screen the menu is a line that scrolls: what is open is in sight.
const current = document.querySelector('header nav a[aria-current]');
if (current) {
  const menu = current.closest('nav');
  const [inside, around] = [current.getBoundingClientRect(), menu.getBoundingClientRect()];
  menu.scrollLeft += inside.left - around.left - (around.width - inside.width) / 2;
}

// An address that is there to be copied is whole, as this browser reaches us, and chosen whole.
for (const field of document.querySelectorAll('input.link')) {
  field.value = new URL(field.value, location.href).href;
  field.hidden = false;
  field.addEventListener('focus', () => field.select());
}
