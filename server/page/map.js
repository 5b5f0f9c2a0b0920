/* What the pictures of an attention matrix share. */
import { el, svg, percent, direction } from "./dom.js";
import { heat, ink, muted } from "./colour.js";

const CHAR = 7.1, WIDE = 14, MOST = 16;
export const cut = (label) => ([...label].length > MOST ? [...label].slice(0, MOST - 1).join("") + "\u2026" : label);
/* About how wide a label is, in px. */
export const width = (label) => [...cut(label)].reduce((sum, c) => sum + (c.codePointAt(0) > 0x2e7f ? WIDE : CHAR), 0);

/* A label of a unit. toward: whether it goes to the left or to the right of its place, whatever its script. */
export function label(unit, toward, props) {
  const way = direction(unit.label), anchor = (toward === "left") === (way === "rtl") ? "start" : "end";
  return svg("text", { "font-size": 13, fill: unit.end ? muted() : ink(), direction: way, "text-anchor": anchor, ...props }, cut(unit.label));
}

/* The same as a table. */
export function table({ rows, columns, weights, source }) {
  return el("table", { dir: direction(source) }, el("caption", { class: "sr" }, "Attention: rows are target, columns source"),
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
