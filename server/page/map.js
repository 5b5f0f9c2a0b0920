/* What the pictures of an attention matrix share. */
import { el, svg, direction } from "./dom.js";
import { sayCell } from "./say.js";

export const NAMES = { alignment: "Alignment", attention: "Attention" };
const CHAR = 7.1, WIDE = 14, MOST = 16;
export const cut = (label) => ([...label].length > MOST ? [...label].slice(0, MOST - 1).join("") + "\u2026" : label);
/* About how wide a label is, in px. */
export const width = (label) => [...cut(label)].reduce((sum, c) => sum + (c.codePointAt(0) > 0x2e7f ? WIDE : CHAR), 0);

/* A label of a unit. toward: whether it goes to the left or to the right of its place, whatever its script. */
export function label(unit, toward, colours, props) {
  const way = direction(unit.label), anchor = (toward === "left") === (way === "rtl") ? "start" : "end";
  return svg("text", { "font-size": 13, fill: unit.end ? colours.muted : colours.ink, direction: way, "text-anchor": anchor, "data-end": unit.end, ...props }, cut(unit.label));
}

/* A picture of W x H px. Its ground is seen where it is saved. */
export const drawing = (name, { W, H }, colours, props, ...content) => svg("svg", { class: name, width: W, height: H, viewBox: `0 0 ${W} ${H}`, ...props },
  svg("rect", { class: "ground", width: W, height: H, fill: colours.card }), content);

/* The same as a table. */
export function table({ rows, columns, weights, source, look }) {
  return el("table", { dir: direction(source) }, el("caption", { class: "sr" }, `${NAMES[look]}: rows are target, columns source`),
    el("thead", {}, el("tr", {}, el("td", {}), columns.map((c) => el("th", { scope: "col", dir: "auto", class: c.end && "rest" }, c.label)))),
    el("tbody", {}, rows.map((r, i) => el("tr", {}, el("th", { scope: "row", dir: "auto" }, r.label), weights[i].map((w, j) => el("td", { class: columns[j].end && "rest" }, w.toFixed(3)))))));
}

export function legend(look, colours) {
  return el("div", { class: "legend" }, "0%", svg("svg", { width: 120, height: 10, "aria-hidden": "true" },
    Array.from({ length: 24 }, (_, k) => svg("rect", { x: k * 5, width: 5.5, height: 10, fill: colours.scale(k / 23) }))), `100% of the ${look}`);
}

/* What the reader points at, in words. cell: {view, i, j, pinned}, or null. */
export function say(node, cell) {
  node.replaceChildren(...(cell ? [...sayCell(cell.view, cell.i, cell.j), cell.pinned ? ", pinned" : ""] : []));
}
