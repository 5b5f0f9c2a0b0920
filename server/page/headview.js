/* The view of heads: what each head of each layer of a transformer looked at. */
import { el } from "./dom.js";
import { picture } from "./mapview.js";
import { fail } from "./trouble.js";

const answers = new WeakMap();

export const hasHeads = (model) => model?.heads ?? false;

export async function headsPanel(panel, app) {
  const s = app.sentence(), place = el("div", {}, el("p", { class: "wait" }, "Looking"));
  if (!hasHeads(app.model())) return panel.append(el("p", { class: "note" }, "This model has no heads: it is not a transformer."));
  panel.append(el("p", { class: "note" }, "Each head of each layer looks at the sentence in its own way. Choose one to see it large."), place);
  try {
    if (!answers.has(s)) answers.set(s, await app.questions.again(["heads"]));
  } catch (error) {
    const note = el("p", { class: "error", role: "alert" });
    place.replaceChildren(note);
    return fail(note, error, () => { if (panel.contains(place)) app.showPanel(); });
  }
  if (panel.contains(place)) place.replaceChildren(picture(answers.get(s), app, { id: "heads-view", view: "heads", head: app.state.head, onheadselect: ({ detail }) => { app.state.head = detail.head; app.remember(); } }));
}
