/* Two models, two searches or two sentences side by side, on one scale. */
import { el } from "./dom.js";
import * as api from "./api.js";
import { matrix } from "./sentence.js";
import { heatMap, legend, sayCell, cellSize } from "./map.js";
import { marked } from "./questions.js";

let other = null, made = { key: "", sentence: null };

export function comparePanel(panel, app) {
  const s = app.sentence(), first = !other;
  other ??= { text: s.source_text, model: app.state.model, strategy: app.state.strategy === "greedy" ? "beam" : "greedy", from: s.source_text };
  if (other.text === other.from) other.text = other.from = s.source_text; /* untouched: it follows */
  if (!app.models.some((m) => m.name === other.model)) other.model = app.state.model;
  const place = el("div"), note = el("p", { class: "error", role: "alert", hidden: true });
  const field = (name) => (event) => { other[name] = event.target.value; if (event.type === "change") ask(); };
  const choose = (label, id, name, options) => el("label", {}, label, el("select", { id, onchange: field(name) }, options.map(([value, text]) => el("option", { value, selected: value === other[name] }, text))));
  async function ask() {
    note.hidden = true;
    const key = JSON.stringify([other.text, other.model, other.strategy, app.state.beam]);
    if (made.key !== key) {
      try {
        const { sentences } = await api.decode({ text: other.text, split_sentences: false, ...api.search({ ...other, beam: app.state.beam }) });
        made = { key, sentence: sentences[0] };
      } catch (error) {
        return app.fail(note, error);
      }
    }
    if (made.sentence && panel.contains(place)) draw();
  }
  function draw() {
    const b = made.sentence, pair = [s, b].map((x) => matrix(x, app.how())), out = el("output", { class: "read" });
    const room = panel.clientWidth > 700 ? panel.clientWidth / 2 - 24 : panel.clientWidth;
    const cell = Math.min(...pair.filter(Boolean).map((view) => cellSize(view.columns.length, room - 140)));
    place.replaceChildren(el("div", { class: "cards" }, [s, b].map((x, k) => {
      const card = marked(k ? `B: ${other.model}, ${other.strategy}` : `A: ${app.state.model}, ${app.state.strategy}`, x, k ? s : b);
      if (pair[k]) card.append(el("br"), el("div", { class: "scroll" }, heatMap(pair[k], { cell, name: k ? "B" : "A", onSay: (at) => sayCell(out, at) })));
      return card;
    })), out, legend());
  }
  panel.append(el("h2", {}, "Side by side"), el("p", { class: "note" }, "A is what stands above. Change anything of B: the model, the search, the sentence."),
    el("form", { onsubmit: (event) => { event.preventDefault(); ask(); } },
      el("label", {}, "Sentence B", el("textarea", { id: "text-b", rows: 1, dir: "auto", value: other.text, oninput: field("text") })),
      el("div", { class: "row" }, choose("Model B", "model-b", "model", app.models.map((m) => [m.name, m.name])),
        choose("Search B", "strategy-b", "strategy", [["beam", "Beam"], ["greedy", "Greedy"], ["sample", "Sample"], ["exact", "Exact"]]), el("button", { class: "primary" }, "Compare"))), note, place);
  if (first || other.text.trim()) ask();
}
