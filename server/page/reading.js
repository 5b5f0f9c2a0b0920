/* Source and target, word by word: pointing at one shades the others by the weights between them. */
import { el, roving } from "./dom.js";
import { matrix, sources, targets, probability, ratings } from "./sentence.js";
import { threads } from "./threads.js";

/* A line of words; text between them stays. mark(unit, k): {class, vars} by which a word shows how sure the model is of it. name: of the pair, for the ids of
 * its words, by which a drawing finds the word that had the focus in the one before. */
function line(units, text, { kind, lang, label, mark, name }) {
  const place = el("p", { class: `line ${kind}`, dir: "auto", lang, role: "group", "aria-label": `${label}: arrow keys go from word to word` });
  const buttons = units.map((unit, k) => {
    const marked = unit.end ? {} : mark(unit, k), before = k ? text.slice(units[k - 1].stop, unit.start) : "";
    const button = el("button", { type: "button", class: unit.end ? "unit end" : ["unit", marked.class].filter(Boolean).join(" "), id: `${name}-${kind}-${k}`, "data-k": k, "aria-label": unit.end && "End of the sentence", title: unit.end && "End of the sentence", vars: marked.vars }, unit.end ? "" : unit.surface || unit.label); /* the mark of the end is no text, and is not copied with it */
    place.append(before, button);
    return button;
  });
  roving(place, buttons);
  return [place, buttons];
}

const shade = (buttons, weights) => buttons.forEach((button, k) => {
  const w = weights?.[k] ?? 0;
  button.style.setProperty("--w", w.toFixed(3));
  button.classList.toggle("lit", w > 0.1);
});

const unmarked = () => ({});
/* A bar under each word that the model has rated; otherwise a line under one that it was unsure of. */
function marks(s, how) {
  const rated = ratings(s, how);
  return (unit, k) => {
    if (rated?.[k] !== undefined) return { class: "rated", vars: { "--q": rated[k].toFixed(2) } };
    const unsure = Math.max(0, 1 - 2 * probability(s, unit));
    return { vars: unsure > 0.05 ? { "--doubt": unsure.toFixed(2) } : {} };
  };
}

/* how: words, eos, look, name, and the langs [source, target] and result, what the target is called. handlers: onTarget(unit, i), onSource(unit, j),
 * hinted(view, i) of the target unit pointed at, hinted(null) when none is. pinned: a target index or -1. */
export function pair(s, how, { pinned = -1, onTarget, onSource, hinted }) {
  const view = matrix(s, how), rows = view?.rows ?? targets(s, how), columns = view?.columns ?? sources(s, how).filter((unit) => !unit.end), weights = view?.weights ?? [];
  const [above, source] = line(columns, s.source_text, { kind: "source", lang: how.langs[0], label: "Source", mark: unmarked, name: how.name });
  const [below, target] = line(rows, s.text, { kind: "target", lang: how.langs[1], label: how.result, mark: marks(s, how), name: how.name });
  const size = s.text.length > 180 ? " long" : s.text.length > 50 ? " middling" : "";
  const node = el("div", { class: `pair${size}${how.words ? "" : " pieces"}` }), web = threads(node, source, target, weights, columns.findIndex((column) => column.end));
  node.append(above, web.root, below);

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
    shade(target, weights.map((row) => row[j]));
    web.light((_, at) => at === j);
  }
  const rest = () => { shadeRow(pinned); if (pinned < 0) hinted(null); }; /* what is said of a pinned word stays: it has buttons */
  const listen = (place, units, point, act) => {
    const k = (event) => { const at = event.target.closest(".unit")?.dataset.k; return at === undefined ? -1 : Number(at); };
    for (const type of ["pointerover", "focusin"]) place.addEventListener(type, (event) => { if (k(event) >= 0 && pinned < 0) point(k(event)); });
    for (const type of ["pointerleave", "focusout"]) place.addEventListener(type, rest);
    place.addEventListener("click", (event) => { if (k(event) >= 0) act(units[k(event)], k(event)); });
  };
  listen(above, columns, column, onSource);
  listen(below, rows, row, onTarget);
  if (target[pinned]) {
    target[pinned].classList.add("pinned");
    target[pinned].setAttribute("aria-pressed", "true");
    row(pinned);
  }
  return node;
}
