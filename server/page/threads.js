/* Threads between the words of two texts, wherever their lines break: one for each weight of at least LEAST. Only those
 * on the screen are drawn. */
import { svg } from "./dom.js";

const LEAST = 0.05, MARGIN = 200; /* MARGIN: px above and below the window that are drawn, too */

/* Position of a word within a box; for a word broken across lines, that of its longest part. */
function placeOf(word, box) {
  const parts = [...word.getClientRects()], part = parts.reduce((a, b) => (b.width > a.width ? b : a), parts[0] ?? box);
  return { x: part.left + part.width / 2 - box.left, top: part.top - box.top, bottom: part.bottom - box.top };
}

/* place: the element that holds both texts and receives the picture. above, below: their words. weights [below][above].
 * end: index of </s> in `above`, or -1. light(test) highlights the threads for which test(i, j) is true; without a
 * test, all look alike. */
export function threads(place, above, below, weights, end) {
  const links = weights.flatMap((row, i) =>
    row.flatMap((w, j) => (w < LEAST || !above[j] || !below[i] ? [] : [{ i, j, w, node: null }])));
  const root = svg("svg", { class: "threads", "aria-hidden": "true" });
  let test = null, waits = false, seen = false;

  function measure() {
    const box = root.getBoundingClientRect();
    if (!box.width) return false;
    const from = above.map((word) => placeOf(word, box)), to = below.map((word) => placeOf(word, box));
    for (const link of links) {
      const a = from[link.j], b = to[link.i], y = a.bottom - 2, h = Math.max(b.top + 2 - y, 8);
      Object.assign(link, { top: y, low: y + h,
        d:
        `M${a.x.toFixed(1)} ${y.toFixed(1)}C${a.x.toFixed(1)} ${(y + h * 0.55).toFixed(1)} ${b.x.toFixed(1)} ${(y + h * 0.45).toFixed(1)} ${b.x.toFixed(1)} ${(y + h).toFixed(1)}` });
    }
    const lines = (words) => new Set(words.map((one) => Math.round(one.top))).size;
    root.classList.toggle("wraps", lines(from) + lines(to) > 3);
    return true;
  }
  function make(link) {
    link.node = svg("path", { class: link.j === end && "rest", pathLength: 1, d: link.d,
      "data-cell": `${link.i} ${link.j}`, vars: { "--w": link.w.toFixed(3) } });
    link.node.classList.toggle("on", !!test?.(link.i, link.j));
    root.append(link.node);
  }
  /* Add paths for the threads on the screen, and remove the others. */
  function show() {
    waits = false;
    if (!seen || !root.isConnected) return;
    const { top } = root.getBoundingClientRect(), from = -MARGIN - top, to = innerHeight + MARGIN - top;
    for (const link of links) {
      const visible = link.low > from && link.top < to;
      if (visible && !link.node) make(link);
      else if (!visible && link.node) { link.node.remove(); link.node = null; }
    }
  }
  function draw() {
    if (!seen || !measure()) return;
    for (const { node, d } of links) node?.setAttribute("d", d);
    show();
  }
  const soon = () => { if (!waits) { waits = true; requestAnimationFrame(show); } };
  new IntersectionObserver(([{ isIntersecting }]) => {
    if (isIntersecting === seen) return;
    seen = isIntersecting;
    (seen ? addEventListener : removeEventListener)("scroll", soon, { passive: true });
    if (seen) draw();
    else for (const link of links) { link.node?.remove(); link.node = null; }
  }, { rootMargin: `${MARGIN}px` }).observe(place);
  new ResizeObserver(draw).observe(place);
  place.append(root);

  return { root, draw, light(which) {
    test = which;
    root.classList.toggle("lit", !!test);
    for (const { i, j, node } of links) node?.classList.toggle("on", !!test?.(i, j));
  } };
}
