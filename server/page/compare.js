/* Two models, two searches or two texts side by side, on one scale. */
import { el } from "./dom.js";
import * as api from "./api.js";
import { matrix } from "./sentence.js";
import { legend, say } from "./map.js";
import { heatMap, sheet, cellSize } from "./heatmap.js";
import { marked } from "./questions.js";
import { fail } from "./trouble.js";

let other = null, made = { key: "", sentences: [] };

/* A row for each sentence; the one that has more of them goes on alone. */
function pairs(panel, app, ours, theirs, out) {
  const views = [ours, theirs].map((list) => list.map((s) => matrix(s, app.how()))), room = panel.clientWidth > 700 ? panel.clientWidth / 2 - 24 : panel.clientWidth;
  const cell = Math.min(...views.flat().filter(Boolean).map((view) => cellSize(view.columns.length, room - 140)));
  const titles = [`A: ${app.state.model}, ${app.state.strategy}`, `B: ${other.model}, ${other.strategy}`], lists = [ours, theirs], count = Math.max(ours.length, theirs.length);
  const card = (side, k) => {
    const s = lists[side][k], view = views[side][k], title = count > 1 ? `${titles[side]} (sentence ${k + 1})` : titles[side];
    if (!s) return el("div", { class: "card none" }, el("h3", {}, title), "There is no such sentence.");
    return el("div", { class: "card" }, marked(title, s, lists[1 - side][k]), view && sheet(heatMap(view, { cell, name: titles[side], onSay: (at) => say(out, at) })));
  };
  return el("div", { class: "cards" }, Array.from({ length: count }, (_, k) => [card(0, k), card(1, k)]));
}

export function comparePanel(panel, app) {
  const text = app.answer.sentences.length === 1 ? app.sentence().source_text : app.state.text, first = !other;
  const ours = app.answer.sentences.map((s, k) => (k === app.active ? app.sentence() : s));
  other ??= { text, model: app.state.model, strategy: app.state.strategy === "greedy" ? "beam" : "greedy", from: text };
  if (other.text === other.from) other.text = other.from = text; /* untouched: it follows */
  if (!app.models.some((m) => m.name === other.model)) other.model = app.state.model;
  const place = el("div"), note = el("p", { class: "error", role: "alert", hidden: true });
  const field = (name) => (event) => { other[name] = event.target.value; if (event.type === "change") ask(); };
  const choose = (label, id, name, options) => el("label", {}, label, el("select", { id, onchange: field(name) }, options.map(([value, says]) => el("option", { value, selected: value === other[name] }, says))));
  async function ask() {
    note.hidden = true;
    const key = JSON.stringify([other.text, other.model, other.strategy, app.state.beam]);
    try {
      if (made.key !== key) made = { key, ...(await api.decode({ text: other.text, ...api.search({ ...other, beam: app.state.beam }) })) };
    } catch (error) {
      if (panel.contains(place)) fail(note, error, ask);
      return;
    }
    if (!panel.contains(place)) return;
    const out = el("output", { class: "read" });
    place.replaceChildren(pairs(panel, app, ours, made.sentences, out), out, legend(app.state.look));
  }
  panel.append(el("h2", {}, "Side by side"), el("p", { class: "note" }, "A is the result above. For B, change the model, the search or the text. Both use the same scale for colours and sizes."),
    el("form", { onsubmit: (event) => { event.preventDefault(); ask(); } },
      el("label", {}, "Text of B", el("textarea", { id: "text-b", rows: 1, dir: "auto", value: other.text, oninput: field("text") })),
      el("div", { class: "row" }, choose("Model of B", "model-b", "model", app.models.map((m) => [m.name, m.name])),
        choose("Search of B", "strategy-b", "strategy", [["beam", "Beam"], ["greedy", "Greedy"], ["sample", "Sample"], ["exact", "Exact"]]), el("button", { class: "primary" }, "Compare"))), note, place);
  if (first || other.text.trim()) ask();
}
