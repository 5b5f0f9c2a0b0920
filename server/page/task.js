/* Names and examples of a model's task, and the models for each language pair. */
import { hasHead } from "./sentence.js";

const TASKS = {
  translation: { act: "Translate", result: "Translation" },
  parsing: { act: "Parse", result: "Logical form" },
};
const OTHER = { act: "Run", result: "Result" };
const EXAMPLES = {
  en: ["She gave him the book that he had lost.", "A boy plays in the snow.", "Where is the train station?",
    "Who wrote this letter?"],
  de: ["Die Katze, die auf dem Sofa liegt, schläft.", "Wo ist der Bahnhof?", "Ein Junge spielt im Schnee."],
  fr: ["Il faut que tu viennes demain.", "Où se trouve la gare ?", "Un garçon joue dans la neige.",
    "Elle ne m'a pas vu."],
  "x-geoquery": ["What is the population of Zurich?", "Which rivers run through Texas?",
    "What is the highest mountain in Alaska?"],
};

const SHORT = 28; /* characters that fit on a line of a phone */

export const task = (model) => TASKS[model?.task] ?? OTHER;
export const translates = (model) => model?.task === "translation";
export const examples = (model) => EXAMPLES[model?.target] && !translates(model) ? EXAMPLES[model.target]
  : (translates(model) && EXAMPLES[model.source]) || [];
/* Text of the first visit; on a phone, one that fits on a line. */
export const opening = (model) => examples(model).find((text) => innerWidth >= 640 || text.length <= SHORT) ?? "";

const without = (code) => code?.split("-")[0]; /* drops the region */

/* The model for a language that the current model does not read: one with the same target, else one that writes the
 * current source language, else the first. */
export function readerOf(models, language, { source, target }) {
  const readers = models.filter((model) => translates(model) && without(model.source) === without(language));
  return readers.find((model) => model.target === target) ?? readers.find((model) => model.target === source)
    ?? readers[0];
}

/* Pairs that two models translate in turn: those that the server lists in `languages` but no single model serves. They
 * are listed like models; a request names their languages. */
export const pairsOf = (models, languages) => languages.flatMap(({ code, targets }) => targets
  .filter((target) => !models.some((model) => translates(model) && without(model.source) === without(code)
    && (model.variants || without(model.target) === without(target))))
  .map((target) => ({ name: `${code} \u2192 ${target}`, source: code, target, task: "translation", pair: true,
    alignment_head: models.filter(translates).every(hasHead) })));

/* The model, or the pair, that translates between two languages; undefined if there is none. */
export const modelFor = (models, source, target) => models.find((model) => translates(model) && model.source === source
  && model.target === target);
