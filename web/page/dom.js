// SPDX-License-Identifier: BSD-3-Clause
// Elements, requests and words. Names of the fabric only ever become text nodes and attributes, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name.startsWith('aria-') && typeof value === 'boolean') node.setAttribute(name, String(value));
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
  return node;
}

export const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
export const $ = id => document.getElementById(id);

/** Gets JSON. Throws an Error with the sentence of the manager. */
export async function get(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value].flat()) query.append(name, one);
  }
  const text = query.toString();
  const answer = await fetch(path + (text ? '?' + text : ''));
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.message || answer.statusText);
  return body;
}
export const api = (method, parameters) => get('api/v1/' + method, parameters);

export const STATES = {
  ok: {word: 'ok', mark: ''},
  degraded: {word: 'degraded', mark: '▲'},
  excluded: {word: 'not in the routes', mark: '◆'},
  down: {word: 'down', mark: '✕'},
};
export const stateMark = name =>
  el('span', {class: 'mark-' + name}, STATES[name].mark ? STATES[name].mark + ' ' : '', STATES[name].word);

export const count = (n, one, many) => `${Number(n).toLocaleString('en')} ${n === 1 ? one : many || one + 's'}`;
export const percent = load => load === null || load === undefined ? 'not known' : Math.round(load * 100) + ' %';
export const portName = p => p ? `${p.node_name || p.node_guid}/${p.port_number}` : '';
export const word = (value, prefix) => String(value).replace(prefix, '').toLowerCase().replaceAll('_', ' ');

export function rate(bytes) {
  const units = ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) { bytes /= 1000; unit++; }
  return (unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)) + ' ' + units[unit];
}

export const clock = stamp => new Date(stamp).toLocaleTimeString('en-GB');
