/* Threads between the words of two lines: one for each weight that counts. Only lines that do not wrap have them. */
import { svg } from "./dom.js";

const LEAST = 0.05;
/* Are all of them on one line? */
function straight(words) {
  const boxes = words.flatMap((word) => [...word.getClientRects()]);
  return boxes.length === words.length && boxes.every((box) => box.top < boxes[0].bottom && box.bottom > boxes[0].top);
}
const middle = (word, box) => { const mine = word.getBoundingClientRect(); return mine.left + mine.width / 2 - box.left; };

/* above, below: elements; weights [below][above]; end: the number of the one above that is </s>, or -1. The picture follows the size of `place`, which shall hold all of them. light(test): those
 * of which test(i, j) is true stand out; without a test, all are alike. */
export function threads(place, above, below, weights, end) {
  const paths = weights.flatMap((row, i) => row.flatMap((w, j) => (w < LEAST ? [] : [{ i, j, node: svg("path", { class: j === end && "rest", pathLength: 1, "data-cell": `${i} ${j}`, vars: { "--w": w.toFixed(3) } }) }])));
  const root = svg("svg", { class: "threads", "aria-hidden": "true" }, paths.map(({ node }) => node));
  function draw() {
    place.classList.toggle("threaded", straight(above) && straight(below));
    const box = root.getBoundingClientRect();
    if (!box.height) return;
    for (const { i, j, node } of paths) {
      const from = middle(above[j], box), to = middle(below[i], box), h = box.height;
      node.setAttribute("d", `M${from} 0C${from} ${h * 0.55} ${to} ${h * 0.45} ${to} ${h}`);
    }
  }
  new ResizeObserver(draw).observe(place);
  function light(test) {
    root.classList.toggle("lit", !!test);
    for (const { i, j, node } of paths) node.classList.toggle("on", !!test?.(i, j));
  }
  return { root, light };
}
