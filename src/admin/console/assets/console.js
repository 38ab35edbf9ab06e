// Keeps an open page fresh: the daemon sends the inside of <main> anew, and what has changed is put in place. Only elements
// with an id and `data-live` change, so that a form that is being filled in, or a row that has the focus, stays as it is.
'use strict';

const main = document.querySelector('main[data-stream]');
const state = document.getElementById('live');
let source = null;

function tell(name, words) {
  if (!state) return;
  state.dataset.state = name;
  state.textContent = words;
}

function take(html) {
  const next = new DOMParser().parseFromString(html, 'text/html');
  for (const fresh of next.querySelectorAll('[data-live][id]')) {
    const shown = document.getElementById(fresh.id);
    if (!shown || shown.contains(document.activeElement)) continue;
    for (const open of shown.querySelectorAll('details[open][id]')) {
      const same = fresh.querySelector('#' + CSS.escape(open.id));
      if (same) same.open = true;
    }
    if (shown.innerHTML !== fresh.innerHTML) shown.replaceChildren(...fresh.childNodes);
  }
  tell('on', 'live');
}

function listen() {
  if (source || document.hidden) return;
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
  document.addEventListener('visibilitychange', () => (document.hidden ? rest() : listen()));
  window.addEventListener('pagehide', rest);
}

// A form that asks first: `data-confirm` holds the question.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});
