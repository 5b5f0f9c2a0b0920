/* Source and target, word by word: pointing at one shades the others by attention. */
import { el, percent } from "./dom.js";
import { matrix, share, sources, targets, probability } from "./sentence.js";

/* handlers: onTarget(unit, i, element), onSource(unit, j), onSelect(). pinned: a target index or -1. */
export function pair(s, how, { pinned = -1, onTarget, onSource, onSelect, hinted } = {}) {
  const view = matrix(s, how), rows = view?.rows ?? targets(s, how), columns = view?.columns ?? sources(s, how);
  const byRow = view?.weights.map((row) => share(row, columns)) ?? [];
  const make = (units, text, kind, act) => {
    const line = el("p", { class: `line ${kind}`, dir: "auto" });
    const buttons = units.map((unit, k) => {
      const before = k ? text.slice(units[k - 1].stop, unit.start) : "";
      const doubt = kind === "target" && !unit.end ? Math.max(0, 0.5 - probability(s, unit)) * 2 : 0;
      const button = el("button", { type: "button", class: unit.end ? "unit end" : "unit", "data-k": k, vars: doubt > 0.05 ? { "--doubt": doubt.toFixed(2) } : {} }, unit.label);
      button.addEventListener("click", () => { onSelect?.(); act?.(unit, k, button); });
      line.append(before, button);
      return button;
    });
    return [line, buttons];
  };
  const [above, source] = make(columns, s.source_text, "source", onSource), [below, target] = make(rows, s.text, "target", onTarget);
  const shade = (buttons, weights) => buttons.forEach((button, k) => {
    const w = weights ? weights[k] : 0;
    button.style.setProperty("--w", w.toFixed(3));
    button.classList.toggle("lit", w > 0.1);
  });
  function row(i) {
    shade(target, null);
    shade(source, byRow[i]);
    if (i !== undefined && view) {
      const best = byRow[i].indexOf(Math.max(...byRow[i]));
      hinted?.(rows[i], columns[best], view.weights[i][best]);
    }
  }
  function column(j) {
    shade(source, null);
    shade(target, j === undefined ? null : byRow.map((weights) => weights[j]));
  }
  const rest = () => { row(pinned >= 0 ? pinned : undefined); if (pinned < 0) hinted?.(null); };
  const point = (line, f) => {
    const k = (event) => event.target.closest(".unit")?.dataset.k;
    for (const type of ["pointerover", "focusin"]) line.addEventListener(type, (event) => { const at = k(event); if (at !== undefined && pinned < 0) f(Number(at)); });
    for (const type of ["pointerleave", "focusout"]) line.addEventListener(type, rest);
  };
  point(above, column);
  point(below, row);
  if (pinned >= 0) { target[pinned]?.classList.add("pinned"); target[pinned]?.setAttribute("aria-pressed", "true"); row(pinned); }
  return el("div", { class: s.text.length > 180 ? "pair long" : "pair" }, above, below);
}

/* What is said of a pair of words. */
export const looks = (row, column, weight) => [el("b", { dir: "auto" }, row.label), " looks most at ", el("b", { dir: "auto" }, column.label), `, ${percent(weight)}`];
