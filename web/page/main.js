// SPDX-License-Identifier: BSD-3-Clause
// The page: gets views of the fabric, and connects its parts. The address has the part that is shown (#p3), so that the
// browser's buttons, bookmarks and links work.

import {$, el, get, api, count, word} from './dom.js';
import {FabricMap, legend} from './map.js';
import {followEvents} from './events.js';
import {pathForm, showDrains, showGroup, showLine, showNode, showProblems} from './panel.js';

const EVERY = 10000; // ms between two views, for the loads
const SOON = 700;    // ms after an event, so that several make one

const state = {path: '', by: 'pod', view: null, text: '', timer: 0};

const map = new FabricMap({
  open: (key, part) => { location.hash = key; state.part = part; },
  up: () => { location.hash = state.view.crumbs.at(-2)?.[0] ?? ''; },
  card: (card, part) => part ? showNode(part) : showNode(card.key, card.level, card.rack),
  line: line => showLine(state.view, line),
});

function crumbs() {
  const list = state.view.crumbs.map(([key, label], i, all) => i === all.length - 1
    ? el('span', {'aria-current': 'page'}, i ? label : 'Whole fabric')
    : el('a', {href: '#' + key}, i ? label : 'Whole fabric'));
  $('crumbs').replaceChildren(...list.flatMap((node, i) => i ? [el('span', {class: 'sep', 'aria-hidden': 'true'}, '›'), node] : [node]));
}

function totals(view, status) {
  const t = view.totals;
  const item = (value, name, kind) => el('div', {class: kind && value ? 'bad mark-' + kind : ''}, el('dd', {}, Number(value).toLocaleString('en')), el('dt', {}, name));
  const marks = {degraded: '▲ degraded', excluded: '◆ not in the routes', down: '✕ down'};
  $('totals').replaceChildren(item(t.adapters, 'host adapters'), item(t.switches, 'switches'), item(t.links, 'links'),
    ...Object.entries(marks).map(([kind, name]) => item(t[kind], t[kind] ? name : name.slice(2), kind)));
  if (!status) return;
  const routing = status.routing;
  $('manager').replaceChildren(el('b', {}, word(status.role, 'MANAGER_ROLE_')), `, ${status.state}`, el('br', {}),
    routing?.engine ? `${routing.engine}, ` + (routing.deadlock_free ? 'free of deadlock' : 'not free of deadlock') : 'no tables yet');
  const alarms = ['alarm', 'store_alarm', 'device_alarm', 'certificate_alarm', 'multicast_alarm', 'frozen'].map(k => status[k]).filter(Boolean);
  $('alarm').hidden = !alarms.length;
  $('alarm').textContent = alarms.join(' · ');
}

async function readView() {
  const asked = state.path + ' ' + state.by;
  const view = await get('map/view', {path: state.path, by: state.by});
  if (asked !== state.path + ' ' + state.by) return;
  const text = JSON.stringify(view);
  const first = !state.view, moved = first || view.path !== state.view.path || view.by !== state.view.by;
  state.view = view;
  if (moved || text !== state.text) {
    if (moved) { map.zoom = 1; map.chosen = null; }
    $('by').hidden = !view.racks;
    $('legend').replaceChildren(...legend(map.color)); // first: the map has the height that is left
    crumbs();
    map.show(view);
  }
  state.text = text;
  totals(view, state.status);
  document.documentElement.dataset.generation = view.generation;
  if (first) document.documentElement.dataset.drawn = Math.round(performance.now());
  if (moved && view.path) enter();
}

/** After a group is opened: shows it, or the switch of it that was clicked. */
function enter() {
  const wanted = state.view.cards.findIndex(c => c.kind === 'switch' && c.key === state.part);
  state.part = undefined;
  if (wanted >= 0) map.pick(wanted);
  else showGroup(state.view.crumbs.at(-1)[1], state.view.cards);
  map.rove(Math.max(wanted, 0), document.activeElement === document.body || map.frame.contains(document.activeElement));
}

async function refresh() {
  clearTimeout(state.timer);
  state.timer = setTimeout(refresh, EVERY);
  try {
    await readView();
  } catch (error) {
    if (state.path && /has no group/.test(error.message)) { location.hash = ''; return; }
    if (!state.view) $('map').replaceChildren(el('p', {class: 'wait problem'}, error.message));
    outdated(error);
    return;
  }
  const [status, problems, drains] = await Promise.allSettled([api('GetStatus'), get('map/problems'), api('ListDrains')]);
  if (status.value) { state.status = status.value.status; totals(state.view, state.status); }
  else outdated(status.reason);
  if (problems.value) showProblems(problems.value);
  if (drains.value) showDrains(drains.value.drains);
}

function outdated(error) {
  state.status = null;
  $('manager').replaceChildren(el('b', {class: 'mark-down'}, '✕ not up to date'), el('br', {}), error.message);
}

function soon() {
  clearTimeout(state.soon);
  state.soon = setTimeout(refresh, SOON);
}

function go() {
  state.path = decodeURIComponent(location.hash.slice(1));
  refresh();
}

$('color').addEventListener('change', event => {
  map.color = event.target.value;
  map.draw();
  $('legend').replaceChildren(...legend(map.color));
});
$('by').addEventListener('change', event => { state.by = event.target.value; location.hash = ''; refresh(); });
$('zoom-in').addEventListener('click', () => map.zoomBy(1.3));
$('zoom-out').addEventListener('click', () => map.zoomBy(1 / 1.3));
$('zoom-fit').addEventListener('click', () => map.zoomBy(0));
window.addEventListener('hashchange', go);
pathForm(names => map.trace(names));
go();
followEvents(soon);
