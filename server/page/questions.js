/* What-if questions: another token, another place to look, a translation of the user's own. Each question builds on the
 * current sentence, and undo reverts one. A new question cancels the one that is pending. */
import { button, el, number } from "./dom.js";
import * as api from "./api.js";
import { END, changed, forced, prefix, targets, tokensOf } from "./sentence.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

const facts = (s) => el("dl", {}, [["score", number(s.score, 3)], ["log-probability", number(s.log_prob)],
  ["tokens", s.tokens.length]].map(([k, v]) => el("div", {}, el("dt", {}, t(k)), el("dd", {}, v))));

/* A sentence in which the words that differ from `other` are marked, if that is given. */
export function marked(title, s, other) {
  const how = { words: true, eos: false }, units = targets(s, how),
    marks = other ? changed(targets(other, how).map((u) => u.label), units.map((u) => u.label)) : [];
  return [el("h3", {}, title), el("p", { class: "line", dir: "auto" },
    units.map((unit, k) => [k ? s.text.slice(units[k - 1].stop, unit.start) : "", marks[k] ? el("mark", {}, unit.label)
      : unit.label])), facts(s)];
}

/* Two sentences side by side, each compared with the other. */
export const beside = (props, titles, a, b) => el("div", { class: "cards", ...props },
  el("div", { class: "card" }, marked(titles[0], a, b)), el("div", { class: "card" }, marked(titles[1], b, a)));

