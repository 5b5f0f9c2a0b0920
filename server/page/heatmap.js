/* A view (matrix() of sentence.js) as a heat map, in SVG. */
import { el, svg, direction } from "./dom.js";
import { colours as byTheme } from "./colour.js";
import { NAMES, drawing, label, width } from "./map.js";
import { t } from "./say.js";
import { windowed } from "./windows.js";

const SMALLEST = 15, LARGEST = 48, ROUNDED = 20, NUMBERED = 34; /* px; smallest cells with round corners, numbers */

/* Cell size for a number of columns in the given width. */
const cellSize = (columns, room) => Math.max(SMALLEST, Math.min(LARGEST, Math.floor(room / Math.max(1, columns))));

const SLOPE = [0.67, 0.75]; /* cosine and sine of 48 degrees, the slope of column names */
const sideOf = (units, most) => Math.ceil(Math.max(24, ...units.map((unit) => Math.min(most, width(unit.label)))));
const mostOf = (room) => Math.max(72, Math.min(200, room * 0.32));
/* How far the column names extend beyond the right edge of the cells. */
const over = (columns, cell, most, place) => Math.max(8,
  ...columns.map((column, j) => Math.min(most, width(column.label)) * SLOPE[0]
  + 8 - (columns.length - 1 - place(j)) * cell - cell / 2));

/* How many rows and columns fit into the given width, with cells large enough to point at. Long sentences get a
 * window. */
const MANY = 80;
function fitting({ rows, columns }, room) {
  const most = mostOf(room), left = sideOf(rows, most) + 12, all = left + columns.length * SMALLEST
    + over(columns, SMALLEST, most, (j) => j) <= room;
  const few = rows.length < MANY && columns.length < MANY,
    count = Math.max(4, Math.floor((room - left - sideOf(columns, most) * SLOPE[0]) / (SMALLEST + 3)));
  return few && all ? [rows.length, columns.length] : [Math.max(16, Math.min(count, 60)), Math.min(count, 60)];
}

/* Positions of everything. The columns of a right-to-left source start at the right. */
function layout({ rows, columns, source }, cell, room) {
  /* place() is its own inverse; at() relies on that. */
  const most = mostOf(room), left = sideOf(rows, most) + 12, mirrored = direction(source) === "rtl",
    place = (j) => (mirrored ? columns.length - 1 - j : j);
  const named = sideOf(columns, most), free = room - left;
  cell ??= cellSize(columns.length, free - 8);
  while (cell > SMALLEST && left + columns.length * cell + over(columns, cell, most, place) > room) cell--;
  const head = Math.ceil(named * SLOPE[1]) + 20;
  return { cell, left, head, most, mirrored, count: [rows.length, columns.length],
    W: Math.ceil(left + columns.length * cell + over(columns, cell, most, place)), H: head + rows.length * cell + 4,
    x: (j) => left + place(j) * cell, y: (i) => head + i * cell,
    at(px, py) {
      const j = Math.floor((px - left) / cell), i = Math.floor((py - head) / cell);
      return i >= 0 && i < rows.length && j >= 0 && j < columns.length ? [i, place(j)] : null;
    } };
}

/* Cell size of the part of a view that is drawn in the given width. */
export function cellFor(view, room) {
  const [rows, columns] = fitting(view, room);
  return layout({ ...view, rows: view.rows.slice(0, rows), columns: view.columns.slice(0, columns) }, undefined,
    room).cell;
}

function labels({ rows, columns }, l, colours) {
  const size = l.cell < 18 ? 11 : 13, { most } = l;
  return { sides: rows.map((row, i) => label(row, "left", colours,
    { x: l.left - 10, y: l.y(i) + l.cell / 2 + 4.5, size, most })),
    tops: columns.map((column, j) => label(column, "right", colours,
      { transform: `translate(${l.x(j) + l.cell / 2 + 4} ${l.head - 8}) rotate(-48)`, size, most })) };
}

/* Hatching over the column of </s>: that share of a row falls on no word. */
function hatch(columns, l, colours) {
  const j = columns.findIndex((column) => column.end);
  if (j < 0) return [];
  const side = l.cell - 2, step = Math.max(5, side / 4), x = l.x(j) + 1, lines = [];
  for (let i = 0; i < l.count[0]; i++)
    for (let at = step / 2; at < 2 * side; at += step) {
      const from = Math.min(at, side), to = Math.max(0, at - side), y = l.y(i) + 1;
      lines.push(
        `M${(x + from).toFixed(1)} ${(y + at - from).toFixed(1)}L${(x + to).toFixed(1)} ${(y + at - to).toFixed(1)}`);
    }
  return [svg("path", { class: "hatch", d: lines.join(""), stroke: colours.muted, "stroke-opacity": 0.5, fill: "none",
    "pointer-events": "none" })];
}

