/* Parts that the pictures of an attention matrix share. */
import { direction, el, number, percent, svg } from "./dom.js";
import { t } from "./say.js";

export const NAMES = { alignment: "Alignment", attention: "Attention" };
/* LONGEST: px of a label. FONT: the same as in sheet.js. */
const LONGEST = 200, FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
export const cut = (label, most) => ([...label].length > most ? [...label].slice(0, most - 1).join("") + "\u2026"
  : label);
let pen = null;
/* Width of a label in px, in bold. */
export function width(label, size = 13) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `700 ${size}px ${FONT}`;
  return pen.measureText(label).width;
}
/* Shorten a label with an ellipsis so that it takes at most `most` px. */
export function fit(label, most = LONGEST, size = 13) {
  if (width(label, size) <= most) return label;
  let count = [...label].length - 1;
  while (count > 1 && width(cut(label, count), size) > most) count--;
  return cut(label, count);
}

/* SVG text of a unit's label. toward: whether it extends to the left or to the right of its position, whatever its
 * script. most: px that it may take. */
export function label(unit, toward, colours, { most, size = 13, ...props }) {
  const way = direction(unit.label), anchor = (toward === "left") === (way === "rtl") ? "start" : "end",
    says = fit(unit.label, most, size);
  return svg("text", { "font-size": size, fill: unit.end ? colours.muted : colours.ink, direction: way,
    "text-anchor": anchor, "data-end": unit.end, ...props }, says, says !== unit.label && svg("title", {}, unit.label));
}

/* A picture of W x H px. Its background is visible only in saved pictures. */
export const drawing = (name, { W, H }, colours, props, ...content) =>
  svg("svg", { class: name, width: W, height: H, viewBox: `0 0 ${W} ${H}`, ...props },
  svg("rect", { class: "ground", width: W, height: H, fill: colours.card }), content);

/* Let the up and down arrows choose one of `count` rows, and Escape none (-1). */
export function arrows(root, count, choose) {
  let at = -1;
  root.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step) choose((at = Math.min(count - 1, Math.max(0, at + step))));
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
  });
}

/* The matrix as a table. */
export function table({ rows, columns, weights, source, look }) {
  return el("table", { dir: direction(source) },
    el("caption", { class: "sr" }, t("{0}: rows are target, columns source", t(NAMES[look]))),
    el("thead", {}, el("tr", {}, el("td", {}),
      columns.map((c) => el("th", { scope: "col", dir: "auto", class: c.end && "rest" }, c.label)))),
    el("tbody", {}, rows.map((r, i) => el("tr", {}, el("th", { scope: "row", dir: "auto" }, r.label),
      weights[i].map((w, j) => el("td", { class: columns[j].end && "rest" }, number(w, 3)))))));
}

export function legend(look, colours) {
  return el("div", { class: "legend" }, percent(0), svg("svg", { width: 120, height: 10, "aria-hidden": "true" },
    Array.from({ length: 24 },
      (_, k) => svg("rect", { x: k * 5, width: 5.5, height: 10, fill: colours.scale(k / 23) }))),
      t("100% of the {0}", t(look)));
}

/* Wording of cells and rows. */
export const DOES = { alignment: " is aligned with ", attention: " looks at " },
  MOST = { alignment: DOES.alignment, attention: " looks most at " };

const name = (unit) => el("b", { dir: "auto" }, unit.end ? t("the end of the sentence") : unit.label);

const sayCell = ({ rows, columns, weights, look }, i, j) => [name(rows[i]), t(DOES[look]), name(columns[j]),
  `: ${percent(weights[i][j])} (${number(weights[i][j], 4)})`];

/* Estimated probability that the word is right, in words (ratings() of sentence.js). */
export const sayRating = (rated, i) =>
  (rated?.[i] === undefined ? [] : [t("; {0} likely to be right", percent(rated[i]))]);

/* What row i is mostly aligned with, or looks at, in words. */
export function sayMost({ rows, columns, weights, most, look }, i) {
  const j = most[i];
  if (j < 0 || !columns[j])
    return [name(rows[i]), t(look === "alignment" ? " is aligned with no word" : " looks at no word")];
  if (look === "alignment" && columns[j].end && !rows[i].end)
    return [name(rows[i]), t(" is aligned with no word: {0} is at the end of the sentence", percent(weights[i][j]))];
  return [name(rows[i]), t(MOST[look]), name(columns[j]), `, ${percent(weights[i][j])}`];
}

/* Say in words what is pointed at. cell: {view, i, j, pinned}, or null. */
export function say(node, cell) {
  node.replaceChildren(...(cell ? [...sayCell(cell.view, cell.i, cell.j), cell.pinned ? t(", pinned") : ""] : []));
}
