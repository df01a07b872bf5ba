// SPDX-License-Identifier: BSD-3-Clause
// The map: draws a view (SVG), and lets the mouse and the keyboard move in it.

import {$, el, svg, STATES, count, percent} from './dom.js';
import {GUTTER, layout, shortLabel} from './layout.js';

const NAMES = ['ok', 'degraded', 'excluded', 'down'];
const LOAD_STEPS = [0.2, 0.4, 0.6, 0.8];
const LARGER = 1.5; // a small fabric fills the frame
const BADGE = 52;   // width of a card with room for a mark beside its name
const ZOOM = {most: 6, step: 1.3};

const loadClass = load => load === null || load === undefined ? 'load-unknown'
  : 'load-' + LOAD_STEPS.filter(step => load > step).length;

export class FabricMap {
  /** hooks: open(key), up(), card(card, index), line(line) */
  constructor(hooks) {
    this.hooks = hooks;
    this.color = 'state';
    this.frame = $('map');
    this.zoom = 1;
    this.frame.addEventListener('keydown', event => this.key(event));
    this.frame.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? ZOOM.step : 1 / ZOOM.step);
    }, {passive: false});
    new ResizeObserver(() => this.view && this.size !== this.frameSize() && this.draw()).observe(this.frame);
  }

  frameSize() {
    return this.frame.offsetWidth + ' ' + this.frame.offsetHeight; // scroll bars included
  }

  show(view) {
    this.view = view;
    this.draw();
  }

  draw() {
    const focused = document.activeElement?.dataset?.card;
    const had = this.frame.contains(document.activeElement);
    this.size = this.frameSize();
    const place = this.place = fill(this.view, this.frame.clientWidth, this.frame.clientHeight);
    const picture = this.picture = svg('svg', {
      viewBox: `0 0 ${place.width} ${place.height}`, role: 'group', 'aria-labelledby': 'map-title',
      'aria-describedby': 'keys', class: this.color === 'load' ? 'by-load' : 'by-state'});
    picture.append(this.lines(), svg('g', {class: 'trace', 'aria-hidden': 'true'}), this.titles(), this.cards());
    this.frame.replaceChildren(picture);
    this.scale();
    this.trace(this.hops || []);
    if (this.chosen) this.choose(this.chosen);
    const again = focused !== undefined && had && this.cardNodes[focused];
    this.rove(again ? Number(focused) : 0, Boolean(again));
  }

  lines() {
    const many = this.place.lines.length > 400 ? ' very many' : this.place.lines.length > 120 ? ' many' : '';
    const hits = svg('g', {class: 'hits'});
    const seen = svg('g', {class: 'lines' + many, 'aria-hidden': 'true'});
    this.lineNodes = [];
    // the worst lines come first, and are drawn last
    for (const {line, path} of [...this.place.lines].reverse()) {
      const [a, b, links, state, bad, load] = line;
      const width = Math.min(5, 1 + Math.log2(links) * 0.45) + (state ? 0.8 : 0);
      const node = svg('path', {d: path, class: `line ${NAMES[state]} ${loadClass(load)}`, 'stroke-width': width.toFixed(1)});
      seen.append(node);
      const names = `${this.view.cards[a].label} – ${this.view.cards[b].label}`;
      const told = `${names}: ${count(links, 'link')}, ${bad ? bad + ' not ok (' + STATES[NAMES[state]].word + ')' : 'all ok'}, load ${percent(load)}`;
      hits.append(svg('path', {d: path, class: 'hit', onclick: () => this.pickLine(line),
        onpointerenter: () => node.classList.add('near'), onpointerleave: () => node.classList.remove('near')},
      svg('title', {}, told)));
      this.lineNodes.push([line, node]);
    }
    return svg('g', {}, seen, hits);
  }

  titles() {
    return svg('g', {class: 'titles', 'aria-hidden': 'true'}, this.place.rows.map(row =>
      row.title && row.title.split(': ').map((text, i, all) => svg('text', {x: 10, y: row.y + 15 + 14 * i,
        class: all.length > 1 && !i ? 'where' : ''}, text)).concat(this.blockTitles(row))));
  }

  /** Says beside a row of groups which cells are the switches of which level. */
  blockTitles(row) {
    const box = row.boxes[0];
    return box.card.kind === 'group' && box.titles.length > 1
      ? box.titles.map(([y, text]) => svg('text', {class: 'where', x: 22, y: row.y + y + 8}, text)) : [];
  }

  cards() {
    this.cardNodes = [];
    return svg('g', {class: 'cards'}, this.place.rows.map((row, r) => svg('g', {role: 'group',
      'aria-label': row.title || 'row ' + (r + 1)}, row.boxes.map(box => this.card(box, r)))));
  }

  card(box, row) {
    const {card, index} = box;
    const state = NAMES[card.state];
    const node = svg('g', {class: `card ${card.kind} ${state} ${loadClass(card.load)}`, role: 'button', tabindex: -1,
      'data-card': index, 'data-row': row, 'aria-label': this.tell(card), transform: `translate(${box.x.toFixed(1)} ${box.y.toFixed(1)})`,
      onclick: event => this.pick(index, event.target.dataset.name)},
    svg('title', {}, this.tell(card)),
    svg('rect', {class: 'face', width: box.w.toFixed(1), height: box.h, rx: 5}),
    svg('text', {class: 'label', x: (box.w / 2).toFixed(1), y: card.blocks.length ? 15 : box.h / 2 + 4}, shortLabel(card.label, box.w)),
    card.state && box.w > BADGE ? svg('text', {class: 'badge', x: (box.w - 8).toFixed(1), y: card.blocks.length ? 14 : box.h / 2 + 4}, STATES[state].mark) : null,
    box.cells.map(cell => this.cell(cell)));
    this.cardNodes[index] = node;
    return node;
  }

  cell([x, y, size, [name, state, load], block]) {
    const small = size < 9;
    if (state && small) { x -= 1.5; y -= 1.5; size += 3; } // no room for a mark: the cell is larger
    const rect = svg('rect', {class: `cell ${NAMES[state]} ${loadClass(load)} of-${block === 'hosts' ? 'hosts' : 'switches'}`,
      x: x.toFixed(1), y: y.toFixed(1), width: size, height: size, rx: block === 'hosts' ? size / 2 : 1.5, 'data-name': name,
      onpointerenter: event => event.target.firstChild || event.target.append(
        svg('title', {}, `${name}: ${STATES[NAMES[state]].word}, load ${percent(load)}`))});
    if (!state || small) return rect;
    const a = size * 0.25, b = size * 0.75;
    const marks = [null, `M${a} ${b}L${size / 2} ${a}L${b} ${b}Z`, `M${a} ${size / 2}H${b}`, `M${a} ${a}L${b} ${b}M${b} ${a}L${a} ${b}`];
    return [rect, svg('path', {class: 'cell-mark', transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, d: marks[state]})];
  }

  tell(card) {
    const what = card.kind === 'group' ? count(card.switches, 'switch', 'switches') : card.level;
    const bad = card.blocks.flatMap(b => b.cells).filter(c => c[1]).length;
    const state = card.state ? `${STATES[NAMES[card.state]].word}${bad ? ' (' + bad + ' of its parts)' : ''}` : 'all links ok';
    return [card.label, what, card.rack && 'rack ' + card.rack, card.hosts && count(card.hosts, 'host port'), state]
      .filter(Boolean).join(', ');
  }

  // ---- selection and keyboard

  pick(index, part) {
    const card = this.view.cards[index];
    this.rove(index, false);
    if (card.kind === 'group') this.hooks.open(card.key, part);
    else { this.choose({card: card.key}); this.hooks.card(card, part && part !== card.key ? part : undefined); }
  }

  pickLine(line) {
    this.choose({line: [line[0], line[1]]});
    this.hooks.line(line);
  }

  choose(chosen) {
    this.chosen = chosen;
    this.cardNodes.forEach((node, i) => {
      const on = this.view.cards[i].key === chosen?.card;
      node.classList.toggle('chosen', on);
      node.setAttribute('aria-pressed', on);
    });
    for (const [line, node] of this.lineNodes)
      node.classList.toggle('chosen', Boolean(chosen?.line) && line[0] === chosen.line[0] && line[1] === chosen.line[1]);
  }

  /** One card is in the tab order; arrow keys move on from there. */
  rove(index, focus = true) {
    for (const node of this.cardNodes) node.setAttribute('tabindex', -1);
    const node = this.cardNodes[index];
    if (!node) return;
    node.setAttribute('tabindex', 0);
    this.current = index;
    if (focus) node.focus();
  }

  key(event) {
    const at = this.place?.boxes[this.current];
    if (!at || event.altKey || event.ctrlKey || event.metaKey) return;
    const rows = this.place.rows.map(r => r.boxes);
    const r = rows.findIndex(row => row.includes(at)), i = rows[r].indexOf(at);
    const nearest = row => row && row.reduce((best, b) =>
      Math.abs(b.x + b.w / 2 - at.x - at.w / 2) < Math.abs(best.x + best.w / 2 - at.x - at.w / 2) ? b : best);
    const moves = {ArrowLeft: () => rows[r][i - 1], ArrowRight: () => rows[r][i + 1], ArrowUp: () => nearest(rows[r - 1]),
      ArrowDown: () => nearest(rows[r + 1]), Home: () => rows[r][0], End: () => rows[r][rows[r].length - 1]};
    if (moves[event.key]) {
      const to = moves[event.key]();
      if (to) this.rove(to.index);
    } else if (event.key === 'Enter' || event.key === ' ') this.pick(this.current);
    else if (event.key === 'Escape') this.hooks.up();
    else if (event.key === '+') this.zoomBy(ZOOM.step);
    else if (event.key === '-') this.zoomBy(1 / ZOOM.step);
    else return;
    event.preventDefault();
  }

  zoomBy(factor) {
    this.zoom = factor ? Math.max(1, Math.min(ZOOM.most, this.zoom * factor)) : 1;
    this.scale();
  }

  scale() {
    if (!this.picture) return;
    const shown = this.frame.clientWidth * this.zoom;
    this.picture.setAttribute('width', shown);
    this.picture.setAttribute('height', shown * this.place.height / this.place.width);
  }

  // ---- a path

  /** Shows a path by the names of its nodes. Nodes that are not in the view are skipped. */
  trace(names) {
    this.hops = names;
    if (!this.place) return;
    const cardOf = new Map(), wanted = new Set(names);
    for (const box of this.place.boxes) {
      for (const [, , , cell] of box.cells) cardOf.set(cell[0], box.index);
      if (box.card.kind === 'switch') cardOf.set(box.card.key, box.index);
    }
    const group = this.picture.querySelector('.trace');
    group.replaceChildren();
    for (const node of this.picture.querySelectorAll('.cell'))
      node.classList.toggle('on-path', wanted.has(node.dataset.name));
    const cards = names.map(n => cardOf.get(n)).filter(i => i !== undefined);
    this.cardNodes.forEach((node, i) => node.classList.toggle('on-path', cards.includes(i)));
    const line = (a, b) => this.place.lines.find(({line: l}) => (l[0] === a && l[1] === b) || (l[0] === b && l[1] === a));
    for (let i = 1; i < cards.length; i++) {
      const found = cards[i] !== cards[i - 1] && line(cards[i - 1], cards[i]);
      if (found) group.append(svg('path', {d: found.path, class: 'glow'}), svg('path', {d: found.path, class: 'way'}));
    }
  }
}

/** Lays a view out, larger if it would leave much of the frame empty. */
function fill(view, width, height) {
  const place = layout(view, width, height);
  const used = Math.max(...place.rows.map(row => row.width));
  const larger = Math.min(LARGER, (width - 2 * GUTTER) / used);
  return larger > 1.1 ? layout(view, width / larger, height / larger) : place;
}

export function legend(color) {
  const item = (kind, text) => el('li', {}, svg('svg', {width: 26, height: 12, 'aria-hidden': 'true', class: 'by-' + color},
    svg('path', {d: 'M1 6H25', class: 'line ' + kind, 'stroke-width': 3})), text);
  if (color === 'state') {
    return NAMES.map(name => item(name, (STATES[name].mark ? STATES[name].mark + ' ' : '') + STATES[name].word));
  }
  return [...['0 – 20 %', '20 – 40 %', '40 – 60 %', '60 – 80 %', 'over 80 %'].map((text, i) => item('ok load-' + i, text)),
    item('ok load-unknown', 'not among the 1,000 most loaded ports')];
}
