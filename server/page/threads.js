/* Threads between the words of two texts, wherever their lines break: one for each weight of at least LEAST. Only those
 * on the screen are drawn. */
import { svg } from "./dom.js";

const LEAST = 0.05, MARGIN = 200, MARK = 5; /* MARK: px of a mark; MARGIN: px around the window that are drawn */

/* Position of a word within a box; for a word broken across lines, that of its longest part. */
function placeOf(word, box) {
  const parts = [...word.getClientRects()], part = parts.reduce((a, b) => (b.width > a.width ? b : a), parts[0] ?? box);
  return { x: part.left + part.width / 2 - box.left, top: part.top - box.top, bottom: part.bottom - box.top };
}

/* place: the element that holds both texts and receives the picture. above, below: their words. weights [below][above].
 * end: index of </s> in `above`, or -1. arrange(): breaks the lines anew, and returns the chunks of the words of both,
 * or null; a link between two chunks has a mark at each end in place of a thread. light(test) highlights the threads
 * for which test(i, j) is true; without a test, all look alike. */
export function threads(place, above, below, weights, { end, arrange }) {
  const links = weights.flatMap((row, i) =>
    row.flatMap((w, j) => (w < LEAST || !above[j] || !below[i] ? [] : [{ i, j, w, node: null }])));
  const root = svg("svg", { class: "threads", "aria-hidden": "true" });
  let test = null, waits = false, seen = false, all = false, width = 0, chunks = null;

  function measure() {
    let box = root.getBoundingClientRect();
    if (!box.width) return false;
    if (box.width !== width) {
      width = box.width;
      chunks = arrange();
      box = root.getBoundingClientRect();
    }
    const from = above.map((word) => placeOf(word, box)), to = below.map((word) => placeOf(word, box));
    for (const link of links) {
      const a = from[link.j], b = to[link.i], y = a.bottom - 2, h = Math.max(b.top + 2 - y, 8);
      if (chunks && chunks[0][link.j] !== chunks[1][link.i]) {
        Object.assign(link, { apart: true, top: Math.min(a.bottom, b.top), low: Math.max(a.bottom, b.top),
          d: `M${a.x.toFixed(1)} ${a.bottom.toFixed(1)}v${MARK}M${b.x.toFixed(1)} ${b.top.toFixed(1)}v${-MARK}` });
        continue;
      }
      link.apart = false;
      Object.assign(link, { top: y, low: y + h,
        d:
        `M${a.x.toFixed(1)} ${y.toFixed(1)}C${a.x.toFixed(1)} ${(y + h * 0.55).toFixed(1)} ${b.x.toFixed(1)} ${(y + h * 0.45).toFixed(1)} ${b.x.toFixed(1)} ${(y + h).toFixed(1)}` });
    }
    const lines = (words) => new Set(words.map((one) => Math.round(one.top))).size;
    root.classList.toggle("wraps", !chunks && lines(from) + lines(to) > 3);
    return true;
  }
  function make(link) {
    link.node = svg("path", { class: link.j === end && "rest", pathLength: 1, d: link.d,
      "data-cell": `${link.i} ${link.j}`, vars: { "--w": link.w.toFixed(3) } });
    link.node.classList.toggle("apart", link.apart);
    link.node.classList.toggle("on", !!test?.(link.i, link.j));
    root.append(link.node);
  }
  /* Add paths for the threads on the screen, and remove the others. */
  function show() {
    waits = false;
    if (!seen || !root.isConnected) return;
    const { top } = root.getBoundingClientRect(), from = -MARGIN - top, to = innerHeight + MARGIN - top;
    for (const link of links) {
      const visible = all || (link.low > from && link.top < to);
      if (visible && !link.node) make(link);
      else if (!visible && link.node) { link.node.remove(); link.node = null; }
    }
  }
  function draw() {
    if (!seen || !measure()) return;
    for (const { node, d, apart } of links) {
      node?.setAttribute("d", d);
      node?.classList.toggle("apart", apart);
    }
    show();
  }
  const soon = () => { if (!waits) { waits = true; requestAnimationFrame(show); } };
  new IntersectionObserver(([{ isIntersecting }]) => {
    if (all || isIntersecting === seen) return;
    seen = isIntersecting;
    for (const type of ["scroll", "resize"])
      (seen ? addEventListener : removeEventListener)(type, soon, { passive: true });
    if (seen) draw();
    else for (const link of links) { link.node?.remove(); link.node = null; }
  }, { rootMargin: `${MARGIN}px` }).observe(place);
  new ResizeObserver(draw).observe(place);
  place.append(root);

  return { root, draw, print() { /* all of them, wherever they are */
    all = seen = true;
    draw();
  }, light(which) {
    test = which;
    root.classList.toggle("lit", !!test);
    for (const { i, j, node } of links) node?.classList.toggle("on", !!test?.(i, j));
  } };
}
