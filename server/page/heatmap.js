/* A view (matrix() of sentence.js) as a heat map, in SVG. */
import { el, svg, direction } from "./dom.js";
import { colours as byTheme } from "./colour.js";
import { NAMES, drawing, label, width } from "./map.js";

const SMALLEST = 15, LARGEST = 48, ROUNDED = 20, NUMBERED = 34; /* px: cells of so much have round corners, numbers */

/* The cells' size for so many columns in so much room. */
export const cellSize = (columns, room) => Math.max(SMALLEST, Math.min(LARGEST, Math.floor(room / Math.max(1, columns))));

/* Where things are. The columns of a source that is read from the right begin at the right. */
function layout({ rows, columns, source }, cell, room) {
  const left = Math.ceil(Math.max(40, ...rows.map((r) => width(r.label)))) + 12, mirrored = direction(source) === "rtl";
  cell ??= cellSize(columns.length, room - left - 60);
  const head = Math.ceil(Math.max(24, ...columns.map((c) => width(c.label))) * 0.78) + 20;
  const place = (j) => (mirrored ? columns.length - 1 - j : j); /* its own inverse */
  return { cell, left, head, mirrored, count: [rows.length, columns.length], W: left + columns.length * cell + Math.ceil(head * 0.72), H: head + rows.length * cell + 4,
    x: (j) => left + place(j) * cell, y: (i) => head + i * cell,
    at(px, py) {
      const j = Math.floor((px - left) / cell), i = Math.floor((py - head) / cell);
      return i >= 0 && i < rows.length && j >= 0 && j < columns.length ? [i, place(j)] : null;
    } };
}

function labels({ rows, columns }, l, colours) {
  const size = l.cell < 18 ? 11 : 13;
  return { sides: rows.map((row, i) => label(row, "left", colours, { x: l.left - 10, y: l.y(i) + l.cell / 2 + 4.5, "font-size": size })),
    tops: columns.map((column, j) => label(column, "right", colours, { transform: `translate(${l.x(j) + l.cell / 2 + 4} ${l.head - 8}) rotate(-48)`, "font-size": size })) };
}

/* Stripes over the column of </s>: that share of a row is on no word. */
function hatch(columns, l, colours) {
  const j = columns.findIndex((column) => column.end);
  if (j < 0) return [];
  const side = l.cell - 2, step = Math.max(5, side / 4), x = l.x(j) + 1, lines = [];
  for (let i = 0; i < l.count[0]; i++)
    for (let at = step / 2; at < 2 * side; at += step) {
      const from = Math.min(at, side), to = Math.max(0, at - side), y = l.y(i) + 1;
      lines.push(`M${(x + from).toFixed(1)} ${(y + at - from).toFixed(1)}L${(x + to).toFixed(1)} ${(y + at - to).toFixed(1)}`);
    }
  return [svg("path", { class: "hatch", d: lines.join(""), stroke: colours.muted, "stroke-opacity": 0.5, fill: "none", "pointer-events": "none" })];
}

function cells({ weights, columns }, l, threshold, colours) {
  const gap = l.cell > ROUNDED ? 1 : 0.5, side = l.cell - 2 * gap, made = [], numbers = [], shades = [];
  weights.forEach((row, i) => row.forEach((w, j) => {
    const seen = w >= threshold ? w : 0, x = l.x(j), y = l.y(i);
    if (l.cell > ROUNDED) made.push(svg("rect", { x: x + gap, y: y + gap, width: side, height: side, rx: 3, fill: colours.scale(seen) }));
    else (shades[Math.round(100 * seen)] ??= []).push(`M${x + gap} ${y + gap}h${side}v${side}h-${side}z`); /* thousands of cells: a path for each shade */
    if (l.cell >= NUMBERED && seen >= 0.05)
      numbers.push(svg("text", { x: x + l.cell / 2, y: y + l.cell / 2 + 4, "text-anchor": "middle", "font-size": 11, fill: colours.on(seen), "pointer-events": "none" }, Math.round(100 * seen)));
  }));
  shades.forEach((list, shade) => made.push(svg("path", { d: list.join(""), fill: colours.scale(shade / 100) })));
  return [...made, ...hatch(columns, l, colours), ...numbers];
}

/* The frames of a row, a column and a cell, and which cell that is. */
class Cursor {
  constructor(view, l, names, colours, onSay) {
    const frame = (w, h, stroke) => svg("rect", { width: w, height: h, rx: 4, fill: "none", stroke: colours.accent, "stroke-width": stroke, visibility: "hidden", "pointer-events": "none" });
    Object.assign(this, { view, l, names, onSay, at: [0, 0], pinned: false, bold: [],
      frames: [frame(l.count[1] * l.cell, l.cell, 1.5), frame(l.cell, l.count[0] * l.cell, 1.5), frame(l.cell, l.cell, 3)] });
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
  /* from: the other end of a row's stretch of cells. */
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
    const within = (k, count) => Math.min(count - 1, Math.max(0, k));
    this.select(within(this.at[0] + rows, this.l.count[0]), within(this.at[1] + columns, this.l.count[1]));
    this.frames[2].scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  pin(on) {
    this.pinned = on;
    this.select(...this.at);
  }
}

function followPointer(root, l, cursor, { onForce, onPick }) {
  let drag = null;
  const hit = (event) => { const box = root.getBoundingClientRect(); return l.at(event.clientX - box.left, event.clientY - box.top); };
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
  const right = l.mirrored ? -1 : 1, steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -right], ArrowRight: [0, right], Home: [0, -Infinity], End: [0, Infinity] };
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

/* cell: its size in px, otherwise what `room` px allow; weights below threshold are drawn as none. onSay(cell or null): what is pointed at.
 * onForce(row, from, to): columns were dragged along, or Enter pressed; onPick(row, column): one was clicked, or Enter pressed; without both a click pins. sides: what the
 * rows and the columns are. Returns an SVG element; its layout and names (of rows and columns, groups) are for sheet(). */
export function heatMap(view, { cell, threshold = 0, room = 900, colours = byTheme(), onSay = () => {}, onForce, onPick, name = NAMES[view.look], sides: [down, across] = ["target", "source"] }) {
  const l = layout(view, cell, room), names = labels(view, l, colours), cursor = new Cursor(view, l, names, colours, onSay);
  const tops = svg("g", {}, names.tops), sides = svg("g", {}, names.sides);
  const root = drawing("map", l, colours, { role: "application", tabindex: 0, "data-force": !!onForce, "data-cells": l.count.join(" x "),
    "aria-label": `${name}: ${l.count[0]} ${down} by ${l.count[1]} ${across}. Arrow keys move, Enter ${onForce ? "makes the word look there" : onPick ? "changes the cell" : "pins"}, Escape releases.` },
  cells(view, l, threshold, colours), cursor.frames, tops, sides);
  followPointer(root, l, cursor, { onForce, onPick });
  followKeys(root, l, cursor, { onForce, onPick });
  return Object.assign(root, { layout: l, names: { tops, sides } });
}

/* A heat map in a box that scrolls; the names of its rows and columns stay in view. */
export function sheet(map) {
  const { W, H, left, head } = map.layout;
  const pane = (name, w, h, ...content) => svg("svg", { class: `pane ${name}`, width: w, height: h, "aria-hidden": "true" }, content);
  return el("div", { class: "scroll", vars: { "--left": `${left}px`, "--head": `${head}px` } },
    el("div", { class: "sheet" }, map, pane("sides", left, H, map.names.sides), pane("tops", W, head, map.names.tops), pane("corner", left, head)));
}