function cells({ weights, columns }, l, threshold, colours) {
  const gap = l.cell > ROUNDED ? 1 : 0.5, side = l.cell - 2 * gap, made = [], numbers = [], shades = [];
  weights.forEach((row, i) => row.forEach((w, j) => {
    const seen = w >= threshold ? w : 0, x = l.x(j), y = l.y(i);
    if (l.cell > ROUNDED)
      made.push(svg("rect", { x: x + gap, y: y + gap, width: side, height: side, rx: 3, fill: colours.scale(seen) }));
    /* One path per shade, because there may be thousands of cells. */
    else (shades[Math.round(100 * seen)] ??= []).push(`M${x + gap} ${y + gap}h${side}v${side}h-${side}z`);
    if (l.cell >= NUMBERED && seen >= 0.05)
      numbers.push(svg("text", { x: x + l.cell / 2, y: y + l.cell / 2 + 4, "text-anchor": "middle", "font-size": 11,
        fill: colours.on(seen), "pointer-events": "none" }, Math.round(100 * seen)));
  }));
  shades.forEach((list, shade) => made.push(svg("path", { d: list.join(""), fill: colours.scale(shade / 100) })));
  return [...made, ...hatch(columns, l, colours), ...numbers];
}

/* Highlight of a row, a column and a cell, and the position of that cell. */
class Cursor {
  constructor(view, l, names, colours, onSay) {
    const frame = (w, h, stroke) => svg("rect", { width: w, height: h, rx: 4, fill: "none", stroke: colours.accent,
      "stroke-width": stroke, visibility: "hidden", "pointer-events": "none" });
    Object.assign(this, { view, l, names, onSay, at: [0, 0], pinned: false, bold: [],
      frames: [frame(l.count[1] * l.cell, l.cell, 1.5), frame(l.cell, l.count[0] * l.cell, 1.5),
        frame(l.cell, l.cell, 3)] });
  }
  #embolden(...texts) {
    for (const text of this.bold) text?.removeAttribute("font-weight");
    for (const text of texts) text?.setAttribute("font-weight", 700);
    this.bold = texts;
  }
  #move(k, x, y) {
    const node = this.frames[k];
    node.setAttribute("x", x);
    node.setAttribute("y", y);
    node.setAttribute("visibility", "visible");
  }
  clear() {
    for (const node of this.frames) node.setAttribute("visibility", "hidden");
    this.#embolden();
    this.onSay(null);
  }
  /* from: the other end of a range of cells in the row. */
  select(i, j, from = j) {
    const { l, view } = this;
    this.at = [i, j];
    this.#embolden(this.names.sides[i], this.names.tops[j]);
    this.#move(0, l.left, l.y(i));
    this.#move(1, l.x(j), l.head);
    this.frames[2].setAttribute("width", l.cell * (Math.abs(j - from) + 1));
    this.#move(2, Math.min(l.x(j), l.x(from)), l.y(i));
    this.onSay({ view, i, j, pinned: this.pinned });
  }
  step(rows, columns) {
    const within = (k, count) => Math.min(count - 1, Math.max(0, k)), [i, j] = this.at, { count } = this.l;
    if (Number.isFinite(rows + columns) && (i + rows < 0 || j + columns < 0 || i + rows >= count[0]
      || j + columns >= count[1]) && this.onEdge?.(rows, columns)) return;
    this.select(within(this.at[0] + rows, this.l.count[0]), within(this.at[1] + columns, this.l.count[1]));
    this.frames[2].scrollIntoView({ block: "nearest" });
  }
  pin(on) {
    this.pinned = on;
    this.select(...this.at);
  }
}

function followPointer(root, l, cursor, { onForce, onPick }) {
  let drag = null;
  const hit = (event) => {
    const box = root.getBoundingClientRect();
    return l.at(event.clientX - box.left, event.clientY - box.top);
  };
  root.addEventListener("pointermove", (event) => {
    const found = hit(event);
    if (drag && found) cursor.select(drag[0], found[1], drag[1]);
    else if (!cursor.pinned && !drag) found ? cursor.select(...found) : cursor.clear();
  });
  root.addEventListener("pointerleave", () => { if (!cursor.pinned && !drag) cursor.clear(); });
  root.addEventListener("pointerdown", (event) => {
    drag = onForce ? hit(event) : null;
    if (!drag) return;
    root.setPointerCapture(event.pointerId);
    cursor.select(...drag);
  });
  root.addEventListener("pointerup", () => {
    if (!drag) return;
    const ends = [drag[1], cursor.at[1]].sort((a, b) => a - b), row = drag[0];
    drag = null;
    onForce(row, ...ends);
  });
  root.addEventListener("pointercancel", () => { drag = null; });
  root.addEventListener("click", (event) => {
    const found = hit(event), same = found && cursor.pinned && found[0] === cursor.at[0] && found[1] === cursor.at[1];
    if (onForce) return;
    if (onPick && found) onPick(...found);
    cursor.pinned = !!found && !same && !onPick;
    found ? cursor.select(...found) : cursor.clear();
  });
}

