// SPDX-License-Identifier: BSD-3-Clause
// The side: what is selected, what-if, paths, links that need attention, maintenance.

import {$, el, get, api, count, percent, portName, stateMark, word} from './dom.js';
import {showHistory} from './history.js';

const target = () => $('selection');
let request = 0; // the newest selection wins over answers that come later

function head(title, facts) {
  return [el('h2', {id: 'selection-title'}, title), el('dl', {class: 'facts'}, facts.filter(f => f && f[1] !== '' && f[1] !== undefined)
    .flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]))];
}

const button = (text, onclick, label) => el('button', {type: 'button', onclick, 'aria-label': label}, text);

// ---- what-if

function describeWhatIf(answer) {
  const lines = [];
  const lost = answer.lost_endport_count;
  lines.push(lost ? el('strong', {class: 'mark-down'}, `✕ ${count(lost, 'host port')} would be cut off`)
    : el('strong', {class: 'fine'}, '✓ No host would be cut off'));
  if (lost) lines.push(answer.lost_endports.slice(0, 5).map(e => portName(e.endport)).join(', ') + (lost > 5 ? ' …' : ''));
  const report = answer.report;
  if (report && report.routed) {
    lines.push(`${count(Number(answer.entries_changed), 'table entry', 'table entries')} would change, in ` +
      `${count(Number(answer.blocks_changed), 'block')} of ${count(answer.switches_changed, 'switch', 'switches')}.`);
    lines.push(report.verdict?.passed ? 'The new tables would be free of deadlock, and all other pairs connected.'
      : `The new tables would not pass the proof: ${report.verdict?.witness || report.reason}`);
    const before = answer.quality_before?.all_to_all?.max_over_mean, after = report.quality?.all_to_all?.max_over_mean;
    if (before && after) lines.push(`Load of the busiest channel, all-to-all: ${before.toFixed(2)} times the mean now, ${after.toFixed(2)} then.`);
  } else if (report) lines.push(report.reason);
  return el('ul', {class: 'result'}, lines.map(l => el('li', {}, l)));
}

async function whatIf(place, failure) {
  place.replaceChildren(el('p', {class: 'hint'}, `Computing what would follow if ${failure} failed …`));
  try {
    const answer = await api('WhatIf', {failures: failure, 'options.samples': 100});
    place.replaceChildren(el('h3', {}, `If ${failure} failed`), describeWhatIf(answer));
  } catch (error) {
    place.replaceChildren(el('p', {class: 'problem'}, error.message));
  }
}

// ---- what is selected

function linkRow(link, below) {
  const [node, port] = split(link.a);
  return el('li', {}, el('div', {class: 'ends'}, el('b', {}, link.a), ' – ', el('b', {}, link.b)),
    el('div', {class: 'row'}, el('span', {}, stateMark(link.state), link.mbps ? ` · ${link.mbps / 1000} Gb/s` : '', link.load === null ? '' : ` · load ${percent(link.load)}`),
      el('span', {class: 'actions'}, button('What if?', () => whatIf(below, link.a), `What if ${link.a} fails?`),
        button('History', () => showHistory(below, node, port), `History of ${link.a}`))),
    link.why ? el('div', {class: 'hint'}, link.why) : null);
}

function split(port) {
  const slash = port.lastIndexOf('/');
  return [port.slice(0, slash), Number(port.slice(slash + 1))];
}

/** Shows the links of a line of the map. */
export async function showLine(view, line) {
  const mine = ++request;
  const [a, b] = [view.cards[line[0]], view.cards[line[1]]];
  const below = el('div', {class: 'below'});
  const {links} = await get('map/links', {path: view.path, by: view.by, a: line[0], b: line[1]});
  if (mine !== request) return;
  target().replaceChildren(...head(`${a.label} – ${b.label}`, [['links', String(line[2])], ['not ok', line[4] ? String(line[4]) : ''],
    ['highest load', percent(line[5])]]), below, el('ul', {class: 'links'}, links.map(link => linkRow(link, below))));
}

/** Shows one link, which is given by the names of its ports. */
export function showLink(link) {
  request++;
  const below = el('div', {class: 'below'});
  const [node, port] = split(link.a);
  target().replaceChildren(...head('Link', [['ports', `${link.a} – ${link.b}`], ['state', stateMark(link.state)], ['reason', link.why]]),
    el('p', {class: 'actions'}, link.state === 'down' ? null : button('What if it fails?', () => whatIf(below, link.a)),
      button('History', () => showHistory(below, node, port))), below);
  if (link.state !== 'down') showHistory(below, node, port);
}

