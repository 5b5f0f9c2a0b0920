/* The attention matrix: a heat map and bipartite lines, as SVG. */
import { el, svg, percent, direction } from "./dom.js";
import { heat, heatInk, ink, muted, accent, paper } from "./colour.js";

const LABEL = 13, CHAR = 7.1;
const width = (label) => [...label].reduce((sum, c) => sum + (c.codePointAt(0) > 0x2e7f ? 14 : CHAR), 0);
const cut = (label) => ([...label].length > 16 ? [...label].slice(0, 15).join("") + "\u2026" : label);

function label(unit, props) {
  return svg("text", { "font-size": LABEL, fill: unit.end ? muted() : ink(), direction: direction(unit.label), ...props }, cut(unit.label));
}

/* The cells' size for so many columns in so much room. */
export const cellSize = (columns, room) => Math.max(15, Math.min(44, Math.floor(room / Math.max(1, columns))));

/* A heat map of view (matrix of sentence.js). options: cell, threshold; onSay(text); onForce(row, from, to). Returns its element. */
export function heatMap(view, { cell, threshold = 0, room = 900, onSay = () => {}, onForce, name = "Attention" }) {
  const { rows, columns, weights } = view;
  const left = Math.ceil(Math.max(40, ...rows.map((r) => width(cut(r.label))))) + 12;
  cell ??= cellSize(columns.length, room - left - 60);
  const head = Math.ceil(Math.max(24, ...columns.map((c) => width(cut(c.label)))) * 0.78) + 20;
  const W = left + columns.length * cell + Math.ceil(head * 0.72), H = head + rows.length * cell + 4;
  const x = (j) => left + j * cell, y = (i) => head + i * cell;
  const cells = document.createDocumentFragment(), gap = cell > 20 ? 1 : 0.5, side = cell - 2 * gap, levels = [],  names = [[], []];
  columns.forEach((column, j) => {
    const text = label(column, { transform: `translate(${x(j) + cell / 2 + 4} ${head - 8}) rotate(-48)`, "font-size": cell < 18 ? 11 : LABEL });
    names[1].push(text);
    cells.append(text);
  });
  rows.forEach((row, i) => {
    const text = label(row, { x: left - 10, y: y(i) + cell / 2 + 4.5, "text-anchor": direction(row.label) === "rtl" ? "start" : "end", "font-size": cell < 18 ? 11 : LABEL });
    names[0].push(text);
    cells.append(text);
    weights[i].forEach((w, j) => {
      const seen = w >= threshold ? w : 0;
      if (cell > 20) cells.append(svg("rect", { x: x(j) + gap, y: y(i) + gap, width: side, height: side, rx: 3, fill: heat(seen) }));
      else (levels[Math.round(100 * seen)] ??= []).push(`M${x(j) + gap} ${y(i) + gap}h${side}v${side}h-${side}z`); /* thousands of cells: a path for each shade */
      if (cell >= 34 && seen >= 0.05)
        cells.append(svg("text", { x: x(j) + cell / 2, y: y(i) + cell / 2 + 4, "text-anchor": "middle", "font-size": 11, fill: heatInk(seen), "pointer-events": "none" }, Math.round(100 * seen)));
    });
  });
  levels.forEach((list, level) => cells.append(svg("path", { d: list.join(""), fill: heat(level / 100) })));
  const frame = (w, h) => svg("rect", { width: w, height: h, rx: 4, fill: "none", stroke: accent(), "stroke-width": 1.5, visibility: "hidden", "pointer-events": "none" });
  const across = frame(columns.length * cell, cell), down = frame(cell, rows.length * cell), spot = frame(cell, cell);
  spot.setAttribute("stroke-width", 3);
  const root = svg("svg", { class: "map", width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "application", tabindex: 0, "data-force": !!onForce, "data-cells": rows.length * columns.length,
    "aria-label": `${name}: ${rows.length} target by ${columns.length} source ${rows.length > 1 ? "rows and columns" : ""}. Arrow keys move, Enter ${onForce ? "makes the word look there" : "pins"}, Escape lets go.` },
    svg("rect", { class: "ground", width: W, height: H, fill: paper() }), cells, across, down, spot);

  let at = [0, 0], pinned = false, drag = null, lit = [];
  const show = (node, px, py) => { node.setAttribute("x", px); node.setAttribute("y", py); node.setAttribute("visibility", "visible"); };
  function clear() {
    for (const node of [across, down, spot]) node.setAttribute("visibility", "hidden");
    for (const text of lit) text.removeAttribute("font-weight");
    onSay(null);
  }
  function select(i, j, from = j) {
    at = [i, j];
    for (const text of lit) text.removeAttribute("font-weight");
    lit = [names[0][i], names[1][j]];
    for (const text of lit) text.setAttribute("font-weight", 700);
    show(across, left, y(i));
    show(down, x(j), head);
    spot.setAttribute("width", cell * (Math.abs(j - from) + 1));
    show(spot, x(Math.min(j, from)), y(i));
    onSay({ row: rows[i], column: columns[j], weight: weights[i][j], pinned, i, j });
  }
  function hit(event) {
    const box = root.getBoundingClientRect();
    const j = Math.floor(((event.clientX - box.left) * W / box.width - left) / cell), i = Math.floor(((event.clientY - box.top) * H / box.height - head) / cell);
    return i >= 0 && i < rows.length && j >= 0 && j < columns.length ? [i, j] : null;
  }
  root.addEventListener("pointermove", (event) => {
    const found = hit(event);
    if (drag && found) select(drag[0], found[1], drag[1]);
    else if (!pinned && !drag) found ? select(...found) : clear();
  });
  root.addEventListener("pointerleave", () => { if (!pinned && !drag) clear(); });
  root.addEventListener("pointerdown", (event) => {
    const found = hit(event);
    if (!onForce || !found) return;
    drag = found;
    root.setPointerCapture(event.pointerId);
    select(...found);
  });
  root.addEventListener("pointerup", () => {
    if (!drag) return;
    const [i, from] = drag;
    drag = null;
    onForce(i, Math.min(from, at[1]), Math.max(from, at[1]));
  });
  root.addEventListener("pointercancel", () => { drag = null; });
  root.addEventListener("click", (event) => {
    const found = hit(event);
    if (onForce) return;
    pinned = !!found && !(pinned && found[0] === at[0] && found[1] === at[1]);
    found ? select(...found) : clear();
  });
  root.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e4], End: [0, 1e4] }[event.key];
    if (step) select(Math.min(rows.length - 1, Math.max(0, at[0] + step[0])), Math.min(columns.length - 1, Math.max(0, at[1] + step[1])));
    else if (event.key === "Enter" || event.key === " ") {
      if (onForce) onForce(at[0], at[1], at[1]);
      else { pinned = !pinned; select(...at); }
    } else if (event.key === "Escape") { pinned = false; clear(); }
    else return;
    event.preventDefault();
  });
  root.addEventListener("focus", () => { if (root.matches(":focus-visible")) select(...at); });
  root.select = select;
  return root;
}

