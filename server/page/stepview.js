/* The step view: one step of the decoder, and beside it what the model would say with other weights. */
import { el, note } from "./dom.js";
import * as api from "./api.js";
import { likely, part, stepOf, styleSteps, walk } from "./step.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

const answers = new WeakMap(); /* sentence: the same one with its scores */

/* The mean of the rows of attention. */
const average = (s) => s.source_tokens.map((_, j) => s.attention.reduce((sum, row) => sum + row[j], 0)
  / s.attention.length);
/* Other weights for step i. other: the step whose weights it takes. */
const WEIGHTS = {
  uniform: ["Without attention: all weights equal", (s) => s.source_tokens.map(() => 1 / s.source_tokens.length)],
  average: ["With the average context of the sentence", average],
  other: ["With the weights of another token", (s, i, other) => s.attention[other]],
};

/* What the model would have said at step i after the same tokens. */
async function forcedStep(app, s, i, weights, signal) {
  const { sentences } = await api.decode({ model: app.state.model, text: s.source_text, translation: s.text,
    split_sentences: false, force_attention: [{ step: i, weights }] }, { signal });
  return sentences[0];
}

/* Cards that are filled once the server has answered; a step that is left cancels its requests. */
function whatIf(app, s, i, running) {
  const other = el("select", { "aria-label": t("Token"), onchange: () => ask("other") },
    s.tokens.map((token, k) => el("option", { value: k, disabled: k === i }, token.replaceAll("\u2581", " ")))),
    places = {};
  other.value = String(i > 0 ? i - 1 : Math.min(1, s.tokens.length - 1));
  async function ask(name) {
    const place = places[name], [title, weights] = WEIGHTS[name];
    try {
      const answer = await forcedStep(app, s, i, weights(s, i, Number(other.value)), running.signal);
      if (place.isConnected) place.replaceChildren(likely(answer, i, t(title)));
    } catch (error) {
      if (!running.signal.aborted) place.replaceChildren(failure(error));
    }
  }
  const cards = Object.entries(WEIGHTS).map(([name, [title]]) => {
    places[name] = el("div", { class: "said" });
    return part(t(title), [], name === "other" && other, places[name]);
  });
  for (const name of Object.keys(WEIGHTS)) if (name !== "other" || s.tokens.length > 1) ask(name);
  return el("div", { class: "what-if" }, cards);
}

export async function stepPanel(panel, app) {
  const s = app.sentence();
  styleSteps(document);
  if (!s.attention) return panel.append(note(t("This model has no attention to show.")));
  if (!app.asks()) return panel.append(note(t("Two models translate this in turn. Choose one of them to ask it.")));
  const place = el("div", {}, el("p", { class: "wait" }, t("Opening")));
  panel.append(place);
  try {
    if (!answers.has(s)) {
      const { sentences } = await api.decode({ model: app.state.model, text: s.source_text, translation: s.text,
        split_sentences: false }, { include: ["scores"] });
      const { tokens, scores } = sentences[0];
      answers.set(s, { ...s, scores: tokens.length === s.tokens.length ? scores : undefined });
    }
  } catch (error) {
    return place.replaceChildren(failure(error, () => { if (panel.contains(place)) app.showPanel(); }));
  }
  if (!panel.contains(place)) return;
  let running = null;
  const draw = (i) => {
    running?.abort();
    running = new AbortController();
    const scored = answers.get(s);
    return el("div", { class: "beside" }, stepOf(scored, i, app.model()), whatIf(app, scored, i, running));
  };
  place.replaceChildren(walk(answers.get(s), Number(app.state.step) || 0, draw, (i) => {
    app.state.step = i ? String(i) : "";
    app.remember(false);
  }));
}
