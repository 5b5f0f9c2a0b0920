/* The heads view: what each attention head of each transformer layer looked at. */
import { el, note } from "./dom.js";
import { hasHeads } from "./sentence.js";
import { picture } from "./mapview.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

const answers = new WeakMap();

export async function headsPanel(panel, app) {
  const s = app.sentence(), place = el("div", {}, el("p", { class: "wait" }, t("Looking")));
  if (!hasHeads(app.model())) return panel.append(note(t("This model has no heads: it is not a transformer.")));
  panel.append(note(t("Choose a head to see it large.")), place);
  try {
    if (!answers.has(s)) answers.set(s, await app.questions.again(["heads"]));
  } catch (error) {
    return place.replaceChildren(failure(error, () => { if (panel.contains(place)) app.showPanel(); }));
  }
  if (panel.contains(place))
    place.replaceChildren(picture(answers.get(s), app, { id: "heads-view", view: "heads", head: app.state.head,
    onheadselect: ({ detail }) => { app.state.head = detail.head; app.remember(); } }));
}
