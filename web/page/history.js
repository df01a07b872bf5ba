// SPDX-License-Identifier: BSD-3-Clause
// The plot of the past of a port: data sent and received, and the time without credits.

import {el, svg, api, count, rate, clock} from './dom.js';

const SIZE = {width: 330, height: 150, left: 52, right: 8, top: 10, bottom: 22};
const SPANS = [['1 h', 3600], ['1 d', 86400], ['7 d', 604800]];
const SERIES = [['sent', 'sent_bytes_per_second', 'sent_known'], ['received', 'received_bytes_per_second', 'received_known']];

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 2.5, 5, 10].map(f => f * power).find(top => top >= value) || 1;
}

function time(stamp, shown) {
  const date = new Date(stamp);
  if (shown < 600e3) return clock(stamp);
  return shown > 90000e3 ? date.toLocaleDateString('en-GB', {day: 'numeric', month: 'short'}) : clock(stamp).slice(0, 5);
}

function plot(samples, from, to) {
  const {width, height, left, right, top, bottom} = SIZE;
  const peak = Math.max(1, ...samples.flatMap(s => SERIES.map(([, field]) => Number(s[field]))));
  const most = niceTop(peak);
  const x = t => left + (width - left - right) * (t - from) / (to - from);
  const y = v => height - bottom - (height - top - bottom) * v / most;
  const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, class: 'plot', role: 'img', 'aria-label': tell(samples)});
  for (const share of [0, 0.5, 1]) {
    picture.append(svg('path', {class: 'grid', d: `M${left} ${y(share * most)}H${width - right}`}),
      svg('text', {x: left - 5, y: y(share * most) + 3, class: 'tick end'}, share ? rate(share * most) : '0'));
  }
  for (const share of [0, 0.5, 1])
    picture.append(svg('text', {x: x(from + share * (to - from)), y: height - 6, class: 'tick ' + ['start', 'middle', 'end'][share * 2]},
      time(from + share * (to - from), to - from)));
  for (const [name, field, known] of SERIES) {
    let d = '', pen = false;
    for (const sample of samples) {
      if (!sample[known]) { pen = false; continue; }
      d += `${pen ? 'L' : 'M'}${x(Date.parse(sample.time)).toFixed(1)} ${y(Number(sample[field])).toFixed(1)}`;
      pen = true;
    }
    picture.append(svg('path', {d, class: 'series ' + name}));
  }
  return picture;
}

function tell(samples) {
  if (!samples.length) return 'No samples';
  const mean = field => samples.reduce((sum, s) => sum + Number(s[field]), 0) / samples.length;
  const most = field => Math.max(...samples.map(s => Number(s[field])));
  const errors = samples.reduce((sum, s) => sum + Number(s.error_sum), 0);
  return SERIES.map(([name, field]) => `${name} ${rate(mean(field))} on average, at most ${rate(most(field))}`).join('; ') +
    `; ${count(errors, 'error')} in ${count(samples.length, 'sample')}`;
}

/** Fills `target` with the history of a port. */
export async function showHistory(target, node, port, span = SPANS[0][1]) {
  const to = Date.now(), from = to - span * 1000;
  const choice = el('div', {class: 'spans', role: 'group', 'aria-label': 'Time shown'}, SPANS.map(([text, seconds]) =>
    el('button', {type: 'button', 'aria-pressed': seconds === span, onclick: () => showHistory(target, node, port, seconds)}, text)));
  const heading = el('div', {class: 'row'}, el('h3', {}, `History of ${node}/${port}`), choice);
  try {
    const answer = await api('GetPortHistory', {node, port_number: port, since: new Date(from).toISOString(), samples: 160});
    const samples = answer.samples;
    // a manager that began a minute ago has a minute of samples: the plot begins there
    const begin = samples.length ? Math.max(from, Date.parse(samples[0].time) - 1000) : from;
    target.replaceChildren(heading, plot(samples, begin, Math.max(to, begin + 1000)),
      el('p', {class: 'key'}, el('span', {class: 'sent'}, 'sent'), el('span', {class: 'received'}, 'received')),
      el('p', {class: 'hint'}, tell(samples)));
  } catch (error) {
    target.replaceChildren(heading, el('p', {class: 'hint'}, error.message));
  }
}
