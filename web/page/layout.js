// SPDX-License-Identifier: BSD-3-Clause
// Where the cards, cells and lines of a view are. Pure functions: no document.

export const GUTTER = 74; // for the titles of rows
const MARGIN = 14;
const LABEL = 20;        // height of the label of a card
const CHARACTER = 6.6;   // mean width of a character at 11 pixels
const CELL = {most: 13, least: 5, gap: 2};
const CARD = {most: 136, least: 20};
const GAP_OF_ROWS = {most: 210, least: 96};

/** The longest form of a label that fits: the name, or the number at its end. */
export function shortLabel(label, width) {
  const number = label.match(/(\d+)\D*$/);
  const forms = number ? [label, number[1], String(Number(number[1]))] : [label];
  return forms.find(form => form.length * CHARACTER <= width - 4) ?? '';
}

function cellSize(width, cells) {
  const inner = width - 8;
  for (let size = CELL.most; size > CELL.least; size--) {
    const columns = Math.floor((inner + CELL.gap) / (size + CELL.gap));
    if (columns >= Math.min(cells, Math.max(3, Math.ceil(Math.sqrt(cells))))) return size;
  }
  return CELL.least;
}

/** Places the cells of a card: [[x, y, size, cell]], and the height that they need. */
function placeCells(card, width) {
  const placed = [], titles = [];
  let y = LABEL + 2;
  const most = Math.max(...card.blocks.map(b => b.cells.length), 1);
  const size = cellSize(width, most), step = size + CELL.gap;
  for (const block of card.blocks) {
    let columns = Math.max(1, Math.min(block.cells.length, Math.floor((width - 8 + CELL.gap) / step)));
    columns = Math.ceil(block.cells.length / Math.ceil(block.cells.length / columns));
    const left = (width - columns * step + CELL.gap) / 2;
    block.cells.forEach((cell, i) =>
      placed.push([left + (i % columns) * step, y + Math.floor(i / columns) * step, size, cell, block.title]));
    titles.push([y, block.title]);
    y += Math.ceil(block.cells.length / columns) * step + 5;
  }
  return {cells: placed, titles, height: card.blocks.length ? y : LABEL + 6};
}

function placeRow(row, view, width) {
  const n = row.cards.length;
  const gap = n > 30 ? 4 : n > 12 ? 7 : 16;
  const each = Math.max(CARD.least, Math.min(CARD.most, (width - gap * (n - 1)) / n));
  const used = each * n + gap * (n - 1);
  const boxes = row.cards.map((index, i) => {
    const card = view.cards[index];
    return {index, card, x: (width - used) / 2 + i * (each + gap), w: each, ...placeCells(card, each)};
  });
  return {title: row.title, boxes, width: used, height: Math.max(...boxes.map(b => b.height))};
}

/** A single row of switches, as of a torus, becomes a square, so that its lines can be told apart. */
function square(view) {
  const only = view.rows.length === 1 ? view.rows[0] : null;
  if (!only || only.cards.length < 10) return view.rows;
  const columns = Math.ceil(Math.sqrt(only.cards.length * 1.7));
  const rows = [];
  for (let i = 0; i < only.cards.length; i += columns)
    rows.push({title: i ? '' : only.title, cards: only.cards.slice(i, i + columns)});
  return rows;
}

/** Places everything for this width and height. Returns {width, height, rows, boxes: by card, lines}. */
export function layout(view, width, height) {
  const inner = width - GUTTER - MARGIN;
  const rows = square(view).map(row => placeRow(row, view, inner));
  const cards = rows.reduce((sum, row) => sum + row.height, 0);
  const gaps = Math.max(1, rows.length - 1);
  const gap = Math.max(GAP_OF_ROWS.least, Math.min(GAP_OF_ROWS.most, (height - 2 * MARGIN - cards) / gaps));
  let y = Math.max(MARGIN, (height - cards - gap * (rows.length - 1)) / 2);
  const boxes = [];
  const widest = Math.max(inner, ...rows.map(r => r.width));
  for (const row of rows) {
    row.y = y;
    for (const box of row.boxes) {
      box.x += GUTTER + (widest - inner) / 2;
      box.y = y;
      box.h = row.height;
      boxes[box.index] = box;
    }
    y += row.height + gap;
  }
  const total = y - gap + MARGIN;
  return {width: widest + GUTTER + MARGIN, height: Math.max(height, total), rows, boxes, lines: placeLines(view, boxes)};
}

/** Gives each line its own place at the edge of a card, in the order of the other ends, so that few lines cross. */
function placeLines(view, boxes) {
  const ends = new Map();
  view.lines.forEach((line, i) => {
    for (const [own, other] of [[line[0], line[1]], [line[1], line[0]]]) {
      const side = boxes[other].y < boxes[own].y ? 'top' : boxes[other].y > boxes[own].y ? 'bottom' : 'level';
      const key = own + side;
      if (!ends.has(key)) ends.set(key, []);
      ends.get(key).push({i, own, x: boxes[other].x + boxes[other].w / 2, side});
    }
  });
  const points = view.lines.map(() => ({}));
  for (const list of ends.values()) {
    list.sort((p, q) => p.x - q.x);
    list.forEach((end, n) => {
      const box = boxes[end.own];
      const share = list.length === 1 ? 0.5 : 0.14 + 0.72 * n / (list.length - 1);
      points[end.i][end.own] = [box.x + box.w * share, end.side === 'bottom' ? box.y + box.h : box.y];
    });
  }
  return view.lines.map((line, i) => ({line, path: curve(points[i][line[0]], points[i][line[1]])}));
}

function curve([x1, y1], [x2, y2]) {
  const f = v => v.toFixed(1);
  if (y1 === y2) {
    const lift = Math.min(70, 18 + Math.abs(x2 - x1) / 5);
    return `M${f(x1)} ${f(y1)}C${f(x1)} ${f(y1 - lift)} ${f(x2)} ${f(y2 - lift)} ${f(x2)} ${f(y2)}`;
  }
  const bend = (y2 - y1) * 0.45;
  return `M${f(x1)} ${f(y1)}C${f(x1)} ${f(y1 + bend)} ${f(x2)} ${f(y2 - bend)} ${f(x2)} ${f(y2)}`;
}
