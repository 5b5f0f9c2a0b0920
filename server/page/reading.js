/* Source and target as two selectable texts. Pointing at a word of either shades its partners by their weights, and
 * threads connect them. Each text is one tab stop; the arrow keys move between its words. */
import { el, roving } from "./dom.js";
import { partners, visible, sources, targets, probability, ratings } from "./sentence.js";
import { t } from "./say.js";
import { interlinear } from "./interlinear.js";
import { DOES } from "./map.js";
import { threads } from "./threads.js";

const FAR = 4; /* px of pointer movement that make a click a selection */

/* A line of text whose words are elements; the text between them stays. mark(unit, k): {class, vars} that show how sure
 * the model is of a word. name: prefix of the words' ids. */
function line(units, text, { kind, lang, label, mark, name, says }) {
  const place = el("p", { class: `line ${kind}`, dir: "auto", lang, role: "group",
    "aria-label": t("{0}: arrow keys go from word to word", label) });
  const words = units.map((unit, k) => {
    const marked = unit.end ? {} : mark(unit, k), before = k ? text.slice(units[k - 1].stop, unit.start) : "";
    /* The </s> marker is drawn by the style sheet, so that it is not copied with the text. */
    const word = el("span", { class: unit.end ? "unit end" : ["unit", marked.class].filter(Boolean).join(" "),
      id: `${name}-${kind}-${k}`, "data-k": k, role: "button",
      "aria-label": says(unit, k), title: unit.end && t("End of the sentence"), vars: marked.vars },
      unit.end ? "" : unit.surface || unit.label);
    place.append(before, word);
    return word;
  });
  roving(place, words);
  return [place, words];
}

export const shade = (words, weights) => words.forEach((word, k) => {
  const w = weights?.[k] ?? 0;
  if (w <= 0.001 && !word.classList.contains("lit")) { word.style.removeProperty("--w"); return; }
  word.style.setProperty("--w", w.toFixed(3));
  word.classList.toggle("lit", w > 0.1);
});

/* Call act(k) when word k of a place is chosen: by Enter, Space, or a click that does not select text. k(event): the
 * word of an event, or -1; it is returned. */
export function choosable(place, act, k = (event) => Number(event.target.closest?.("[data-k]")?.dataset.k ?? -1)) {
  let from = null;
  place.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; });
  place.addEventListener("click", (event) => {
    const moved = from && event.detail && Math.hypot(event.clientX - from[0], event.clientY - from[1]) > FAR;
    if (k(event) >= 0 && !moved && event.detail < 2) act(k(event)); /* a double click selects a word */
  });
  place.addEventListener("keydown", (event) => {
    if ((event.key !== "Enter" && event.key !== " ") || k(event) < 0) return;
    event.preventDefault();
    act(k(event));
  });
  return k;
}

/* Name of a word for a screen reader, with the words that it belongs to. */
export function named(view, unit, k, back) {
  const says = unit.end ? t("End of the sentence") : unit.surface || unit.label,
    others = view ? partners(view, k, back).join(", ") : "";
  return says + (others && t(DOES[back ? "alignment" : view.look]) + others);
}
const unmarked = () => ({});
/* Marks under words: a bar where the model estimates quality, otherwise a line where it was unsure. */
export function marks(s, how) {
  const rated = ratings(s, how);
  return (unit, k) => {
    if (rated?.[k] !== undefined) return { class: "rated", vars: { "--q": rated[k].toFixed(2) } };
    const unsure = Math.max(0, 1 - 2 * probability(s, unit));
    return { vars: unsure > 0.05 ? { "--doubt": unsure.toFixed(2) } : {} };
  };
}

/* how: words, eos, look, name, langs: [source, target], result: label of the target. handlers: onTarget(unit, i),
 * onSource(unit, j), hinted(view, i) when target unit i is pointed at, hinted(null) when none is. Returns {node,
 * pin(i), point(i), rest()}; pin(i) keeps target word i highlighted, pin(-1) ends that. */
export function pair(s, how, { onTarget, onSource, hinted }) {
  const view = visible(s, how), rows = view?.rows ?? targets(s, how), columns = view?.columns
    ?? sources(s, how).filter((unit) => !unit.end), weights = view?.weights ?? [];
  const [above, source] = line(columns, s.source_text, { kind: "source", lang: how.langs[0], label: t("Source"),
    mark: unmarked, name: how.name, says: (unit, k) => named(view, unit, k, true) });
  const [below, target] = line(rows, s.text,
    { kind: "target", lang: how.langs[1], label: how.result, mark: marks(s, how), name: how.name,
      says: (unit, k) => named(view, unit, k) });
  const size = s.text.length > 180 ? " long" : s.text.length > 50 ? " middling" : "";
  const node = el("div", { class: `pair${size}${how.words ? "" : " pieces"}` }, above, below),
    sides = [{ place: above, words: source }, { place: below, words: target }],
    web = threads(node, source, target, weights, { end: columns.findIndex((column) => column.end),
    arrange: () => interlinear(node, sides, weights) });
  let pinned = -1;

  function shadeRow(i) {
    shade(target, null);
    shade(source, weights[i]);
    web.light(i < 0 ? null : (at) => at === i);
  }
  function row(i) {
    shadeRow(i);
    if (view) hinted(view, i);
  }
  function column(j) {
    shade(source, null);
    shade(target, weights.map((one) => one[j]));
    web.light((_, at) => at === j);
  }
  /* The hint of a pinned word stays, because it has buttons. */
  const rest = () => { shadeRow(pinned); if (pinned < 0) hinted(null); };
  const listen = (place, units, point, act) => {
    const k = choosable(place, (at) => act(units[at], at));
    for (const type of ["pointerover", "focusin"]) place.addEventListener(type, (event) => {
      if (k(event) >= 0 && pinned < 0) point(k(event));
    });
    for (const type of ["pointerleave", "focusout"]) place.addEventListener(type, rest);
  };
  listen(above, columns, column, onSource);
  listen(below, rows, row, onTarget);
  function pin(i) {
    target[pinned]?.classList.remove("pinned");
    target[pinned]?.removeAttribute("aria-current");
    pinned = target[i] ? i : -1;
    target[pinned]?.classList.add("pinned");
    target[pinned]?.setAttribute("aria-current", "true");
    if (pinned >= 0) row(pinned);
    else shadeRow(-1);
  }
  return { node, pin, point: row, rest, print: web.print };
}
