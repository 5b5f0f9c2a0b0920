/* Forced scoring of many text pairs: how likely the model considers each word of a given translation. */
import { ask } from "./api.js";

const TEXTS = 24, CHARACTERS = 8000; /* per request: within a server's limits, and quick to answer */

/* Batches of items that have a text, in order, within these limits. */
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

/* Request fields that score pairs [{text, translation}]. */
export const pairFields = (pairs) =>
  ({ text: pairs.map(({ text }) => text), translation: pairs.map(({ translation }) => translation) });

/* Score pairs: one sentence of the reply for each. One request at a time; tell(done, all) before each, and at the
 * end. */
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

/* Log-probability of each span {start, stop} of a scored translation: the sum over its tokens. </s> is in no span. */
export function logProbs({ text, log_probs: given, offsets }, stretches) {
  const sums = stretches.map(() => 0);
  offsets.target.forEach(({ start_utf16: start, end_utf16: stop }, i) => {
    const inner = stop - text.slice(start, stop).trimStart().length,
      k = stretches.findIndex((one) => inner >= one.start && inner < one.stop);
    if (k >= 0) sums[k] += given[i];
  });
  return sums;
}