export class Questions {
  #waits = { what: null, score: null }; /* abort controllers of the requests in flight */
  constructor(app) { Object.assign(this, { app, asked: [], error: null, wrong: null, reference: null, text: "" }); }
  /* Cancel the requests in flight. */
  cancel() {
    for (const wait of Object.values(this.#waits)) wait?.abort();
    this.#waits = { what: null, score: null };
  }
  reset() {
    this.cancel();
    Object.assign(this, { asked: [], error: null, wrong: null, reference: null });
  }
  current() { return this.asked.at(-1)?.sentence; }
  #begin(name) {
    this.#waits[name]?.abort();
    return (this.#waits[name] = new AbortController()).signal;
  }
  /* Write the questions into the link. c: a step and the token chosen there; f: steps and the source tokens that they
   * look at; w: a word and another wording from it. */
  #note(step) {
    this.app.state.asked = this.asked.map(({ mark }) => mark);
    this.app.remember(step);
  }
  /* Ask the questions of a link again, up to the first one without an answer. The link is rewritten only at the end. */
  async restore({ asked, own }) {
    this.reset();
    const waits = this.#waits;
    for (const mark of asked) if (!(await this.#again(mark))) break;
    if (this.#waits !== waits) return; /* something else was asked meanwhile */
    this.#note(false);
    if (own) await this.score(own);
  }
  async #again(mark) {
    const [, kind, at, what] = /^([cfw])([\d.]+):(.*)$/s.exec(mark) ?? [], steps = at?.split(".").map(Number) ?? [],
      { tokens, source_tokens } = this.app.sentence();
    if (!steps.length || steps.some((step) => !(step < tokens.length))) return false;
    if (kind === "w") return this.#ask(...this.#wording(steps[0], what));
    return this.#ask(...(kind === "c" ? this.#choice(steps[0], what)
      : this.#look({ steps, tokens: what.split(".").map(Number).filter((j) => j < source_tokens.length) })));
  }

  #body({ translation, prefix, force }) {
    const { app } = this, { source_text: text } = app.base();
    return { ...(translation === undefined ? app.search() : { model: app.state.model, translation }), text,
      split_sentences: false, ...(prefix && { prefix }), ...(force?.length && { force_attention: force }) };
  }
  /* Decode the current sentence again, with more fields in the reply. */
  async again(include) {
    const { answer } = this.app, given = answer.unedited ? { translation: this.app.base().text } : {};
    return (await api.decode(this.#body(this.asked.at(-1)?.given ?? given), { include })).sentences[0];
  }

  /* Ask a question, and return whether there is an answer. */
  async #ask(title, mark, given) {
    const { app } = this, signal = this.#begin("what");
    try {
      const { sentences } = await api.decode(this.#body(given), { signal });
      if (signal.aborted || !sentences.length) return false;
      this.asked.push({ title, mark, given, sentence: sentences[0], before: app.sentence() });
      this.error = null;
    } catch (error) {
      if (signal.aborted) return false;
      this.error = error;
    }
    app.show();
    return !this.error;
  }
  async #asked(question) {
    if (!(await this.#ask(...question))) return;
    this.#note(true);
    if (document.activeElement === document.body) document.getElementById("undo")?.focus({ preventScroll: true });
  }

  /* Replace token i by another token. */
  choose(i, token) { return this.#asked(this.#choice(i, token)); }
  #choice(i, token) {
    const s = this.app.sentence();
    if (token === END) return [t("Ended early"), `c${i}:${token}`, { translation: prefix(s, i, "").trimEnd() }];
    const force = (this.asked.at(-1)?.given.force ?? []).filter(({ step }) => step < i);
    return [t("\u201c{0}\u201d instead of \u201c{1}\u201d", ...[token, s.tokens[i]]
      .map((one) => one.replaceAll("\u2581", ""))), `c${i}:${token}`, { prefix: prefix(s, i, token), force }];
  }

  /* Take another wording of the sentence, which differs at word i. */
  put(i, text) { return this.#asked(this.#wording(i, text)); }
  #wording(i, text) {
    const unit = targets(this.app.sentence(), { words: true, eos: false })[i];
    return [t("another wording at \u201c{0}\u201d", unit?.surface ?? ""), `w${i}:${text}`, { translation: text }];
  }

  /* Make these steps look only at these source tokens. */
  force(look) { return this.#asked(this.#look(look)); }
  #look({ steps, tokens }) {
    const s = this.app.sentence(), unit = targets(s, this.app.how()).find((one) => tokensOf(one).includes(steps[0])),
      last = this.asked.at(-1)?.given ?? {};
    const force = [...(last.force ?? []).filter(({ step }) => !steps.includes(step)), ...forced(s, steps, tokens)];
    const where = tokens.map((j) => s.source_tokens[j].replaceAll("\u2581", " ")).join("").trim();
    return [t("\u201c{0}\u201d looks at \u201c{1}\u201d", unit.label, where), `f${steps.join(".")}:${tokens.join(".")}`,
      { ...last, translation: undefined, force }];
  }

  undo() {
    if (!this.asked.length) return false;
    this.#back(-1);
    queueMicrotask(() => {
      if (document.activeElement === document.body) document.getElementById("reading").focus({ preventScroll: true });
    });
    return true;
  }
  #back(count) {
    this.cancel();
    this.asked = this.asked.slice(0, count);
    this.error = null;
    this.#note(true);
    this.app.show();
  }

  show(place) {
    const last = this.asked.at(-1);
    place.replaceChildren();
    if (this.error) place.append(failure(this.error));
    if (!last) return;
    const same = last.before.text === last.sentence.text;
    place.append(el("div", { class: "bar" }, el("h2", {}, t("What if {0}?", last.title)),
      button(t("Undo"), () => this.undo(), { id: "undo" }),
      this.asked.length > 1 && button(t("Back to the beginning ({0})", this.asked.length), () => this.#back(0))),
      beside({ role: "status" }, [t("Before"), same ? t("After: the same") : t("After")], last.before, last.sentence));
  }

  /* Score a translation of the user's own. */
  async score(target) {
    const { app } = this, base = app.base(), signal = this.#begin("score");
    this.text = target;
    try {
      const { sentences } = await api.decode({ model: app.state.model, text: base.source_text, translation: target },
        { signal });
      if (signal.aborted) return;
      Object.assign(this, { reference: sentences[0] ?? null, wrong: null });
      app.state.own = target;
      app.remember(true);
    } catch (error) {
      if (signal.aborted) return;
      this.wrong = error;
    }
    app.showPanel();
  }
}
