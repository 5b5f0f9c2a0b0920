/* A view that is too large for its place: a thumbnail of all of it, and a window that is drawn large, so that nothing
 * scrolls within the page. */
import { direction, el } from "./dom.js";
import { t } from "./say.js";

const SHADES = 256, SMALL = 280; /* px of the thumbnail */

/* A matrix of weights as a picture, one pixel per weight. */
export function thumb(weights, colours, mirrored) {
  const canvas = el("canvas", { width: weights[0].length, height: weights.length, class: mirrored && "mirrored" }),
    context = canvas.getContext("2d", { willReadFrequently: true });
  const image = context.createImageData(canvas.width, canvas.height), pixels = new Uint32Array(image.data.buffer),
    shades = pixelsOf(colours);
  weights.forEach((row, i) => row.forEach((w, j) => {
    pixels[i * canvas.width + j] = shades[Math.round((SHADES - 1) * Math.min(1, Math.max(0, w)))];
  }));
  context.putImageData(image, 0, 0);
  return canvas;
}
const kept = new Map();
function pixelsOf(colours) {
  if (!kept.has(colours.paper)) {
    kept.set(colours.paper, Uint32Array.from({ length: SHADES }, (_, k) => {
      const rgb = parseInt(colours.scale(k / (SHADES - 1)).slice(1), 16);
      return (0xff000000 | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
    }));
  }
  return kept.get(colours.paper);
}

/* Part of a view: `rows` rows and `columns` columns from [i, j]. */
function part(view, [i, j], [rows, columns]) {
  return { ...view, rows: view.rows.slice(i, i + rows), columns: view.columns.slice(j, j + columns),
    weights: view.weights.slice(i, i + rows).map((row) => row.slice(j, j + columns)),
    most: (view.most ?? []).slice(i, i + rows).map((k) => k - j), from: [i, j] };
}
/* First column of a window that is centred on what its middle row looks at. */
function following(view, i, [rows, columns]) {
  const row = view.weights[Math.min(view.rows.length - 1, i + (rows >> 1))], best = row.indexOf(Math.max(...row));
  return best - (columns >> 1);
}

/* fits: [rows, columns] that can be drawn at once. draw(view, move): draws the view, or a window of it that begins at
 * view.from; move(rows, columns) moves the window, and returns whether it could. Returns the element. */
export function windowed(view, { fits, colours, draw, name }) {
  const size = [view.rows.length, view.columns.length],
    shown = size.map((count, k) => Math.max(1, Math.min(count, fits[k])));
  if (shown[0] === size[0] && shown[1] === size[1]) return draw({ ...view, from: [0, 0] });
  let at = [0, 0];
  const mirrored = direction(view.source) === "rtl", scale = Math.min(SMALL / size[1], SMALL / size[0], 4),
    frame = el("i", { class: "frame" }), large = el("div", { class: "large" });
  const mini = el("div", { class: "mini", tabindex: 0, role: "slider", "aria-orientation": "vertical",
    "aria-label": t("{0}, all of it: arrow keys move what is drawn large", name), "aria-valuemin": 1,
    "aria-valuemax": size[0],
    vars: { "--width": `${size[1] * scale}px`, "--height": `${size[0] * scale}px` } },
      thumb(view.weights, colours, mirrored), frame);
  const within = (k, value) => Math.max(0, Math.min(size[k] - shown[k], Math.round(value)));
  function show(i, j) {
    at = [within(0, i), within(1, j)];
    const left = mirrored ? size[1] - shown[1] - at[1] : at[1],
      box = { left, top: at[0], width: shown[1], height: shown[0] };
    for (const [side, value] of Object.entries(box)) frame.style[side] = `${value * scale}px`;
    mini.setAttribute("aria-valuenow", at[0] + 1);
    mini.setAttribute("aria-valuetext", t("rows {0} to {1}, columns {2} to {3}", at[0] + 1, at[0] + shown[0], at[1] + 1,
      at[1] + shown[1]));
    large.replaceChildren(draw(part(view, at, shown), (rows, columns) => {
      const before = at;
      show(at[0] + rows, at[1] + columns);
      return at[0] !== before[0] || at[1] !== before[1];
    }));
  }
  const go = (event) => {
    const box = mini.getBoundingClientRect(), x = (event.clientX - box.left) / scale, j = mirrored ? size[1] - x : x;
    show((event.clientY - box.top) / scale - shown[0] / 2, j - shown[1] / 2);
  };
  let drags = false;
  mini.addEventListener("pointerdown", (event) => {
    drags = true;
    mini.setPointerCapture(event.pointerId);
    go(event);
  });
  mini.addEventListener("pointermove", (event) => { if (drags) go(event); });
  for (const type of ["pointerup", "pointercancel"]) mini.addEventListener(type, () => { drags = false; });
  mini.addEventListener("keydown", (event) => {
    const by = { ArrowUp: [-5, 0], ArrowDown: [5, 0], ArrowLeft: [0, -5], ArrowRight: [0, 5], PageUp: [-shown[0], 0],
      PageDown: [shown[0], 0], Home: [-size[0], -size[1]], End: size }[event.key];
    if (!by) return;
    event.preventDefault();
    const i = within(0, at[0] + by[0]);
    show(i, by[1] || i === at[0] ? at[1] + by[1] : following(view, i, shown));
  });
  show(0, following(view, 0, shown));
  return el("div", { class: "windowed" }, el("figure", { class: "all" }, mini), large);
}
