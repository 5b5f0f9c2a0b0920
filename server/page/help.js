/* What each view is for, with a sentence to try it on. */
import { chosenTheme, useTheme } from "./theme.js";
import { el, group, toggle } from "./dom.js";
import { t } from "./say.js";
import { hasHeads } from "./sentence.js";
import { translates } from "./task.js";

const VIEWS = {
  map: [
    "What each word was made from, or where the decoder looked, as a heat map, lines or a table. Drag along a row to " +
      "make a word look elsewhere.", "Where is the train station?"],
  confidence: [
    "How sure the model was of each token, and what it would have written instead. Choose a token to take another.",
    "I have a feeling that she will come today."],
  ask: ["Your own translation, scored by the model: which of its words surprise it, and what it aligns them with.",
    "He lives in a small house near the sea."],
  beam: [
    "The search tree: which beginnings were kept, and which were given up. The slider changes what counts as best.",
    "Who wrote this letter?"],
  compare: ["Two models, two searches or two texts side by side, with what differs marked.",
    "She gave him the book that he had lost."],
  diagnostics: ["What may be wrong: source words that were left out, repetitions, unknown and copied words.",
    "One of my wisdom teeth is coming in."],
  step: [
    "How one token came about: the scores of the source, their softmax, the context, and what the model would have " +
      "said with other weights. The formulas are those of the papers.", "Where is the train station?"],
  heads: ["What each head of each layer of a transformer looked at.", "The man sees the dog."],
  why: [
    "Which source words a word depends on, when each is left out in turn; why it is this word and not another; how " +
      "much of it was plain from what was written before.", "She gave him the book that he had lost."],
  links: [
    "Links of your own between the words, sure and possible, to save as a gold alignment, and how well the model's " +
      "agree with them.", "A boy plays in the snow."],
  corpus: [
    "Many texts of a file, or translations of them: how likely, how good, how much of each is covered. Sort them, " +
      "and look at one.", "Where is the train station?"],
  export: ["The picture and the numbers to take away, and the request to repeat it.", "A boy plays in the snow."],
};

/* Keys, and what they do. */
const KEYS = [["Ctrl Enter", "Translate"], ["\u2190 \u2192 Home End", "From word to word, or from view to view"],
  ["Enter", "Choose a word, or what has the focus"], ["Esc", "Close a panel, let a word go, or end an edit"],
  ["\u2191 \u2193", "From row to row of a map or a list"], ["Ctrl Z", "Undo a question"]];
const THEMES = { "": "System", light: "Light", dark: "Dark" };
const themes = () => group(t("Theme"), Object.entries(THEMES).map(([name, says]) =>
  toggle(t(says), chosenTheme() === name, ({ currentTarget }) => {
    useTheme(name);
    currentTarget.parentNode.replaceWith(themes());
    document.getElementById(`theme-${name}`).focus();
  }, { id: `theme-${name}` })));

const MODELS = { heads: (model) => hasHeads(model), map: (model) => translates(model) };

/* A model that supports the view, preferably the current one; undefined if there is none. */
const able = (app, view) => [app.model(), ...app.models].find((model) => model && !model.pair
  && (MODELS[view] ?? translates)(model) && model.source === "en")
  ?? (view === "heads" ? app.models.find(hasHeads) : undefined);

/* panels: {view: [label, ...]}; app: see app.js. */
export function helpMenu(panels, app) {
  const link = (view, text) => {
    const model = able(app, view);
    return model && [" ",
      el("a", { href: `#${new URLSearchParams({ t: text, v: view, m: model.name })}`,
      onclick: ({ currentTarget }) => currentTarget.closest("[popover]").hidePopover() }, t("Try it"))];
  };
  return el("dl", {}, Object.entries(VIEWS).map(([view, [says, text]]) => [el("dt", {}, t(panels[view][0])),
    el("dd", {}, t(says), link(view, text))]),
    el("dt", {}, t("The lines under the words")),
      el("dd", {},
      t(
      "A bar is as long as the model estimates the word likely to be right: short and orange where it is likely " +
        "wrong. A wavy line is a warning, which stands below the translation.")),
    KEYS.map(([keys, says]) => [el("dt", {}, el("kbd", {}, keys)), el("dd", {}, t(says))]),
    el("dt", {}, t("Theme")), el("dd", {}, themes()));
}
