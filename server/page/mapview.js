/* The map view: heat map, lines, or a table. */
import { el, percent } from "./dom.js";
import { matrix, tokensOf } from "./sentence.js";
import { table, legend, say } from "./map.js";
import { heatMap, sheet } from "./heatmap.js";
import { lineMap } from "./linemap.js";

const toggle = (label, on, act) => el("button", { type: "button", id: `show-${label.split(" ")[0]}`, "aria-pressed": String(on), onclick: act }, label);
let forcing = false;
const CELLS = { alignment: "how much of the first is aligned with the second", attention: "how much attention the first gave to the second" };

export function mapPanel(panel, app) {
  const { state } = app, view = matrix(app.sentence(), app.how());
  if (!view) return panel.append(el("p", { class: "note" }, "This model has no attention to show."));
  const out = el("output", { class: "read", "aria-live": "polite" }), place = el("div", { class: "place" });
  const value = el("output", {}, percent(state.threshold));
  const change = (changes) => app.set(changes);
  const check = (id, label, name) => el("label", {}, el("input", { type: "checkbox", id, checked: state[name], onchange: (event) => change({ [name]: event.target.checked }) }), label);
  function draw() {
    const room = panel.clientWidth - (panel.clientWidth > 760 && view.columns.length < 30 ? 260 : 0), options = { room, threshold: state.threshold, onSay: (cell) => say(out, cell) };
    if (state.asTable) return place.replaceChildren(el("div", { class: "scroll", id: "map", tabindex: 0, role: "group", "aria-label": "Table" }, table(view)));
    const onForce = forcing ? (i, from, to) => app.questions.force(i, view.columns.slice(from, to + 1).flatMap(tokensOf)) : undefined;
    const map = state.lines ? lineMap(view, { ...options, threshold: Math.max(0.02, state.threshold) }) : heatMap(view, { ...options, onForce });
    map.id = "map";
    place.replaceChildren(state.lines ? el("div", { class: "scroll" }, map) : sheet(map));
  }
  panel.append(
    el("div", { class: "bar" },
      el("div", { class: "group", role: "group", "aria-label": "Picture" },
        toggle("Heat map", !state.lines && !state.asTable, () => change({ lines: false, asTable: false })),
        toggle("Lines", state.lines && !state.asTable, () => change({ lines: true, asTable: false })),
        toggle("Table", state.asTable, () => change({ asTable: true }))),
      el("div", { class: "group", role: "group", "aria-label": "Units" },
        toggle("Words", state.words, () => change({ words: true })), toggle("Subwords", !state.words, () => change({ words: false }))),
      check("with-end", "Row of </s>", "eos"),
      el("label", {}, "Threshold", el("input", { type: "range", id: "threshold", min: 0, max: 0.5, step: 0.01, value: state.threshold,
        oninput: (event) => { state.threshold = Number(event.target.value); value.textContent = percent(state.threshold); draw(); } }), value),
      !state.lines && !state.asTable && toggle("Force by dragging", forcing, () => { forcing = !forcing; app.show(); })),
    el("div", { class: "stage" }, place, el("div", { class: "side" }, out, legend(state.look),
    el("p", { class: "note" }, forcing ? "Drag along a row to make that word look there; the rest is decoded again." :
      `A row is a ${app.task().word}, a column a source word; a cell shows ${CELLS[state.look]}. The hatched column is the end of the sentence (</s>): what lies there is on no word.`))));
  draw();
}
