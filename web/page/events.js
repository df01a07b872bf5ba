// SPDX-License-Identifier: BSD-3-Clause
// Events as they occur (server-sent events), after those that are stored.

import {$, el, api, clock, word} from './dom.js';

const KEPT = 300;
const AGAIN = 3000; // ms until the page tries again
const RANKS = {info: 0, warning: 1, error: 2};
const MARKS = {info: '', warning: '▲', error: '✕'};
// After events of these types the map is read again.
const CHANGES = /^(link|node|port|switch|host|drain|reroute|tables|sweep|repair|isolat|flap)/;

const severityOf = event => word(event.severity, 'EVENT_SEVERITY_');

function row(event, isNew) {
  const severity = severityOf(event);
  const node = el('li', {class: `${severity}${isNew ? ' new' : ''}`, 'data-severity': severity, 'data-type': event.type},
    el('time', {datetime: event.time, title: event.time}, clock(event.time)),
    el('span', {class: 'severity'}, MARKS[severity] ? MARKS[severity] + ' ' : '', el('span', {class: MARKS[severity] ? '' : 'unseen'}, severity)),
    el('code', {}, event.type), el('span', {class: 'message'}, event.message));
  return node;
}

function showStored(log, events) {
  log.replaceChildren(...events.map(e => row(e, false)));
  return Number(events[0]?.sequence || 0);
}

/** Lists the stored events and follows new ones, until the manager ends the stream; then does so again. */
async function follow(changed) {
  const log = $('log'), live = $('live');
  const again = message => {
    live.textContent = message;
    live.className = '';
    setTimeout(follow, AGAIN, changed);
  };
  let after;
  try {
    after = showStored(log, (await api('ListEvents', {page_size: 100})).events);
  } catch (error) {
    again(error.message);
    return;
  }
  const source = new EventSource('api/v1/WatchEvents' + (after ? '?after_sequence=' + after : ''));
  source.onopen = () => { live.textContent = 'live'; live.className = 'on'; };
  source.onerror = event => {
    // with data, it is an error of the manager, such as that it has another journal now
    if (event.data || source.readyState === EventSource.CLOSED) {
      source.close();
      again(event.data ? JSON.parse(event.data).message : 'connecting');
    } else { live.textContent = 'connecting'; live.className = ''; }
  };
  source.onmessage = message => {
    const event = JSON.parse(message.data);
    log.prepend(row(event, true));
    while (log.childElementCount > KEPT) log.lastChild.remove();
    if (CHANGES.test(event.type)) changed();
  };
  source.addEventListener('missed', () => changed());
}

/** Follows the events, and calls changed() after those that change the fabric. */
export function followEvents(changed) {
  const filter = () => { $('log').dataset.least = RANKS[$('severity').value]; };
  $('severity').addEventListener('change', filter);
  filter();
  follow(changed);
}
