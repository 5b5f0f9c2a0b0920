/* What may be wrong with a translation: coverage, repetitions, unknown and copied words. */
import { el } from "./dom.js";
import { matrix, sources, targets } from "./sentence.js";
import { translates } from "./task.js";

const how = { words: true, eos: false };

/* Attention that each source word got, in target words. The final </s> on either side counts for nothing. */
export function coverage(s) {
  const view = matrix(s, how);
  return view?.columns.map((column, j) => ({ word: column.label, mark: /^[\p{P}\p{S}]+$/u.test(column.label), sum: view.rows.reduce((sum, _, i) => sum + view.weights[i][j], 0) })) ?? [];
}

/* The longest runs of words that come more than once. */
export function repetitions(words) {
  const low = words.map((w) => w.toLowerCase()), found = new Map();
  for (let n = Math.min(6, low.length >> 1); n >= 1; n--)
    for (let i = 0; i + n <= low.length; i++) {
      const run = low.slice(i, i + n).join(" ");
      if (!/\p{L}{2}|\p{Lo}/u.test(run) || (n === 1 && low[i] !== low[i + 1])) continue;
      const count = low.filter((_, k) => k + n <= low.length && low.slice(k, k + n).join(" ") === run).length;
      if (count > 1 && ![...found.keys()].some((longer) => longer.includes(run))) found.set(run, count);
    }
  return [...found].map(([run, count]) => `${run} (${count} times)`);
}

export function diagnose(s) {
  const source = sources(s, how).map((u) => u.label), target = targets(s, how).map((u) => u.label);
  return { coverage: coverage(s), repeated: repetitions(target),
    unknown: [...s.source_tokens.filter((t) => t === "<unk>"), ...source.filter((w) => w.includes("\u2047")), ...s.tokens.filter((t) => t === "<unk>" || t.includes("\u2047"))],
    copied: [...new Set(target.filter((w) => /[\p{L}\p{N}]{2}/u.test(w) && source.some((x) => x.toLowerCase() === w.toLowerCase())))] };
}

/* usual: what a source word may expect where the translation is the longer one; 0: nothing can be expected. */
function verdict(item, usual) {
  if (item.mark || !usual) return "";
  if (item.sum < 0.3 * usual) return "hardly any attention: left out?";
  return item.sum > 2.2 * usual ? "a lot of attention: repeated?" : "";
}

export function diagnosticsPanel(panel, app) {
  const s = app.sentence(), found = diagnose(s), even = Math.max(1, targets(s, how).length / Math.max(1, found.coverage.length)), usual = translates(app.model()) ? even : 0;
  panel.append(el("h2", {}, "Coverage"), el("p", { class: "note" }, `How much attention each source word got, summed over all of the ${app.task().result.toLowerCase()}. ${usual ? "A word that is translated by one word gets about 1. " : ""}The line marks ${(1.5 * even).toFixed(1)}.`));
  if (found.coverage.length) panel.append(el("div", { class: "cover", role: "list", "aria-label": "Coverage of each source word" }, found.coverage.map((item) => {
    const says = verdict(item, usual);
    return el("div", { role: "listitem" }, el("span", { class: "word", dir: "auto" }, item.word),
      el("span", { class: says ? "track odd" : "track", "aria-hidden": "true" }, el("i", { vars: { "--p": Math.min(1, item.sum / 3 / even).toFixed(3) } })), el("span", { class: "say" }, item.sum.toFixed(2)), says && el("span", { class: "verdict" }, says));
  })));
  else panel.append(el("p", { class: "note" }, "This model has no attention."));
  const card = (title, words, none) => el("div", { class: "card" }, el("h3", {}, title), el("p", { dir: "auto" }, words.length ? words.join(", ") : none));
  panel.append(el("div", { class: "cards three" }, card("Repetitions", found.repeated, "Nothing is repeated."), card("Unknown words", found.unknown, "Every word was known."), card("Copied words", found.copied, "No word was taken over as it is.")));
}
