/* Possible errors of a translation: coverage, omitted words, repetitions, unknown and copied words. */
import { el, note, number } from "./dom.js";
import * as api from "./api.js";
import { hasHead, matrix, sources, targets } from "./sentence.js";
import { translates } from "./task.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

const how = { words: true, eos: false, look: "alignment" };
const LITTLE = 0.3, MUCH = 2.2, MOST_ASKED = 32;

/* How many result words each source word is aligned with. The last item is </s>, if the model reads it. */
export function coverage(s) {
  const view = matrix(s, how);
  return view?.columns.map((column, j) => ({ ...column, mark: column.end || /^[\p{P}\p{S}]+$/u.test(column.label),
    sum: view.rows.reduce((sum, _, i) => sum + view.weights[i][j], 0) })) ?? [];
}

/* Short words of alphabetic scripts are mostly function words, which other languages often do without. */
const isShort = (word) => /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}\p{P}]{1,3}$/u.test(word);
const isDoubtful = ({ mark, label, sum }, usual) => !mark && !isShort(label) && sum < LITTLE * usual;

/* The text without one of its words. */
export function without(text, { start, stop }) {
  const before = text.slice(0, start).trimEnd(), after = text.slice(stop).trimStart();
  return before && after && /^[\p{L}\p{N}]/u.test(after) ? `${before} ${after}` : before + after;
}

/* Expected number of result words per source word: one, or more if the result is longer than the source. */
export const usualOf = (s) => Math.max(1,
  targets(s, how).length / Math.max(1, sources(s, how).filter((u) => !u.end).length));

/* Source words that seem to be omitted: hardly anything is aligned with them, and the result is no less likely without
 * them. One request scores all candidates. usual: usualOf(s). */
export async function leftOut(s, model, usual) {
  const doubtful = coverage(s).filter((item) => isDoubtful(item, usual) && without(s.source_text, item)).slice(0,
    MOST_ASKED);
  if (!doubtful.length) return [];
  const scores = await api.score(model, [s.source_text, ...doubtful.map((item) => without(s.source_text, item))],
    s.text);
  return doubtful.filter((_, k) => scores[k + 1] >= scores[0]);
}

/* Longest sequences of words that occur more than once; a single word only if it is repeated at once. */
export function repetitions(words) {
  const low = words.map((w) => w.toLowerCase()), found = new Map();
  for (let n = Math.min(6, low.length >> 1); n >= 1; n--)
    for (let i = 0; i + n <= low.length; i++) {
      const run = low.slice(i, i + n).join(" ");
      if (!/\p{L}{2}|\p{Lo}/u.test(run) || (n === 1 && low[i] !== low[i + 1])) continue;
      const count = low.filter((_, k) => k + n <= low.length && low.slice(k, k + n).join(" ") === run).length;
      if (count > 1 && ![...found.keys()].some((longer) => longer.includes(run))) found.set(run, count);
    }
  return [...found].map(([run, count]) => t("{0} ({1} times)", run, count));
}

export function diagnose(s) {
  const source = sources(s, how).filter((u) => !u.end).map((u) => u.label),
    target = targets(s, how).map((u) => u.label);
  return { coverage: coverage(s), repeated: repetitions(target),
    unknown: [...s.source_tokens.filter((t) => t === "<unk>"), ...source.filter((w) => w.includes("\u2047")),
      ...s.tokens.filter((t) => t === "<unk>" || t.includes("\u2047"))],
    copied: [...new Set(target.filter((w) => /[\p{L}\p{N}]{2}/u.test(w)
      && source.some((x) => x.toLowerCase() === w.toLowerCase())))] };
}

const SAYS = { left: "left out? The result is as likely without it", much: "aligned with many words: repeated?" };

function bars(found, even, usual) {
  return el("div", { class: "cover", role: "list", "aria-label": t("Coverage of each source word") },
    found.map((item) => {
    const much = usual && !item.mark && item.sum > MUCH * usual;
    return el("div", { role: "listitem", "data-start": item.start },
      el("span", { class: "word", dir: "auto" }, item.label),
      el("span", { class: much ? "track odd" : "track", "aria-hidden": "true" },
        el("i", { vars: { "--p": Math.min(1, item.sum / 3 / even).toFixed(3) } })),
      el("span", { class: "say" }, number(item.sum)), el("span", { class: "verdict" }, much ? t(SAYS.much) : ""));
  }));
}

async function tellLeftOut(list, s, app, usual) {
  try {
    for (const item of await leftOut(s, app.state.model, usual)) {
      const row = list.querySelector(`[data-start="${item.start}"]`);
      row.querySelector(".track").classList.add("odd");
      row.querySelector(".verdict").textContent = t(SAYS.left);
    }
  } catch (error) {
    list.after(failure(error));
  }
  list.removeAttribute("aria-busy");
}

export function diagnosticsPanel(panel, app) {
  const s = app.sentence(), found = diagnose(s), even = usualOf(s);
  const usual = translates(app.model()) ? even : 0, result = t(app.task().result);
  panel.append(el("h2", {}, t("Coverage")), note(t("{0}: how much of it is aligned with each source word.", result),
    usual ? t(" A word that is translated by one word gets about 1.") : "",
    t(" The line marks {0}.", number(1.5 * even, 1))));
  if (found.coverage.length) {
    const list = bars(found.coverage.filter(({ end }) => !end), even, usual);
    panel.append(list);
    if (usual && hasHead(app.model()) && app.asks()) {
      list.setAttribute("aria-busy", "true");
      tellLeftOut(list, s, app, usual);
    }
    else if (usual) panel.append(
      note(t("Omissions can be detected only for a single model that was trained to align.")));
  } else panel.append(note(t("This model has no attention to show.")));
  const card = (title, words, none) => el("div", { class: "card" }, el("h3", {}, title),
    el("p", { dir: "auto" }, words.length ? words.join(", ") : none));
  panel.append(el("div", { class: "cards three" }, card(t("Repetitions"), found.repeated, t("Nothing is repeated.")),
    card(t("Unknown words"), found.unknown, t("Every word was known.")),
    card(t("Copied words"), found.copied, t("No word was taken over as it is."))));
}
