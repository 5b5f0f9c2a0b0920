/* A cell and a row of a view (matrix() of sentence.js) in words: the same ones wherever they are pointed at. */
import { el, percent } from "./dom.js";

const DOES = { alignment: " is aligned with ", attention: " looks at " }, MOST = { alignment: DOES.alignment, attention: " looks most at " };

const name = (unit) => el("b", { dir: "auto" }, unit.end ? "the end of the sentence" : unit.label);

export const sayCell = ({ rows, columns, weights, look }, i, j) => [name(rows[i]), DOES[look], name(columns[j]), `: ${percent(weights[i][j])} (${weights[i][j].toFixed(4)})`];

/* How likely it is that the word is right (ratings() of sentence.js). */
export const sayRating = (rated, i) => (rated?.[i] === undefined ? [] : [`; ${percent(rated[i])} likely to be right`]);

/* Where most of row i lies. */
export function sayMost({ rows, columns, weights, most, look }, i) {
  const j = most[i];
  if (j < 0) return [name(rows[i]), look === "alignment" ? " is aligned with no word" : " looks at no word"];
  if (look === "alignment" && columns[j].end && !rows[i].end) return [name(rows[i]), ` is aligned with no word: ${percent(weights[i][j])} is at the end of the sentence`];
  return [name(rows[i]), MOST[look], name(columns[j]), `, ${percent(weights[i][j])}`];
}
