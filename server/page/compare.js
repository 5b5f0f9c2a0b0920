/* Two models, two searches or two texts side by side, on one scale. */
import { el, find, note } from "./dom.js";
import * as api from "./api.js";
import { visible } from "./sentence.js";
import { cellFor } from "./heatmap.js";
import { t } from "./say.js";
import { picture } from "./mapview.js";
import { marked } from "./questions.js";
import { fail } from "./trouble.js";

let made = { key: "", sentences: [] }, running = null;

/* Default search of B. It differs from A's, because equal searches would show no difference. */
const unlike = (strategy) => (strategy === "greedy" ? "beam" : "greedy");
/* Label of a search in the form. */
const called = (strategy) => find("strategy").querySelector(`[value="${strategy}"]`).textContent;

/* One row per sentence. The side with fewer sentences says so in its last rows. */
function pairs(panel, app, other, ours, theirs) {
  const views = [ours, theirs].map((list) => list.map((s) => visible(s, app.how()))),
    room = (panel.clientWidth > 700 ? panel.clientWidth / 2 - 24 : panel.clientWidth) - 38;
  const cell = Math.min(...views.flat().filter(Boolean).map((view) => cellFor(view, room)));
  const titles = [`A: ${app.state.model}, ${called(app.state.strategy)}`,
    `B: ${other.model}, ${called(other.strategy)}`], lists = [ours, theirs],
    count = Math.max(ours.length, theirs.length);
  const card = (side, k) => {
    const s = lists[side][k], view = views[side][k], title = count > 1 ? t("{0} (sentence {1})", titles[side], k + 1)
      : titles[side];
    if (!s) return el("div", { class: "card none" }, el("h3", {}, title), t("There is no such sentence."));
    return el("div", { class: "card" }, marked(title, s, lists[1 - side][k]),
      view && Object.assign(picture(s, app, { view: "map", label: titles[side] }), { cell }));
  };
  return el("div", { class: "cards" }, Array.from({ length: count }, (_, k) => [card(0, k), card(1, k)]));
}

export function comparePanel(panel, app) {
  const { state } = app, text = app.answer.sentences.length === 1 ? app.sentence().source_text : state.text;
  const ours = app.answer.sentences.map((s, k) => (k === state.active ? app.sentence() : s));
  /* Only models that read the text; the current one does. */
  const able = app.models.filter(({ source }) => source === app.model().source).map(({ name }) => name),
    known = able.includes(state.otherModel), other = { text: state.otherText || text,
    model: known ? state.otherModel : state.model, strategy: state.otherStrategy || unlike(state.strategy) };
  const place = el("div"), wrong = el("p", { class: "error", role: "alert", hidden: true });
  const field = (name) => (event) => { other[name] = event.target.value; if (event.type === "change") ask(); };
  const keep = () => {
    Object.assign(state, { otherText: other.text === text ? "" : other.text, otherModel: other.model === state.model
      ? "" : other.model, otherStrategy: other.strategy === unlike(state.strategy) ? "" : other.strategy });
    app.remember();
  };
  const choose = (says, id, name) => el("label", {}, says,
    el("select", { id, onchange: field(name) }, [...find(name).options]
    .filter(({ value }) => name !== "model" || able.includes(value))
    .map(({ value, label }) => el("option", { value, selected: value === other[name] }, label))));
  async function ask() {
    wrong.hidden = true;
    keep();
    running?.abort(); /* only the latest request counts */
    const key = JSON.stringify([other.text, other.model, other.strategy, app.state.beam]),
      { signal } = (running = new AbortController());
    try {
      if (made.key !== key)
        made = { key,
        ...(await api.decode({ text: other.text, ...api.search(app.models.find(({ name }) => name === other.model),
        { ...other, beam: app.state.beam }) }, { signal })) };
    } catch (error) {
      if (panel.contains(place) && !signal.aborted) fail(wrong, error, ask);
      return;
    }
    if (!panel.contains(place)) return;
    place.replaceChildren(pairs(panel, app, other, ours, made.sentences));
  }
  panel.append(el("h2", {}, t("Side by side")), note(t("A is the result above. Both use the same scale.")),
    el("form", { onsubmit: (event) => { event.preventDefault(); ask(); } },
      el("label", {}, t("Text of B"),
        el("textarea", { id: "text-b", rows: 1, dir: "auto", value: other.text, oninput: field("text") })),
      el("div", { class: "row" }, choose(t("Model of B"), "model-b", "model"),
        choose(t("Search of B"), "strategy-b", "strategy"), el("button", { class: "primary" }, t("Compare")))),
          wrong, place);
  if (other.text.trim()) ask();
}
