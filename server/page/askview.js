/* The view of questions: a translation of the user's own, scored by the model. */
import { el, note } from "./dom.js";
import { strip } from "./confidence.js";
import { NAMES } from "./map.js";
import { picture } from "./mapview.js";
import { beside } from "./questions.js";
import { matrix } from "./sentence.js";
import { fail } from "./trouble.js";
import { t } from "./say.js";

function reference(panel, app) {
  const mine = app.questions.reference, how = app.how();
  panel.append(beside({}, [t("The model's"), t("Yours")], app.sentence(), mine), strip(mine));
  if (matrix(mine, how))
    panel.append(picture(mine, app, { view: "map", label: t("{0} of yours", t(NAMES[how.look])) }));
}

export function questionsPanel(panel, app) {
  if (!app.asks()) return panel.append(note(t("Two models translate this in turn. Choose one of them to ask it.")));
  const { questions } = app, { result } = app.task(), wrong = el("p", { class: "error", role: "alert", hidden: true }),
    s = app.sentence();
  if (questions.wrong) fail(wrong, questions.wrong);
  const text = el("textarea", { id: "reference", rows: 2, dir: "auto", value: questions.text, oninput: (event) => {
    questions.text = event.target.value;
  } });
  panel.append(el("h2", {}, t("What does the model think of your own version?")),
    note(t("The model is forced to write this text.")),
    el("form", { onsubmit: (event) => {
      event.preventDefault();
      wrong.hidden = true;
      if (text.value.trim()) questions.score(text.value.trim());
    } },
      el("label", {}, t(`Your ${result.toLowerCase()} of \u201c{0}\u201d`, s.source_text), text),
        el("div", { class: "row" }, el("button", { class: "primary" }, t("Score it")))), wrong);
  if (questions.reference) reference(panel, app);
  panel.append(
    note(
    t(
    "Choose a word of the result above, then a source word, to make it look there; or another token in the " +
      "confidence view.")));
}