/* Source on the left, target on the right, and a line for each weight. */
export function lineMap(view, { threshold = 0.05, room = 900, onSay = () => {}, name = "Attention" }) {
  const { rows, columns, weights } = view;
  const left = Math.max(60, ...columns.map((c) => width(cut(c.label)))) + 14, right = Math.max(60, ...rows.map((r) => width(cut(r.label)))) + 14;
  const W = Math.max(280, Math.min(room, 620)), step = Math.max(rows.length, columns.length) > 30 ? 20 : 32;
  const H = Math.max(rows.length, columns.length) * step + 12;
  const y = (i, count) => H / 2 + (i - (count - 1) / 2) * step;
  const paths = [], labels = [[], []];
  const group = svg("g", { fill: "none", stroke: accent(), "stroke-linecap": "round" });
  weights.forEach((row, i) => row.forEach((w, j) => {
    if (w < Math.max(threshold, 0.01)) return;
    const y0 = y(j, columns.length), y1 = y(i, rows.length), x0 = left, x1 = W - right, mid = (x0 + x1) / 2;
    const path = svg("path", { d: `M${x0} ${y0}C${mid} ${y0} ${mid} ${y1} ${x1} ${y1}`, "stroke-width": (1 + 5 * w).toFixed(2), opacity: (0.12 + 0.88 * w).toFixed(2) });
    paths.push({ path, i, j, w });
    group.append(path);
  }));
  const side = (units, s, x, anchor) => units.map((unit, k) => {
    const node = label(unit, { x, y: y(k, units.length) + 5, "font-size": 15, "text-anchor": (direction(unit.label) === "rtl") === (anchor === "end") ? "start" : "end" , class: "label" });
    labels[s].push(node);
    return node;
  });
  const root = svg("svg", { class: "map lines", width: W, height: H, viewBox: `0 0 ${W} ${H}`, tabindex: 0, role: "application",
    "aria-label": `${name} as lines from ${columns.length} source to ${rows.length} target words. Arrow keys choose a target word.` },
    svg("rect", { class: "ground", width: W, height: H, fill: paper() }), group, side(columns, 0, left - 12, "end"), side(rows, 1, W - right + 12, "start"));
  let at = -1;
  function choose(s, k) {
    for (const { path, i, j, w } of paths) path.setAttribute("opacity", s < 0 ? (0.12 + 0.88 * w).toFixed(2) : (s ? i : j) === k ? Math.max(0.25, w) : 0.05);
    labels.forEach((list, t) => list.forEach((node, n) => {
      const on = s >= 0 && (t === s ? n === k : paths.some((p) => (s ? p.i : p.j) === k && (s ? p.j : p.i) === n && p.w >= 0.1));
      on ? node.setAttribute("font-weight", 700) : node.removeAttribute("font-weight");
    }));
    if (s < 0) return onSay(null);
    const best = s ? weights[k].indexOf(Math.max(...weights[k])) : weights.reduce((b, row, i) => (row[k] > weights[b][k] ? i : b), 0);
    onSay(s ? { row: rows[k], column: columns[best], weight: weights[k][best] } : { row: rows[best], column: columns[k], weight: weights[best][k] });
  }
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect(), px = event.clientX - box.left, py = (event.clientY - box.top);
    const s = px < left ? 0 : px > W - right ? 1 : -1, units = s ? rows : columns;
    const k = Math.round((py - H / 2) / step + (units.length - 1) / 2);
    s >= 0 && k >= 0 && k < units.length ? choose(s, k) : choose(-1);
  });
  root.addEventListener("pointerleave", () => choose(-1));
  root.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step) choose(1, (at = Math.min(rows.length - 1, Math.max(0, at + step))));
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
  });
  return root;
}

/* The same as a table. */
export function table({ rows, columns, weights }) {
  return el("table", {}, el("caption", { class: "sr" }, "Attention: rows are target, columns source"),
    el("thead", {}, el("tr", {}, el("td", {}), columns.map((c) => el("th", { scope: "col", dir: "auto" }, c.label)))),
    el("tbody", {}, rows.map((r, i) => el("tr", {}, el("th", { scope: "row", dir: "auto" }, r.label), weights[i].map((w) => el("td", {}, w.toFixed(3)))))));
}

export function legend() {
  return el("div", { class: "legend" }, "0%", svg("svg", { width: 120, height: 10, "aria-hidden": "true" },
    Array.from({ length: 24 }, (_, k) => svg("rect", { x: k * 5, width: 5.5, height: 10, fill: heat(k / 23) }))), "100% of the attention");
}

/* What the reader points at, in words. */
export function sayCell(node, cell) {
  node.replaceChildren();
  if (cell) node.append(el("b", { dir: "auto" }, cell.row.label), " looks at ", el("b", { dir: "auto" }, cell.column.label), `: ${percent(cell.weight)} (${cell.weight.toFixed(4)})${cell.pinned ? ", pinned" : ""}`);
}