function followKeys(root, l, cursor, { onForce, onPick }) {
  const right = l.mirrored ? -1 : 1, steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -right],
    ArrowRight: [0, right], Home: [0, -Infinity], End: [0, Infinity] };
  root.addEventListener("keydown", (event) => {
    if (steps[event.key]) cursor.step(...steps[event.key]);
    else if (event.key === "Escape") { cursor.pinned = false; cursor.clear(); }
    else if (event.key !== "Enter" && event.key !== " ") return;
    else if (onForce) onForce(cursor.at[0], cursor.at[1], cursor.at[1]);
    else if (onPick) { onPick(...cursor.at); cursor.step(0, 0); }
    else cursor.pin(!cursor.pinned);
    event.preventDefault();
  });
  root.addEventListener("focus", () => { if (root.matches(":focus-visible")) cursor.select(...cursor.at); });
  root.addEventListener("blur", () => { if (!cursor.pinned) cursor.clear(); });
}

/* cell: its size in px, by default what `room` px allow. threshold: smaller weights are drawn as 0. onSay(cell or
 * null): the cell that is pointed at. onForce(row, from, to): columns were dragged over, or Enter was pressed.
 * onPick(row, column): a cell was clicked, or Enter was pressed. Without both, a click pins the cell. onEdge(rows,
 * columns): a step would leave the map; true if it was handled. Returns an SVG element with its layout, column names
 * and cursor. */
export function heatMap(view, { cell, threshold = 0, room = 900, colours = byTheme(), onSay = () => {}, onForce, onPick,
  onEdge, name = t(NAMES[view.look]) }) {
  const l = layout(view, cell, room), names = labels(view, l, colours),
    cursor = Object.assign(new Cursor(view, l, names, colours, onSay), { onEdge });
  const tops = svg("g", {}, names.tops), sides = svg("g", { class: "sides" }, names.sides);
  const root = drawing("map", l, colours, { role: "application", tabindex: 0, "data-force": !!onForce,
    "data-cells": l.count.join(" x "),
    "aria-label": t("{0}: {1} rows, {2} columns.", name, ...l.count)
      + t(onForce ? " Arrow keys move, Enter makes the word look there, Escape releases." : onPick
      ? " Arrow keys move, Enter changes the cell, Escape releases."
      : " Arrow keys move, Enter pins, Escape releases.") },
  cells(view, l, threshold, colours), cursor.frames, tops, sides);
  followPointer(root, l, cursor, { onForce, onPick });
  followKeys(root, l, cursor, { onForce, onPick });
  return Object.assign(root, { layout: l, names: { tops }, cursor });
}

/* A heat map whose column names stay visible while the page scrolls. */
function sheet(map) {
  const { W, head } = map.layout;
  return el("div", { class: "sheet" }, map,
    svg("svg", { class: "pane tops", width: W, height: head, "aria-hidden": "true" }, map.names.tops));
}
/* A heat map as large as its place allows, or a window of it. options: those of heatMap(); of(view): more of them for a
 * window; drawn(map, view): called after each drawing. */
export function largeMap(view, { of = () => ({}), drawn = () => {}, id = "map", ...options }) {
  let map = null;
  return windowed(view, { fits: fitting(view, options.room ?? 900), colours: options.colours ?? byTheme(),
    name: options.name ?? t(NAMES[view.look]), draw(one, move) {
    const onEdge = move && ((rows, columns) => {
      const { at, l } = map.cursor, [row, column] = [at[0] + one.from[0], at[1] + one.from[1]];
      if (!move(Math.sign(rows) * (l.count[0] >> 1), Math.sign(columns) * (l.count[1] >> 1))) return false;
      map.focus({ preventScroll: true });
      map.cursor.at = [row - map.from[0] + rows, column - map.from[1] + columns]
        .map((k, side) => Math.max(0, Math.min(map.layout.count[side] - 1, k)));
      map.cursor.step(0, 0);
      return true;
    });
    map = Object.assign(heatMap(one, { ...options, ...of(one), onEdge }), { id, from: one.from });
    drawn(map, one);
    return sheet(map);
  } });
}