const tableRow = (port, node, below) => el('tr', {class: port.degraded ? 'degraded' : ''},
  el('th', {scope: 'row'}, String(port.port.port_number)),
  el('td', {}, portName(port.peer) || (port.last_peer ? 'was ' + portName(port.last_peer) : '–')),
  el('td', {}, port.excluded || (port.degraded ? '▲ ' + port.rate_reason : word(port.state, 'PORT_STATE_'))),
  el('td', {class: 'actions'}, port.peer ? [button('What if?', () => whatIf(below, `${node}/${port.port.port_number}`), `What if port ${port.port.port_number} fails?`),
    button('History', () => showHistory(below, node, port.port.port_number), `History of port ${port.port.port_number}`)] : ''));

/** Shows a node with its ports. */
export async function showNode(name, level, rack) {
  const mine = ++request;
  try {
    const [{node, gone}, {ports}] = await Promise.all([api('GetNode', {node: name}), api('ListPorts', {node: name})]);
    if (mine !== request) return;
    if (!node) throw new Error(`${gone.name} is not part of the fabric since ${gone.gone_since}`);
    const below = el('div', {class: 'below'});
    const used = ports.filter(p => p.peer || p.last_peer || p.degraded || p.excluded);
    target().replaceChildren(...head(node.name || node.guid, [['kind', level || word(node.type, 'NODE_TYPE_')],
      ['rack', node.location?.rack || rack], ['LID', String(node.lid)], ['GUID', node.guid],
      ['ports', `${node.active_port_count} of ${node.port_count} active`], ['degraded links', node.degraded_link_count ? String(node.degraded_link_count) : '']]),
    el('p', {class: 'actions'}, button('What if it fails?', () => whatIf(below, name)), button('Path from here', () => pathFrom(name))),
    below,
    el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Ports of ' + name}, el('table', {},
      el('thead', {}, el('tr', {}, ['port', 'peer', 'state', ''].map(t => el('th', {scope: 'col'}, t)))),
      el('tbody', {}, used.map(p => tableRow(p, name, below))))));
  } catch (error) {
    target().replaceChildren(...head(name, []), el('p', {class: 'problem'}, error.message));
  }
}

/** Shows a group of switches. */
export function showGroup(label, cards) {
  request++;
  const switches = cards.filter(c => c.kind === 'switch');
  target().replaceChildren(...head(label, [['switches', String(switches.length)],
    ['host ports', String(switches.reduce((sum, c) => sum + c.hosts, 0))],
    ['with a fault', String(switches.filter(c => c.state).length)]]));
}

// ---- path

function pathFrom(name) {
  const form = $('path');
  form.elements.source.value = name;
  form.elements.destination.focus();
}

/** Traces a path by the form, and gives the names of its nodes to `show`. */
export function pathForm(show) {
  $('path').addEventListener('submit', async event => {
    event.preventDefault();
    const data = Object.fromEntries(new FormData(event.target));
    try {
      const {path} = await api('TracePath', data);
      const hops = path.hops.map(h => el('li', {}, portName(h.from), el('span', {class: 'arrow', 'aria-label': 'to'}, ' → '), portName(h.to)));
      $('hops').replaceChildren(
        el('p', {class: path.reachable ? 'fine' : 'problem'}, path.reachable
          ? `✓ ${count(path.hops.length, 'link')}, service level ${path.service_level}` + (path.partition ? `, partition ${path.partition}` : '')
          : `✕ ${path.problem}`), el('ol', {class: 'hops'}, hops));
      show([...path.hops.map(h => h.from.node_name || h.from.node_guid), ...path.hops.slice(-1).map(h => h.to.node_name || h.to.node_guid)]);
    } catch (error) {
      $('hops').replaceChildren(el('p', {class: 'problem'}, error.message));
      show([]);
    }
  });
}

// ---- links that need attention, and maintenance

export function showProblems(answer) {
  const rows = answer.links.slice(0, 100).map(link => el('li', {}, el('button', {type: 'button', class: 'plain', onclick: () => showLink(link)},
    el('span', {class: 'tag mark-' + link.state}, stateMark(link.state)), el('span', {class: 'ends'}, `${link.a} – ${link.b}`),
    el('span', {class: 'hint'}, link.why))));
  $('problems').replaceChildren(rows.length ? el('ul', {class: 'problems'}, rows) : el('p', {class: 'hint'}, 'None: every link is active at its full rate.'),
    answer.total > 100 ? el('p', {class: 'hint'}, `The first 100 of ${answer.total} links.`) : '');
}

export function showDrains(drains) {
  $('maintenance').hidden = !drains.length;
  $('drains').replaceChildren(...drains.map(d => el('li', {}, el('b', {}, `${word(d.kind, 'DRAIN_KIND_')} ${d.name}`),
    ` ${word(d.state, 'DRAIN_STATE_')}`, d.by ? `, by ${d.by}` : '', d.reason ? el('div', {class: 'hint'}, d.reason) : '')));
}
