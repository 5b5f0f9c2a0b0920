/* The map view: heat map, lines, or a table. */
import { el, group, note, percent, toggle } from "./dom.js";
import { t } from "./say.js";
import { visible } from "./sentence.js";

const choice = (says, on, act) => toggle(t(says), on, act, { id: `show-${says.split(" ")[0]}` });
let forcing = false;
const CELLS = { alignment:
  "A row is a word of the result, a column a source word; a cell shows how much of the first is aligned with the " +
    "second.", attention:
      "A row is a word of the result, a column a source word; a cell shows how much attention the first gave to the " +
        "second." };
const REST = "The hatched column is the end of the sentence (</s>): what lies there is on no word.";

/* An element that shows this sentence in one of its views. */
export function picture(s, { state }, props) {
  const node = el("alignd-attention", { server: "", look: state.look, units: state.words ? "words" : "tokens",
    eos: state.eos, ...props });
  node.result = { sentences: [s] };
  return node;
}

export function mapPanel(panel, app) {
  const { state } = app;
  if (!visible(app.sentence(), app.how())) return panel.append(note(t("This model has no attention to show.")));
  const value = el("output", {}, percent(state.threshold)), change = (changes) => app.set(changes),
    drag = forcing && app.asks(), ends = !state.words || state.look === "attention", kind = state.asTable ? "table"
    : state.lines ? "lines" : "map";
  const check = (id, label, name) => el("label", {},
    el("input", { type: "checkbox", id, checked: state[name],
    onchange: (event) => change({ [name]: event.target.checked }) }), label);
  const map = picture(app.sentence(), app, { id: "map-view", view: kind, threshold: state.threshold, drag,
    onforce: (event) => { event.preventDefault(); app.questions.force(event.detail); } });
  map.append(note(drag ? t("Drag along a row to make that word look there; the rest is decoded again.")
    : `${t(CELLS[state.look])}${ends ? ` ${t(REST)}` : ""}`));
  panel.append(
    el("div", { class: "bar" },
      group(t("Picture"),
        choice("Heat map", kind === "map", () => change({ lines: false, asTable: false })),
        choice("Lines", kind === "lines", () => change({ lines: true, asTable: false })),
        choice("Table", kind === "table", () => change({ asTable: true }))),
      group(t("Units"),
        choice("Words", state.words, () => change({ words: true })),
          choice("Subwords", !state.words, () => change({ words: false }))),
      ends && check("with-end", t("Row of </s>"), "eos"),
      el("label", {}, t("Threshold"),
        el("input", { type: "range", id: "threshold", min: 0, max: 0.5, step: 0.01, value: state.threshold,
        oninput: (event) => {
          state.threshold = Number(event.target.value);
          value.textContent = percent(state.threshold);
          map.setAttribute("threshold", state.threshold);
        } }), value),
      kind === "map" && app.asks() && choice("Force by dragging", forcing, () => { forcing = !forcing; app.show(); })),
    map);
}
