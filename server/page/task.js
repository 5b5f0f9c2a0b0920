/* What a model's task is called, and the examples of it. */
const TASKS = {
  translation: { act: "Translate", result: "Translation", word: "translated word" },
  parsing: { act: "Parse", result: "Logical form", word: "symbol of the result" },
};
const OTHER = { act: "Run", result: "Result", word: "word of the result" };
const EXAMPLES = {
  en: ["She gave him the book that he had lost.", "A boy plays in the snow.", "Where is the train station?", "Who wrote this letter?"],
  de: ["Die Katze, die auf dem Sofa liegt, schläft.", "Wo ist der Bahnhof?", "Ein Junge spielt im Schnee."],
  fr: ["Il faut que tu viennes demain.", "Où se trouve la gare ?", "Un garçon joue dans la neige.", "Elle ne m'a pas vu."],
  "x-geoquery": ["What is the population of Zurich?", "Which rivers run through Texas?", "What is the highest mountain in Alaska?"],
};

const SHORT = 28; /* characters: a line on a phone */

export const task = (model) => TASKS[model?.task] ?? OTHER;
export const translates = (model) => model?.task === "translation";
export const examples = (model) => EXAMPLES[model?.target] && !translates(model) ? EXAMPLES[model.target] : (translates(model) && EXAMPLES[model.source]) || [];
/* What the first visit shows: on a phone, something that fits. */
export const opening = (model) => examples(model).find((text) => innerWidth >= 640 || text.length <= SHORT) ?? "";
