/* <alignd-attention>: a translation and what each of its words was made from, for any page (reference: npm/README.md).
 * It draws a given result, or requests one from a server or an engine. The page does all its drawing through it. */
import { button, el } from "./dom.js";
import * as api from "./api.js";
import { colours, groundOf, offTheme, onTheme, schemeOf } from "./colour.js";
import { hostSheet } from "./sheet.js";
import { forced, LOOKS, visible, prefix, ratings, targets, tokensOf } from "./sentence.js";
import { pair } from "./reading.js";
import { legend, NAMES, say, sayMost, sayRating, table } from "./map.js";
import { largeMap } from "./heatmap.js";
import { windowed } from "./windows.js";
import { t } from "./say.js";

const ASKED = ["server", "engine", "src", "model", "source", "target", "text", "translation"],
  DRAWN = ["view", "look", "units", "eos", "threshold", "theme", "label", "drag", "head", "step"];
const VIEWS = ["threads", "map", "lines", "table", "heads", "step"];
const NARROW = 760, SIDE = 260, FEW = 30; /* above NARROW px, a map of under FEW columns leaves SIDE px beside it */
/* Table: px of the row names and of a column; rows shown at once if not all columns fit. */
const NAMED = 110, COLUMN = 52, MANY = 80;
/* Modules that are loaded when their drawing is first shown. */
const LATER = { heads: () => import("./headmap.js"), lines: () => import("./linemap.js") }, later = {};
let styles; /* style sheet shared by all elements */

/* First result of a reply of /attention or /translate; anything else is taken as {sentences}. */
const resultOf = (reply) => reply?.results?.[0] ?? reply?.translations?.[0] ?? reply;

