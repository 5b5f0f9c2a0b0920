/* A concordance: every line of a corpus in which a word occurs, by what it is aligned with on the other side. */
import { button, el } from "./dom.js";
import { t } from "./say.js";

const SHOWN = 50; /* lines that are shown of one translation */

/* Words of one side of a sentence, and for each word those of the other side that it is aligned with. */
function sides(s, side) {
  const { source, target, alignment } = s.words, own = side === "source" ? source : target,
    others = side === "source" ? target : source, linked = own.map(() => []);
  for (const [j, i] of alignment) linked[side === "source" ? j : i].push(side === "source" ? i : j);
  return own.map((word, k) => ({ word, other: linked[k].sort((a, b) => a - b).map((one) => others[one]).join(" ") }));
}
const fold = (word) => word.toLocaleLowerCase();

/* [{other, rows}], most frequent first: lines that have the word, by what it is aligned with, "" if with nothing. */
export function concordance(rows, side, word) {
  const groups = new Map();
  for (const row of rows) {
    if (!row.s?.words?.alignment) continue;
    const found = new Set(sides(row.s, side).filter((one) => fold(one.word) === fold(word))
      .map(({ other }) => fold(other)));
    for (const other of found) groups.set(other, [...(groups.get(other) ?? []), row]);
  }
  return [...groups].map(([other, list]) => ({ other, rows: list })).sort((a, b) => b.rows.length - a.rows.length);
}

/* look(row): called for a line that is chosen. */
export function drawConcordance(rows, side, word, look) {
  const groups = concordance(rows, side, word), count = groups.reduce((sum, one) => sum + one.rows.length, 0);
  return el("div", { class: "concordance", role: "group", "aria-label": t("Concordance") },
    el("p", { class: "head", role: "status" },
      t("\u201c{0}\u201d: {1} in {2} lines, by what it is aligned with.", word, count,
      new Set(groups.flatMap((one) => one.rows)).size)),
    groups.map(({ other, rows: list }, k) => el("details", { open: k === 0 },
      el("summary", {}, el("b", { dir: "auto" }, other || t("with nothing")), ` ${list.length}`),
      el("ol", {}, list.slice(0, SHOWN).map((row) => el("li", { value: row.at, class: "passage" },
        button(row.text, () => look(row), { dir: "auto" }), el("p", { dir: "auto" }, row.s.text)))))));
}
