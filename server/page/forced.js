/* Forced scoring of many pairs of texts: how likely the model takes each word of a translation to be. */
import { ask } from "./api.js";

const TEXTS = 24, CHARACTERS = 8000; /* of a request: below a server's limits, and soon answered */

/* Items with a text, in their order, in lists of no more than that. */
export function batches(items) {
  const list = [];
  let room = 0;
  for (const item of items) {
    room -= item.text.length;
    if (room < 0 || list.at(-1).length === TEXTS) { list.push([]); room = CHARACTERS - item.text.length; }
    list.at(-1).push(item);
  }
  return list;
}

/* The fields of a request that scores pairs [{text, translation}]. */
export const pairFields = (pairs) =>
  ({ text: pairs.map(({ text }) => text), translation: pairs.map(({ translation }) => translation) });

/* Pairs -> the server's sentence of each. One request at a time; tell(done, all) before and after each. */
export async function scored(model, pairs, { signal, tell }) {
  const found = [];
  for (const batch of batches(pairs)) {
    tell(found.length, pairs.length);
    const { results } = await ask("/attention", { model, ...pairFields(batch), include: ["log_probs", "offsets"] },
      undefined, { signal });
    found.push(...results.map(({ sentences }) => sentences[0]));
  }
  tell(found.length, pairs.length);
  return found;
}

/* The log-probability of each stretch {start, stop} of a scored translation, the sum of its tokens'; that of </s> is
 * in none. */
export function logProbs({ text, log_probs: given, offsets }, stretches) {
  const sums = stretches.map(() => 0);
  offsets.target.forEach(({ start_utf16: start, end_utf16: stop }, i) => {
    const inner = stop - text.slice(start, stop).trimStart().length,
      k = stretches.findIndex((one) => inner >= one.start && inner < one.stop);
    if (k >= 0) sums[k] += given[i];
  });
  return sums;
}
