/* What the words of a translation depend on, by forced scoring: the same translation is scored with part of the source
 * left out. Log-probabilities are natural logarithms; words are those of the text, without </s>. */
import * as api from "./api.js";
import { without } from "./diagnostics.js";
import { logProbs, scored } from "./forced.js";
import { matrix, sources, targets } from "./sentence.js";

const HOW = { words: true, eos: false, look: "alignment" };
/* Stands for an empty source, because a model reads no shorter text. */
const NOTHING = ".";
export const MOST = 80; /* most source words, since each is left out in turn */

export const sourceWords = (s) => sources(s, HOW).filter((unit) => !unit.end);
export const targetWords = (s) => targets(s, HOW);

/* Cached answers by sentence and name, so that each is requested only once. */
const answers = new WeakMap();
export const known = (s, name) => answers.get(s)?.[name];
async function once(s, name, ask) {
  const found = known(s, name) ?? (await ask());
  answers.set(s, { ...answers.get(s), [name]: found });
  return found;
}

/* The text, followed by the text without each of its words. */
const eachLeftOut = (s) => [s.source_text, ...sourceWords(s).map((word) => without(s.source_text, word) || NOTHING)];

/* Leave-one-out, "erasure" in Li, Monroe and Jurafsky 2016 (Understanding Neural Networks through Representation
 * Erasure), section 3: log-probabilities of the target words given the whole source, and given the source without each
 * of its words: {rows, columns, whole [rows], left [columns][rows]}. Scores one text more than there are source
 * words. */
export const leaveOneOut = (s, model, options) => once(s, "left", async () => {
  const rows = targetWords(s),
    found = await scored(model, eachLeftOut(s).map((text) => ({ text, translation: s.text })), options);
  const [whole, ...left] = found.map((one) => logProbs(one, rows));
  return { rows, columns: sourceWords(s), whole, left };
});

/* Leave-one-out as a matrix to draw: the share of a target word's probability that is lost without the source word. */
export function lossView({ rows, columns, whole, left }, s) {
  const weights = rows.map((_, i) => columns.map((_, j) => Math.max(0, 1 - Math.exp(left[j][i] - whole[i]))));
  return { rows, columns, weights, text: s.text, source: s.source_text };
}

export const contrastName = ({ i, other, look }) => JSON.stringify([i, other, look]);

/* Why target word i and not another: contrastive input erasure, Yin and Neubig 2022 (Interpreting Language Models with
 * Contrastive Explanations), section 3.3. favours: by how much each source word raises log p(this) - log p(other), both
 * after the same prefix. looks: where the model looks when it writes each. {columns, log_probs: [this, other], favours
 * [columns], looks: [this [columns], other] or null}. */
export const contrast = (s, model, { i, other, look }, options) => once(s, contrastName({ i, other, look }),
  async () => {
  const { rows, columns, whole, left } = await leaveOneOut(s, model, options), { start } = rows[i],
    translation = s.text.slice(0, start) + other;
  const place = { start, stop: translation.length },
    found = await scored(model, eachLeftOut(s).map((text) => ({ text, translation })), options);
  const [others, ...othersLeft] = found.map((one) => logProbs(one, [place])[0]);
  const { sentences } = await api.decode({ model, text: s.source_text, translation }, options),
    views = [matrix(s, { ...HOW, look }), matrix(sentences[0], { ...HOW, look })];
  return { columns, log_probs: [whole[i], others],
    favours: columns.map((_, j) => whole[i] - others - (left[j][i] - othersLeft[j])),
    looks: views[0] && views.map((view) => view.weights[view.rows.findIndex((row) => row.stop > start)]) };
});
/* What the source adds to each target word beyond the words before it: its log-probability minus that without the
 * source. This is the conditional cross-mutual information of the word (CXMI, Fernandes, Yin, Neubig and Martins 2021,
 * Measuring and Increasing Context Usage in Context-Aware Machine Translation, section 2.3), with the source as the
 * context. A full stop stands for the empty source. {rows, whole [rows], before [rows]}. Scores two texts. */
export const sourceAndBefore = (s, model, options) => once(s, "before", async () => {
  const rows = targetWords(s),
    found = await scored(model, [s.source_text, NOTHING].map((text) => ({ text, translation: s.text })), options);
  const [whole, before] = found.map((one) => logProbs(one, rows));
  return { rows, whole, before };
});
