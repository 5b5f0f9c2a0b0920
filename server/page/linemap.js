/* A view (matrix() of sentence.js) as lines between two columns of words, in SVG. */
import { svg } from "./dom.js";
import { colours as byTheme } from "./colour.js";
import { NAMES, arrows, drawing, label, width } from "./map.js";
import { t } from "./say.js";
import { windowed } from "./windows.js";

const SIZE = 15, MANY = 80; /* px of letters; words per side that are drawn at once */
const LEAST = 0.01; /* thinner lines are invisible */
const faint = (w) => 0.12 + 0.88 * w;

function layout({ rows, columns }, room) {
  const most = Math.max(rows.length, columns.length), step = most > 30 ? 20 : 32,
    W = Math.max(240, Math.min(room, 620)), H = most * step + 12;
  const widest = (W - 96) / 2,
    margin = (units) => Math.min(widest, Math.max(40, ...units.map((unit) => width(unit.label, SIZE)))) + 14;
  return { W, H, widest, left: margin(columns), right: W - margin(rows),
    y: (k, units) => H / 2 + (k - (units.length - 1) / 2) * step,
    nearest: (y, units) => Math.round((y - H / 2) / step + (units.length - 1) / 2) };
}

function lines({ rows, columns, weights }, l, threshold) {
  const middle = (l.left + l.right) / 2;
  return weights.flatMap((row, i) => row.flatMap((w, j) => {
    if (w < Math.max(threshold, LEAST)) return [];
    const from = l.y(j, columns), to = l.y(i, rows);
    return [{ i, j, w, node: svg("path", { d: `M${l.left} ${from}C${middle} ${from} ${middle} ${to} ${l.right} ${to}`,
      "stroke-width": (1 + 5 * w).toFixed(2), "stroke-dasharray": columns[j].end ? "2 7" : null,
      opacity: faint(w).toFixed(2), "data-cell": `${i} ${j}` }) }];
  }));
}

/* Return choose(isTarget, k), which highlights the lines and labels of one word; choose() resets them. */
function chooser(view, paths, names, onSay) {
  return (isTarget, k = -1) => {
    const of = (path) => (isTarget ? path.i : path.j) === k;
    for (const path of paths)
      path.node.setAttribute("opacity", k < 0 ? faint(path.w).toFixed(2) : of(path) ? Math.max(0.25, path.w) : 0.05);
    for (const [side, list] of [[false, names.columns], [true, names.rows]]) {
      list.forEach((node, n) => {
        const on = side === isTarget ? n === k : paths.some((path) => of(path) && (isTarget ? path.j : path.i) === n
          && path.w >= 0.1);
        k >= 0 && on ? node.setAttribute("font-weight", 700) : node.removeAttribute("font-weight");
      });
    }
    if (k < 0) return onSay(null);
    const all = isTarget ? view.weights[k] : view.weights.map((row) => row[k]), best = all.indexOf(Math.max(...all));
    onSay(isTarget ? { view, i: k, j: best } : { view, i: best, j: k });
  };
}

function follow(root, { rows, columns }, l, choose) {
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect(), x = event.clientX - box.left, isTarget = x > l.right,
      units = isTarget ? rows : columns;
    const k = l.nearest(event.clientY - box.top, units);
    (x < l.left || isTarget) && k >= 0 && k < units.length ? choose(isTarget, k) : choose();
  });
  root.addEventListener("pointerleave", () => choose());
  arrows(root, rows.length, (k) => choose(true, k));
}

/* Source on the left, target on the right, a line for each weight of at least threshold. Options: see heatMap(). */
export function lineMap(view, { threshold = 0.05, room = 900, colours = byTheme(), onSay = () => {},
  name = t(NAMES[view.look]) }) {
  const { rows, columns } = view, l = layout(view, room), paths = lines(view, l, threshold);
  const side = (units, x, toward) =>
    units.map((unit, k) => label(unit, toward, colours, { x, y: l.y(k, units) + 5, size: SIZE, most: l.widest }));
  const names = { columns: side(columns, l.left - 12, "left"), rows: side(rows, l.right + 12, "right") };
  const root = drawing("map lines", l, colours, { tabindex: 0, role: "application",
    "aria-label": t("{0} as lines from {1} source to {2} target words. Arrow keys choose a target word.", name,
      columns.length, rows.length) },
  svg("g", { fill: "none", stroke: colours.accent, "stroke-linecap": "round" }, paths.map((path) => path.node)),
    names.columns, names.rows);
  follow(root, view, l, chooser(view, paths, names, onSay));
  return root;
}
/* The same, or a window of it if there are too many words. */
export const largeLines = (view, options) => windowed(view,
  { fits: view.rows.length < MANY && view.columns.length < MANY ? [MANY, MANY] : [40, 40], colours: options.colours,
  name: t(NAMES[view.look]),
  draw: (one) => Object.assign(lineMap(one, options), { id: "map" }) });
