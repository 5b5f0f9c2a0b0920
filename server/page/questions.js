/* What if: another token, another place to look, a translation of the reader's own. Each question is asked of the sentence as it
 * stands; undo goes one back. */
import { el, number } from "./dom.js";
import * as api from "./api.js";
import { END, changed, matrix, prefix, targets, tokensOf } from "./sentence.js";
import { NAMES, legend, say } from "./map.js";
import { heatMap, sheet } from "./heatmap.js";
import { strip } from "./confidence.js";
import { fail } from "./trouble.js";

const facts = (s) => el("dl", {}, [["score", number(s.score, 3)], ["log-probability", number(s.log_prob)], ["tokens", s.tokens.length]].map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))));

/* A sentence with what another has not marked, if there is another. */
export function marked(title, s, other) {
  const how = { words: true, eos: false }, units = targets(s, how), marks = other ? changed(targets(other, how).map((u) => u.label), units.map((u) => u.label)) : [];
  return [el("h3", {}, title), el("p", { class: "line", dir: "auto" },
    units.map((unit, k) => [k ? s.text.slice(units[k - 1].stop, unit.start) : "", marks[k] ? el("mark", {}, unit.label) : unit.label])), facts(s)];
}

/* Two of them side by side. */
const beside = (props, titles, a, b) => el("div", { class: "cards", ...props }, el("div", { class: "card" }, marked(titles[0], a, b)), el("div", { class: "card" }, marked(titles[1], b, a)));

export class Questions {
  constructor(app) { Object.assign(this, { app, asked: [], error: null, reference: null, text: "" }); }
  reset() { Object.assign(this, { asked: [], error: null, reference: null }); }
  current() { return this.asked.at(-1)?.sentence; }

  async #ask(title, given) {
    const { app } = this, base = app.base(), before = this.asked.length;
    const body = { ...app.search(), text: base.source_text, split_sentences: false };
    if (given.target !== undefined) { body.target = given.target; delete body.strategy; delete body.beam_size; delete body.seed; }
    if (given.prefix) body.prefix = given.prefix;
    if (given.force?.length) body.force_attention = given.force;
    try {
      const { sentences } = await api.decode(body);
      if (app.base() !== base || this.asked.length !== before) return;
      if (!sentences.length) return;
      this.asked.push({ title, given, sentence: sentences[0], before: app.sentence() });
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    app.pinned = -1;
    app.show();
    if (document.activeElement === document.body) document.getElementById("undo")?.focus({ preventScroll: true });
  }

  /* The token takes the place of token i. */
  choose(i, token) {
    const s = this.app.sentence();
    if (token === END) return this.#ask("Ended early", { target: prefix(s, i, "").trimEnd() });
    const force = (this.asked.at(-1)?.given.force ?? []).filter(({ step }) => step < i);
    return this.#ask(`\u201c${token.replaceAll("\u2581", "")}\u201d instead of \u201c${s.tokens[i].replaceAll("\u2581", "")}\u201d`, { prefix: prefix(s, i, token), force });
  }

  /* The steps of target unit k look at these source tokens alone. */
  force(k, tokens) {
    const s = this.app.sentence(), unit = targets(s, this.app.how())[k], steps = tokensOf(unit);
    const weights = s.source_tokens.map((_, j) => (tokens.includes(j) ? 1 : 0));
    const last = this.asked.at(-1)?.given ?? {};
    const force = [...(last.force ?? []).filter(({ step }) => !steps.includes(step)), ...steps.map((step) => ({ step, weights }))];
    const where = tokens.map((j) => s.source_tokens[j].replaceAll("\u2581", " ")).join("").trim();
    return this.#ask(`\u201c${unit.label}\u201d looks at \u201c${where}\u201d`, { ...last, target: undefined, force });
  }

  undo() {
    if (!this.asked.length) return false;
    this.asked.pop();
    this.error = null;
    this.app.pinned = -1;
    this.app.show();
    if (document.activeElement === document.body) document.getElementById("reading").focus({ preventScroll: true });
    return true;
  }

  show(place) {
    const last = this.asked.at(-1);
    place.replaceChildren();
    if (this.error) {
      const note = el("p", { class: "error", role: "alert" });
      place.append(note);
      fail(note, this.error);
    }
    if (!last) return;
    const same = last.before.text === last.sentence.text;
    place.append(el("div", { class: "bar" }, el("h2", {}, `What if ${last.title}?`), el("button", { type: "button", id: "undo", onclick: () => this.undo() }, "Undo"),
      this.asked.length > 1 && el("button", { type: "button", onclick: () => { this.asked = []; this.app.show(); } }, `Back to the beginning (${this.asked.length})`)),
      beside({ role: "status" }, ["Before", same ? "After: the same" : "After"], last.before, last.sentence));
  }

  /* Scores a translation of the reader's own. */
  async score(target, note) {
    const { app } = this, base = app.base();
    this.text = target;
    try {
      const { sentences } = await api.decode({ model: app.state.model, text: base.source_text, target });
      if (app.base() !== base) return;
      this.reference = sentences[0] ?? null;
      if (app.state.view === "ask") app.showPanel();
    } catch (error) {
      fail(note, error);
    }
  }
}

function reference(panel, app) {
  const mine = app.questions.reference, view = matrix(mine, app.how()), out = el("output", { class: "read" });
  panel.append(beside({}, ["The model's", "Yours"], app.sentence(), mine), strip(mine));
  if (view) panel.append(sheet(heatMap(view, { room: panel.clientWidth, name: `${NAMES[view.look]} of yours`, onSay: (cell) => say(out, cell) })), out, legend(view.look));
}

export function questionsPanel(panel, app) {
  const { questions } = app, { word, result } = app.task(), note = el("p", { class: "error", role: "alert", hidden: true }), s = app.sentence();
  const text = el("textarea", { id: "reference", rows: 2, dir: "auto", value: questions.text, oninput: (event) => { questions.text = event.target.value; } });
  panel.append(el("h2", {}, "What does the model think of your own version?"),
    el("p", { class: "note" }, "The model is forced to write exactly this text; you see its probabilities and attention for your words."),
    el("form", { onsubmit: (event) => { event.preventDefault(); note.hidden = true; if (text.value.trim()) questions.score(text.value.trim(), note); } },
      el("label", {}, `Your ${result.toLowerCase()} of \u201c${s.source_text}\u201d`, text), el("div", { class: "row" }, el("button", { class: "primary" }, "Score it"))), note);
  if (questions.reference) reference(panel, app);
  panel.append(el("h2", {}, "More questions"), el("p", { class: "note" },
    `Choose a ${word} above, then a source word: it then looks there, and the rest is decoded again. In the map view, drag along a row. In the confidence view, choose another token.`));
}