/* Attributes, properties, methods and events are documented in npm/README.md. */
export class AligndAttention extends HTMLElement {
  static observedAttributes = [...ASKED, ...DRAWN];
  #root = this.attachShadow({ mode: "open" });
  #body = el("div", { class: "body" });
  #popover = el("div", { class: "popover", id: "popover", popover: "", role: "dialog", "aria-label": t("Alternatives"),
    part: "popover" });
  #told = el("p", { class: "sr", role: "status" });
  #answer = null;
  #active = 0;
  #pinned = -1;
  #pairs = [];
  #fresh = false;
  #width = 0;
  #waits = { ask: false, draw: false };
  #running = null;
  #redraw = () => this.#soon("draw");
  #watch = new ResizeObserver(([{ contentRect }]) => {
    if (Math.abs(contentRect.width - this.#width) < 1) return;
    this.#width = contentRect.width;
    this.hideAlternatives();
    if (this.view !== "threads") this.#soon("draw");
  });

  connectedCallback() {
    if (!this.#root.firstChild) {
      this.#root.adoptedStyleSheets = [(styles ??= hostSheet())];
      this.#root.append(this.#body, this.#told);
      this.#root.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && !this.#popover.matches(":popover-open")) this.release();
      });
    }
    onTheme(this.#redraw);
    this.#watch.observe(this);
    this.draw();
  }
  disconnectedCallback() {
    offTheme(this.#redraw);
    this.#watch.disconnect();
    this.#running?.abort();
  }
  attributeChangedCallback(name, before, now) {
    if (before === now) return;
    if (ASKED.includes(name)) this.#soon("ask");
    else this.#soon("draw");
    if (name === "units" || name === "eos") this.#pinned = -1;
  }
  #soon(what) {
    if (!this.#waits.ask && !this.#waits.draw) queueMicrotask(() => this.#doWaiting());
    this.#waits[what] = true;
  }
  #doWaiting() {
    const { ask, draw } = this.#waits;
    this.#waits = { ask: false, draw: false };
    if (!this.isConnected) return;
    if (ask && this.getAttribute("src")) this.load();
    else if (ask && this.#askable && this.getAttribute("text")?.trim()) this.ask();
    else if (draw) this.draw();
  }

  /* ---- state ---- */

  get result() { return this.#answer; }
  set result(reply) {
    const answer = resultOf(reply);
    this.#answer = answer?.sentences?.length ? { ...answer, model: reply.model, source: reply.source,
      target: reply.target, pivot: reply.pivot } : null;
    this.#active = 0;
    this.#pinned = -1;
    this.#fresh = true;
    this.#soon("draw");
  }
  get view() { return VIEWS.includes(this.getAttribute("view")) ? this.getAttribute("view") : VIEWS[0]; }
  set view(name) { this.setAttribute("view", name); }
  /* Index of the active sentence, and of its pinned target word or -1. */
  get active() { return this.#active; }
  set active(k) { this.#active = k; this.#soon("draw"); }
  get pinned() { return this.#pinned; }
  set pinned(i) {
    if (this.#waits.draw || !this.#pairs[this.#active]) { this.#pinned = i; this.#soon("draw"); }
    else this.#pinTo(i);
  }
  /* Show what target word i of the active sentence was made from, as if it were pointed at; -1 ends that. */
  point(i) {
    if (this.#waits.draw) this.draw();
    const pair = this.#pairs[this.#active];
    if (!pair || this.#pinned >= 0) return;
    if (i < 0) pair.rest();
    else pair.point(i);
  }
  get sentence() { return this.#answer?.sentences[this.#active]; }
  get how() {
    const look = this.getAttribute("look");
    return { words: this.getAttribute("units") !== "tokens", eos: this.hasAttribute("eos"), look: LOOKS.includes(look)
      ? look : LOOKS[0] };
  }
  /* The element's own theme, or that of the page around it. */
  get #theme() {
    const own = this.getAttribute("theme");
    return ["light", "dark"].includes(own) ? own : schemeOf(this);
  }
  get colours() { return colours(this.#theme); }
  /* A translation by two models in turn allows no follow-up questions. */
  get #asks() { return !this.#answer.pivot; }
  get #langs() {
    return [this.#answer.source, this.#answer.target]
      .map((code) => (!code || code.startsWith("x-") ? undefined : code));
  }

  focus(options) { this.#root.querySelector(".unit.pinned, .body [tabindex='0']")?.focus(options); }
  #tell(name, detail) {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: name !== "error", composed: name !== "error",
      cancelable: true }));
  }

  /* ---- requests ---- */

  /* Whether there is something to ask. */
  get #askable() { return this.hasAttribute("engine") || this.hasAttribute("server"); }
  /* An engine's `model` is a folder. */
  get #engine() {
    return this.hasAttribute("engine")
      ? api.engineAt(this.getAttribute("engine"), this.getAttribute("model") ?? "") : undefined;
  }
  #connection(signal) {
    return { server: (this.getAttribute("server") ?? "").replace(/\/$/, ""), key: this.key, engine: this.#engine,
      signal };
  }
  #ask(path, body) {
    return this.#wait((signal) => api.decode(body, { path, ...this.#connection(signal) }));
  }
  /* What get(signal) answers; null after an error, which is said, or once something else is asked for. */
  async #wait(get) {
    this.#running?.abort();
    const mine = (this.#running = new AbortController());
    this.#body.classList.add("busy");
    try {
      return await get(mine.signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (this.#tell("error", { error }))
        this.#body.replaceChildren(el("p", { class: "message wrong", role: "alert" }, error.message));
      return null;
    } finally {
      if (this.#running === mine) this.#body.classList.remove("busy");
    }
  }
  /* Draw the stored reply at `src`. */
  load() {
    return this.#wait(async (signal) => {
      const reply = await fetch(this.getAttribute("src"), { signal });
      if (!reply.ok) throw new api.ApiError(reply.status, { error: t("There is no reply at {0}.", reply.url) });
      this.result = await reply.json();
    });
  }
  /* Translate `text`, or score the given `translation`. */
  async ask() {
    const given = Object.fromEntries(["model", "source", "target", "text", "translation"]
      .filter((name) => this.hasAttribute(name)).map((name) => [name, this.getAttribute(name)]));
    if (this.#engine) delete given.model;
    if (given.model) { delete given.source; delete given.target; } /* the model implies both */
    const answer = await this.#ask("translation" in given ? "/attention" : "/translate", given);
    if (!answer) return;
    this.result = answer;
    this.#told.textContent = `${this.getAttribute("label") ?? t("Result")}: ${answer.text}`;
    this.#tell("result", { result: answer });
  }
  /* Decode the active sentence again, with more request fields. */
  async #question(given) {
    const at = this.#active, { source_text: text } = this.sentence, { model } = this.#answer;
    const before = this.#answer,
      answer = await this.#ask("/attention", { text, ...(model && { model }), split_sentences: false, ...given });
    if (!answer?.sentences.length || this.#answer !== before) return;
    const sentences = before.sentences.map((one, k) => (k === at ? answer.sentences[0] : one));
    this.result = { ...before, text: sentences.map((s) => s.text).join(" "), sentences };
    this.active = at;
    this.#tell("result", { result: this.#answer });
  }
  #force(steps, tokens) {
    const detail = { sentence: this.#active, steps, tokens };
    if (this.#tell("force", detail) && this.#askable)
      this.#question({ force_attention: forced(this.sentence, steps, tokens) });
  }
  #choose(step, token) {
    const detail = { sentence: this.#active, step, token };
    if (this.#tell("alternative", detail) && this.#askable)
      this.#question({ prefix: prefix(this.sentence, step, token) });
  }
  /* Show the five best tokens of a step in a popover at a button. */
  async showAlternatives(step, button) {
    const { alternatives } = await import("./alternatives.js");
    this.#root.append(this.#popover);
    alternatives(this.#popover, this.sentence, step, button, (token) => this.#choose(step, token));
  }
  hideAlternatives() { if (this.#popover.matches(":popover-open")) this.#popover.hidePopover(); }

  /* ---- drawing ---- */

  draw() {
    this.#waits.draw = false;
    if (this.dataset.scheme !== this.#theme) this.dataset.scheme = this.#theme;
    this.#body.style.setProperty("--paper", groundOf(this));
    const kept = this.#root.activeElement?.id;
    if (!this.#answer) this.#body.replaceChildren(...(this.#askable || this.hasAttribute("src") ? []
      : [el("p", { class: "message" }, t("No result."))]));
    else if (this.view === "threads") this.#drawThreads();
    else if (this.view === "heads") this.#drawHeads();
    else if (this.view === "step") this.#drawStep();
    else this.#drawMap();
    if (kept) this.#root.getElementById(kept)?.focus({ preventScroll: true });
  }

  release() {
    if (this.#pinned >= 0) this.#pin(this.#pinned);
  }
  #pin(i) { this.#pinTo(this.#pinned === i ? -1 : i); }
  #pinTo(i) {
    this.#pinned = i;
    this.#pairs.forEach(({ pin }, k) => pin(k === this.#active ? i : -1));
    if (i < 0) this.#root.getElementById("hint")?.replaceChildren(this.#idle());
  }
  #select(side, unit, index) {
    this.#tell("wordselect", { side, index, sentence: this.#active, text: unit.surface, tokens: tokensOf(unit),
      pinned: this.#pinned });
  }

  #drawThreads() {
    const { sentences } = this.#answer, hint = el("div", { class: "hint", id: "hint", role: "status", part: "hint" });
    this.#pairs = sentences.map((s, k) => this.#pair(s, k, (...what) => hint.replaceChildren(...what)));
    const many = el("div", { class: sentences.length > 1 ? "many" : "" }, this.#pairs.map(({ node }) => node));
    many.classList.toggle("fresh", this.#fresh);
    this.#fresh = false;
    this.#body.replaceChildren(many, this.#key(), hint);
    this.#pinTo(this.#pinned);
    if (this.hasAttribute("paper")) for (const { print } of this.#pairs) print();
  }
  /* Legend of the lines under the words. */
  #key() {
    const rated = this.#answer.sentences.some((s) => ratings(s, this.how)),
      doubted = this.#answer.sentences.some((s) => s.log_probs);
    const sample = (kind, says) => el("span", { class: "legend" }, el("i", { class: `sample ${kind}` }), says);
    return el("p", { class: "legend", part: "key" },
      rated ? [sample("good", t("likely right")), sample("poor", t("likely wrong, as the model estimates"))] : doubted
      ? sample("doubt", t("the model was unsure")) : []);
  }
  #idle() {
    if (!visible(this.sentence, this.how)) return t("This model has no attention to show.");
    return t(this.how.look === "alignment" ? "Point at a word to see what it is aligned with."
      : "Point at a word to see where it looks.") + (this.hasAttribute("server") && this.#asks
      ? t(" Choose a word of the result to explore it.") : "");
  }
  #pair(s, k, hint) {
    const active = () => k === this.#active,
      how = { ...this.how, name: `s${k}`, langs: this.#langs, result: this.getAttribute("label") ?? t("Result") };
    const select = () => {
      if (active()) return;
      this.#pinTo(-1);
      this.#active = k;
      this.#pairs.forEach(({ node }, at) => node.classList.toggle("active", at === k));
    };
    const made = pair(s, how, {
      onTarget: (unit, i) => { select(); this.#pin(i); this.#select("target", unit, i); },
      onSource: (unit, j) => {
        if (active() && this.#pinned >= 0 && this.#asks)
          this.#force(tokensOf(targets(s, how)[this.#pinned]), tokensOf(unit));
        else { select(); this.#select("source", unit, j); }
      },
      hinted: (view, i) => {
        if (!view) { if (this.#pinned < 0) hint(this.#idle()); }
        else if (active() && this.#pinned >= 0) hint(...this.#pinnedHint(s, view, i));
        else hint(el("span", {}, ...this.#sayRow(s, view, i)));
      },
    });
    made.node.classList.toggle("active", active());
    return made;
  }
  #sayRow(s, view, i) { return [...sayMost(view, i), ...sayRating(ratings(s, this.how), i)]; }
  #pinnedHint(s, view, i) {
    const step = tokensOf(view.rows[i])[0], asks = this.hasAttribute("server") && this.#asks;
    return [el("span", {}, ...this.#sayRow(s, view, i),
      asks ? t(". Choose a source word to make it look there, or see ") : "."),
      s.top_k && this.#asks
        && button(t("its alternatives"), (event) => this.showAlternatives(step, event.currentTarget), { id: "see" }),
      button(t("Unpin"), () => this.release())].filter(Boolean);
  }

  #say(text) { this.#body.replaceChildren(el("p", { class: "message" }, text)); }
  /* Whether the module of a view is there; if not, it is loaded, and then drawn. */
  #has(view) {
    if (!later[view]) {
      LATER[view]().then((module) => {
        later[view] = module;
        if (this.view === view) this.draw();
      }, () => this.#say(t("The server cannot be reached.")));
    }
    return later[view];
  }
  #drawHeads() {
    if (!this.sentence.heads) return this.#say(t("This answer has no heads."));
    if (!this.#has("heads")) return;
    const { headMaps, styleHeads } = later.heads;
    styleHeads(this.#root);
    const { out, onSay } = this.#saying(), room = (this.#width = this.clientWidth);
    const choose = (head) => { this.setAttribute("head", head); this.#tell("headselect", { head }); };
    this.#body.replaceChildren(headMaps(this.sentence, { head: this.getAttribute("head"), room, colours: this.colours,
      onSay, choose }), out, el("div", { part: "legend" }, legend("attention", this.colours)), el("slot"));
  }
  async #drawStep() {
    const s = this.sentence;
    if (!s.attention) return this.#say(t("This model has no attention to show."));
    const { stepOf, styleSteps, walk } = await import("./step.js");
    if (s !== this.sentence || this.view !== "step") return;
    styleSteps(this.#root);
    this.#body.replaceChildren(walk(s, Number(this.getAttribute("step")) || 0, (i) => stepOf(s, i),
      (step) => this.#tell("stepselect", { sentence: this.#active, step })));
  }
  #saying() {
    const out = el("output", { class: "read", part: "read", "aria-live": "polite" });
    return { out, onSay: (cell) => say(out, cell) };
  }
  #drawMap() {
    const view = visible(this.sentence, this.how), kind = this.view;
    if (!view) return this.#say(t("This model has no attention to show."));
    if (kind === "lines" && !this.#has(kind)) return;
    const { out, onSay } = this.#saying(), width = (this.#width = this.clientWidth);
    const room = width - (kind !== "table" && width > NARROW && view.columns.length < FEW ? SIDE : 0),
      options = { room, colours: this.colours, onSay, threshold: Number(this.getAttribute("threshold")) || 0,
      name: this.getAttribute("label") ?? undefined };
    const side = el("div", { class: "side" }, out,
      kind !== "table" && el("div", { part: "legend" }, legend(view.look, this.colours)), el("slot"));
    this.#body.replaceChildren(el("div", { class: "stage" },
      el("div", { class: "place" }, this.#picture(kind, view, options)), side));
  }
  #picture(kind, view, options) {
    if (kind === "table") {
      const columns = Math.max(2, Math.floor((options.room - NAMED) / COLUMN));
      return windowed(view, { fits: [view.columns.length > columns ? MANY : Infinity, columns],
        colours: options.colours, name: t(NAMES[view.look]),
        draw: (one) => el("div", { id: "map", part: "map" }, table(one)) });
    }
    if (kind === "lines")
      return el("div", { part: "map" }, later.lines.largeLines(view,
        { ...options, threshold: Math.max(0.02, options.threshold) }));
    const force = (one) =>
      (this.hasAttribute("drag")
      ? { onForce: (i, from, to) => this.#force(tokensOf(one.rows[i]),
      one.columns.slice(from, to + 1).flatMap(tokensOf)) } : {});
    return el("div", { part: "map" }, largeMap(view, { ...options, cell: this.cell, of: force }));
  }
}

if (!customElements.get("alignd-attention")) customElements.define("alignd-attention", AligndAttention);
