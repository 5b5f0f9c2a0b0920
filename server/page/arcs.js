/* Attention among the tokens of a sentence as arcs, in SVG: on the right to later tokens, on the left to earlier
 * ones. */
import { svg } from "./dom.js";
import { arrows, drawing, label, width } from "./map.js";
import { t } from "./say.js";

/* LEAST: smallest weight that is drawn. STEP: px per row, or TIGHT with more than MANY rows. NEAR: px that an arc is
 * wide, plus EACH per token of distance. */
const LEAST = 0.05, STEP = 22, TIGHT = 17, MANY = 30, NEAR = 14, EACH = 9;
const faint = (w) => 0.08 + 0.72 * w;

function layout({ rows }, room) {
  const step = rows.length > MANY ? TIGHT : STEP, names = Math.max(30, ...rows.map((row) => width(row.label))),
    reach = Math.min(NEAR + EACH * rows.length, Math.max(40, (room - names) / 2 - 24));
  const left = reach * 0.75 + 12, right = left + names + 16; /* a curve extends to 3/4 of its control points */
  return { step, left, right, W: Math.ceil(right + left), H: rows.length * step + 12, y: (k) => (k + 0.5) * step + 6,
    bend: (i, j) => Math.min(reach, NEAR + EACH * Math.abs(i - j)) };
}

function arc(i, j, w, l, colours) {
  if (i === j) return svg("circle", { cx: l.right, cy: l.y(i), r: (1 + 3 * w).toFixed(1), fill: colours.accent });
  const x = j > i ? l.right : l.left, far = (j > i ? 1 : -1) * l.bend(i, j);
  return svg("path", { d: `M${x} ${l.y(i)}C${x + far} ${l.y(i)} ${x + far} ${l.y(j)} ${x} ${l.y(j)}`, fill: "none",
    stroke: colours.accent, "stroke-width": (1 + 4 * w).toFixed(2) });
}

/* view: as for heatMap() of heatmap.js, with the same tokens as rows and columns. onSay({view, i, j} or null): the
 * chosen token i, and the token j that it looks at most. */
export function arcMap(view, { room, colours, onSay, name }) {
  const { rows, weights } = view, l = layout(view, room),
    nodes = weights.flatMap((row, i) =>
    row.flatMap((w, j) => (w < LEAST ? [] : [{ i, j, w, node: arc(i, j, w, l, colours) }])));
  const names = rows.map((row, k) => label(row, "left", colours, { x: l.right - 8, y: l.y(k) + 4.5 }));
  const root = drawing("map arcs", l, colours, { id: "arcs", tabindex: 0, role: "application",
    "aria-label": t("{0} as arcs between {1} tokens. Arrow keys choose a token.", name, rows.length) },
      svg("g", { "stroke-linecap": "round" }, nodes.map(({ node }) => node)), names);
  let at = -1;
  const choose = (k) => {
    at = k;
    for (const { i, w, node } of nodes)
      node.setAttribute("opacity", (k < 0 ? faint(w) : i === k ? Math.max(0.3, w) : 0.04).toFixed(2));
    names.forEach((text, n) => (k >= 0 && (n === k || weights[k][n] >= 0.1) ? text.setAttribute("font-weight", 700)
      : text.removeAttribute("font-weight")));
    onSay(k < 0 ? null : { view, i: k, j: weights[k].indexOf(Math.max(...weights[k])) });
  };
  choose(-1);
  root.addEventListener("pointermove", (event) => {
    const k = Math.floor((event.clientY - root.getBoundingClientRect().top - 6) / l.step);
    if (k !== at && k >= 0 && k < rows.length) choose(k);
  });
  for (const type of ["pointerleave", "blur"]) root.addEventListener(type, () => choose(-1));
  arrows(root, rows.length, choose);
  return root;
}
