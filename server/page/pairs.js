/* Which of the served models translate what. */
import { translates } from "./task.js";

const without = (code) => code?.split("-")[0]; /* its region */

/* Of those that read a language, the one to take instead of a model that does not: one that writes the same as that, or what that reads. */
export function readerOf(models, language, { source, target }) {
  const readers = models.filter((model) => translates(model) && without(model.source) === without(language));
  return readers.find((model) => model.target === target) ?? readers.find((model) => model.target === source) ?? readers[0];
}

export const reverses = (model, other) => translates(model) && translates(other) && model.source === other.target && model.target === other.source;
