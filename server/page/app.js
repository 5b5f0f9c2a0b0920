/* State of the page, and the code that connects its parts. */
import { button, copy, el, find, group, note, toggle } from "./dom.js";
import { onTheme } from "./colour.js";
import { useTheme } from "./theme.js";
import * as api from "./api.js";
import { sharedSheet } from "./sheet.js";
import { hasHead, hasHeads, LOOKS } from "./sentence.js";
import "./element.js";
import { cut, NAMES } from "./map.js";
import { mapPanel } from "./mapview.js";
import { Questions } from "./questions.js";
import { fail, failure } from "./trouble.js";
import { task, examples, modelFor, opening, pairsOf, readerOf, translates } from "./task.js";
import { another, asks, fresh, inLink, writeLink, readLink, past, remember, forget, width } from "./memory.js";
import { spoken, t } from "./say.js";
import { LANGUAGES, languageName, speak, speakNext, translatePage, count } from "./speak.js";
import { MOST, pieces, together } from "./pieces.js";
import { languageLists, missing, Translator } from "./translator.js";

/* A page without a server names its engine and models (server/library/javascript/static.mjs). */
const { engine, models: folders } = document.documentElement.dataset;
if (engine) api.useEngine(api.engineAt(engine, folders));
useTheme();
await speak();
translatePage();

/* A module that is loaded when it is needed, and the style sheet that these share. */
const load = async (path) => (await Promise.all([import(path), import("./viewsheet.js")]))[0];
/* A view whose module is loaded when it is first opened. */
function lazy(path, name) {
  let draw = null;
  return (panel, app) => {
    if (draw) return draw(panel, app);
    const wait = el("p", { class: "wait" }, t("Opening")), again = () => app.showPanel();
    panel.append(wait);
    load(path).then((module) => {
      draw = module[name];
      if (wait.isConnected) again();
    }, () => wait.replaceWith(failure(new api.ApiError(0), again)));
  };
}

const PANELS = { map: ["Map", mapPanel], confidence: ["Confidence", lazy("./confidence.js", "confidencePanel")],
  ask: ["Questions", lazy("./askview.js", "questionsPanel")],
  beam: ["Beam", lazy("./beam.js", "beamPanel")], compare: ["Compare", lazy("./compare.js", "comparePanel")],
  diagnostics: ["Diagnostics", lazy("./diagnostics.js", "diagnosticsPanel")],
  step: ["Step", lazy("./stepview.js", "stepPanel")],
  heads: ["Heads", lazy("./headview.js", "headsPanel")],
  why: ["Why", lazy("./why.js", "whyPanel")],
  links: ["Links", lazy("./links.js", "linksPanel")],
  corpus: ["Corpus", lazy("./corpus.js", "corpusPanel")],
  export: ["Export", lazy("./export.js", "exportPanel")] };
/* Views that ask the server for more. While somebody types they wait. */
const ASKING = ["ask", "beam", "compare", "diagnostics", "heads", "why"];
document.adoptedStyleSheets = [sharedSheet()];
const app = {
  state: { text: "", model: "", strategy: "beam", beam: 5, view: "map", threshold: 0 }, /* plus what readLink() sets */
  /* wanted: a language pair that no model here translates; had: what can be downloaded, null: there is no server. */
  models: [], languages: [], had: api.hasServer() ? [] : null, limit: 0, answer: null, questions: null,
  view: find("view"), wanted: null,
  base() { return this.answer?.sentences[this.state.active]; },
  sentence() { return this.questions?.current() ?? this.base(); },
  model() { return this.models.find((m) => m.name === this.state.model); },
  task() { return task(this.model()); },
  how() { return { words: this.state.words, eos: this.state.eos, look: this.state.look }; },
  search() { return api.search(this.model(), this.state); },
  /* Whether follow-up questions are possible: not for a pair, which two models translate in turn. */
  asks() { return !this.model()?.pair; },
  set(changes) { Object.assign(this.state, changes); this.remember(); show(); },
  remember(step = true) { writeLink(this.state, step); },
  /* Languages for a file; the source is "auto" if detection is selected. */
  pair() { const { source, target } = chosen(); return { source: app.state.auto ? "auto" : source, target }; },
  show, showPanel, start, tell, link: () => location.href,
};
app.questions = new Questions(app);
const boxes = new Translator({ onPoint: peek, onChoose: choose });

function showHistory() {
  const list = past();
  find("history").hidden = list.length === 0;
  find("history").querySelector("ol").replaceChildren(...list.map(({ text, model }) =>
    el("li", {}, button(text.slice(0, 90), () => start({ ...fresh(), text, model }), { dir: "auto" }))));
}

/* ---- the form ---- */

/* The selected language pair, whether or not a model translates it. */
const chosen = () => app.wanted ?? { source: app.model()?.source, target: app.model()?.target };
function fillForm() {
  if (find("text").value !== app.state.text) { find("text").value = app.state.text; boxes.typed(); }
  boxes.counted(MOST);
  fillChoices();
}
/* Fill in everything except the text box, where the user may have kept typing. */
function fillChoices() {
  const { state } = app, model = app.model();
  find("model").value = state.model;
  find("strategy").value = state.strategy;
  find("beam").value = state.beam;
  find("beam-field").hidden = state.strategy !== "beam";
  find("go").textContent = t(app.task().act);
  find("result").setAttribute("aria-label", t(app.task().result));
  fillLanguages();
  fillGlossaries();
  find("examples").replaceChildren(...examples(model).map((text) =>
    button(text, () => start({ ...fresh(), text }), { dir: "auto" })));
}
function fillLanguages() {
  const { auto } = app.state, model = app.model(), { source, target } = chosen(),
    others = app.models.filter((one) => !translates(one) && one.source === source)
    .map(({ name, ...one }) => ({ value: `model:${name}`, label: `${t(task(one).result)} (${name})` }));
  languageLists(app.languages, app.had, { source,
    target: !app.wanted && model && !translates(model) ? `model:${model.name}` : target, auto,
    detected: app.answer && auto && source }, others);
}
let glossaries = null;
async function fillGlossaries() {
  const { source, target } = chosen(), list = await (glossaries ??= api.glossaries()),
    names = list.filter((one) => one.source_lang === source && one.target_lang === target);
  find("glossary-field").hidden = !names.length;
  find("glossary").replaceChildren(el("option", { value: "" }, t("None")),
    ...names.map(({ glossary_id: id, name }) => el("option", { value: id }, name)));
  find("glossary").value = names.some(({ glossary_id: id }) => id === app.state.glossary) ? app.state.glossary : "";
}
function readForm() {
  Object.assign(app.state, { ...fresh(), text: find("text").value, strategy: find("strategy").value,
    beam: width(find("beam").value), glossary: find("glossary").value });
}
/* Switch languages, keeping the current text unless another one is given. */
function translateInto(source, target, text = find("text").value) {
  const model = target.startsWith("model:") ? app.models.find(({ name }) => name === target.slice(6))
    : modelFor(app.models, source, target);
  app.wanted = model ? null : { source, target };
  readForm();
  return start({ text, ...(model && { model: model.name }) });
}
function start(changes) {
  if ("model" in changes) app.wanted = null;
  Object.assign(app.state, changes);
  if (!app.models.some((m) => m.name === app.state.model)) app.state.model = app.models[0]?.name ?? "";
  fillForm();
  return run(true, Object.keys(changes).length > 0);
}

/* ---- requests to the daemon ---- */

/* While somebody types, a translation is asked for every EVERY_MS, or less often if answers take longer: of the words
 * that are complete, because half a word is translated by chance. After a pause of PAUSE_MS all of the text is, and a
 * view that asks the server is drawn. */
const EVERY_MS = 300, SLOWEST_MS = 2000, PAUSE_MS = 400;
let running = null, typing = 0, pausing = 0, began = -Infinity, took = 0, settling = 0;
const answered = new Map(), KEPT = 400; /* replies to pieces of long texts */

/* one: a letter was typed. */
function soon(one) {
  const { value } = find("text"), word = one && /(?<=\s)\p{L}+$/u.exec(value);
  clearTimeout(typing);
  clearTimeout(pausing);
  typing = setTimeout(() => submit(false, word ? value.slice(0, word.index) : value),
    Math.max(0, began + Math.max(EVERY_MS, took) - performance.now()));
  if (word) pausing = setTimeout(() => submit(false), PAUSE_MS);
}

/* Detect the language of the text, and select the model for it. */
async function detect(signal) {
  const { target } = chosen(), codes = await api.detect(app.state.text, { signal }),
    reach = app.languages.filter(({ targets }) => targets.includes(target)).map(({ code }) => code);
  const source = codes.find((code) => reach.includes(code)) ?? codes[0] ?? chosen().source,
    model = modelFor(app.models, source, target);
  if (source === target) return;
  app.wanted = model ? null : { source, target };
  if (model) app.state.model = model.name;
}
const keyOf = (text) => JSON.stringify([text, app.search()]);
async function pieceOf(text, many, options) {
  const key = keyOf(text), answer = await api.decode({ text, ...app.search() }, { path: "/translate", ...options });
  if (!many) return answer;
  if (answered.size >= KEPT) answered.delete(answered.keys().next().value);
  answered.set(key, answer);
  return answer;
}
const questionOf = (text) => asks({ ...app.state, text });
/* keep: add the text to the list of past texts; step: add an entry to the browser's history. Without `keep` the text is
 * being typed. What is shown stays until there is something newer to show. text: what is asked; all of it, or the words
 * that are complete. */
async function run(keep, step = keep, text = app.state.text) {
  if (text === app.state.text) clearTimeout(pausing); /* this request covers what was typed */
  clearTimeout(typing);
  running?.abort();
  app.editing?.(true);
  app.questions.cancel();
  const { asked, own } = app.state;
  find("text-error").hidden = true;
  /* Fix the seed, so that questions and the shared link sample the same translation. */
  if (app.state.strategy === "sample") app.state.seed ??= Math.floor(Math.random() * 2 ** 32);
  const some = text.trim(),
    mine = (running = Object.assign(new AbortController(), { question: some && questionOf(text), keep, live: !keep })),
    { signal } = mine, start = (began = performance.now());
  writeLink(app.state, step);
  document.title = some ? `${some.slice(0, 60)} \u2013 alignd` : "alignd";
  busy(some !== "");
  progress();
  if (!some) return take(null);
  if (text.length > MOST) return tooLong(text);
  const slow = setTimeout(() => waiting(""), 250);
  let parts = [], left = [];
  try {
    if (app.state.auto) {
      await detect(signal);
      if (running !== mine) return;
      mine.question = questionOf(text);
      fillChoices();
      writeLink(app.state);
    }
    if (app.wanted) {
      clearTimeout(slow);
      take(null);
      return instead(missing(app.wanted, app.languages, app.had));
    }
    const list = app.state.whole ? [{ start: 0, text }] : pieces(text, app.limit), many = list.length > 1;
    const onText = !many && app.asks() && ["greedy", "sample"].includes(app.state.strategy) ? (part) => {
      clearTimeout(slow);
      waiting(part);
    } : undefined;
    parts = list.map((piece) => ({ ...piece, answer: many ? answered.get(keyOf(piece.text)) : undefined }));
    left = parts.filter(({ answer }) => !answer);
    const arrives = () => {
      if (parts.every(({ answer }) => answer)) mine.question = "";
      mine.asked = questionOf(text);
      arrive(together(text, parts), mine, { asked, own });
    };
    /* An edit of one piece is shown once its answer is there; nothing else changes. */
    if (left.length < parts.length && (left.length !== 1 || !app.answer)) arrives();
    for (const part of left) {
      if (left.length > 1) progress(left.indexOf(part), left.length);
      part.answer = await pieceOf(part.text, many, { onText, signal });
      if (running !== mine) return;
      arrives();
    }
    took = Math.min(SLOWEST_MS, performance.now() - start);
    progress();
    if (app.state.edited) await (await load("./edit.js")).restore(app);
    if (running === mine && app.answer.sentences.length) await app.questions.restore({ asked, own });
  } catch (error) {
    if (mine.stopped) return stopped(parts);
    if (error.name === "AbortError" || running !== mine) {
      took = Math.min(SLOWEST_MS, Math.max(took, 2 * (performance.now() - start)));
      return;
    }
    if (!(error instanceof api.ApiError)) throw error;
    mine.question = "";
    progress();
    /* The parts that are there stay. */
    if (mine.shown) return find("pieces").append(failure(error, () => run(mine.keep, false)));
    take(null);
    if (error.status === 400 || error.status === 413) fail(find("text-error"), error);
    else trouble(error, () => run(mine.keep, step));
  } finally {
    clearTimeout(slow);
    if (running === mine) busy(false, text !== app.state.text);
  }
}
/* Show an answer, or the part of it that has arrived. The active sentence is drawn as soon as it is there; what
 * stays is not drawn again. */
function arrive(answer, mine, { asked, own }) {
  const { state } = app, before = app.base(), first = !mine.shown;
  mine.shown = true;
  if (answer.done) state.active = Math.max(0, Math.min(state.active, answer.sentences.length - 1));
  if (answer.done && mine.keep) { remember(state); showHistory(); }
  if (first) {
    Object.assign(state, { asked, own }); /* questions about the previous answer may have changed these */
    app.questions.reset();
  }
  app.answer = Object.assign(answer, { question: mine.asked });
  if (first && state.auto) fillLanguages();
  showLanguage();
  app.view.toggleAttribute("still", mine.live);
  if (app.base() !== before) show(mine.live);
  else {
    showBoxes();
    showWhich();
    if (state.view === "compare") settle();
  }
  if (answer.done && answer.of === state.text) tell();
}
/* A screen reader hears the whole translation and its warnings. */
function tell() {
  const { hidden, children } = find("warnings"), says = hidden ? [] : [...children].map((one) => one.textContent);
  find("told").textContent = `${t(app.task().result)}: ${app.answer.text.slice(0, 500)} ${says.length
    ? `${t("Warnings")}: ${says.join(" ")}` : ""}`.trim();
}
/* How many pieces of a long text are translated, with a button that stops; without arguments, nothing. */
function progress(done, all) {
  const place = find("pieces");
  if (all === undefined) return place.replaceChildren();
  const bar = place.querySelector("progress") ?? el("progress", { "aria-label": t("Progress") });
  Object.assign(bar, { max: all, value: done });
  if (bar.isConnected) place.querySelector("span").textContent = t("{0} of {1}", count(done), count(all));
  else place.replaceChildren(bar, el("span", {}, t("{0} of {1}", count(done), count(all))), button(t("Stop"), () => {
    running.stopped = true;
    running.abort();
  }, { id: "stop" }));
}
function stopped(parts) {
  const done = parts.filter(({ answer }) => answer).length;
  running.question = "";
  find("pieces").replaceChildren(el("span", { role: "status" }, t("Stopped: {0} of {1} parts are translated.",
    count(done), count(parts.length))), button(t("Go on"), () => run(false), { id: "go-on" }));
  find("go-on").focus();
}
function tooLong(text) {
  take(null);
  busy(false);
  const as = button(t("Translate it as a file"), () => takeFiles(new File([text], "text.txt", { type: "text/plain" })),
    { id: "as-file" });
  fail(find("text-error"), new api.ApiError(413, { error: t("The text has {0} characters; the box takes {1}.",
    count(text.length), count(MOST)) }));
  find("text-error").append(el("span", { class: "again" }, as));
}
/* more: the text goes on, and that will be asked for. */
function busy(on, more = on) {
  find("reading").classList.toggle("busy", on);
  find("result").classList.toggle("busy", on);
  find("result").setAttribute("aria-busy", more);
}
/* Show the answer to the current text; null: there is none. */
function take(answer) {
  app.answer = answer;
  app.questions.reset();
  if (answer && app.state.auto) fillLanguages();
  showLanguage();
  show();
}
/* Show nodes instead of the translation; without nodes, show the translation again. */
function instead(...nodes) {
  find("result").hidden = nodes.length > 0;
  if (nodes.length) find("take").hidden = true;
  find("status").replaceChildren(...nodes);
}
function trouble(error, again) {
  const note = el("div", { class: "state", role: "alert" });
  instead(note);
  fail(note, error, again);
}
function waiting(text) {
  if (!app.answer || (text && !running?.live)) instead(el("p", { class: "text wait", dir: "auto" }, text));
}

/* ---- drawing ---- */

const tabs = document.querySelector(".tabs");
tabs.append(...Object.entries(PANELS).map(([name, [label]]) => button(t(label), () => open(name),
  { role: "tab", id: `tab-${name}`, "aria-controls": "panel" })));
function showTabs() {
  for (const tab of tabs.children) {
    const on = tab.id === `tab-${app.state.view}`;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
    tab.hidden = tab.id === "tab-heads" && !on && !hasHeads(app.model());
  }
}
function open(name) {
  app.state.view = name;
  app.remember();
  showPanel();
  showTabs();
}
tabs.addEventListener("keydown", (event) => {
  const names = Object.keys(PANELS).filter((name) => !find(`tab-${name}`).hidden), at = names.indexOf(app.state.view);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  open(names[(to + names.length) % names.length]);
  find(`tab-${app.state.view}`).focus();
  event.preventDefault();
});

function showPanel() {
  clearTimeout(settling);
  find("panel").removeAttribute("aria-busy");
  const panel = find("panel"), sentence = app.sentence(), focused = panel.contains(document.activeElement)
    && document.activeElement.id;
  find("detail").hidden = !sentence;
  panel.setAttribute("aria-labelledby", `tab-${app.state.view}`);
  panel.dataset.width = innerWidth; /* the width that it was drawn for */
  panel.replaceChildren();
  if (sentence) PANELS[app.state.view][1](panel, app);
  if (focused) find(focused)?.focus({ preventScroll: true });
}

const foreign = () => app.answer?.warnings.find(({ code }) => code === "language");
/* Say so if the model does not read the text's language, and offer one that does. */
function showLanguage() {
  const warning = foreign(), place = find("language");
  place.hidden = !warning;
  if (!warning) return;
  const { source, target } = chosen(), reader = readerOf(app.models, warning.language, app.model());
  place.replaceChildren(el("span", {}, t("This looks like {0}, not {1}.", languageName(warning.language),
    languageName(source))));
  if (reader) place.append(button(t("Translate from {0}", languageName(reader.source)), () => {
    app.state.auto = false;
    start({ ...fresh(), model: reader.name });
    find("from").focus();
  }));
  else if (app.had) place.append(button(t("How to get a model"), () => {
    app.wanted = { source: warning.language, target };
    start({});
  }));
}

const EMPTY = () => [el("p", { class: "text" }, t("Translation"))];
function showBoxes() {
  const { answer, state } = app, codes = chosen(), code = (one) => (!one || one.startsWith("x-") ? "" : one);
  instead(...(answer || !app.models.length ? [] : EMPTY().map((node) => el("div", { class: "state" }, node))));
  const whole = answer
    && { ...answer, sentences: answer.sentences.map((s, k) => (k === state.active ? app.sentence() : s)) };
  if (whole && whole.sentences[state.active] !== answer.sentences[state.active]) {
    const place = answer.places[state.active].target, before = answer.sentences[state.active].text,
      now = whole.sentences[state.active].text;
    whole.text = answer.text.slice(0, place) + now + answer.text.slice(place + before.length);
    whole.places = answer.places.map((one, k) => (k > state.active && one.target >= 0
      ? { ...one, target: one.target + now.length - before.length } : one));
  }
  boxes.draw(whole, [code(codes.source), code(codes.target)]);
  find("edit").hidden = !app.asks();
  find("own-text").hidden = !answer?.unedited;
  find("also-open").hidden = !(app.languages.find(({ code }) => code === answer?.source)?.targets.length > 1);
}
/* Navigation between the sentences of an answer. */
function showWhich() {
  const { answer, state } = app, many = answer?.sentences.length ?? 0, place = find("which"), step = (by, says, id) =>
    button(says, () => choose(state.active + by, -1, true), { id, disabled: !answer?.sentences[state.active + by] });
  place.hidden = many < 2;
  const focused = place.contains(document.activeElement) && document.activeElement.id;
  place.replaceChildren(...(many < 2 ? [] : [step(-1, t("Previous"), "previous"),
    el("span", {}, t("Sentence {0} of {1}", state.active + 1, many)), step(1, t("Next"), "next")]));
  if (focused) find(focused)?.focus();
}
let shown = -1, drawn = null, held = null; /* held: the active sentence and its pinned word while another is shown */
/* Show sentence k with its threads. */
function showReading(k = app.state.active) {
  const { view, state, answer } = app, s = k === state.active ? app.sentence() : answer?.sentences[k];
  find("reading").hidden = view.hidden = !s;
  shown = k;
  if (!s) { drawn = null; find("also").replaceChildren(); return; }
  if (s !== drawn) {
    if (k !== state.active && drawn === app.sentence()) held = { s: drawn, pinned: view.pinned };
    view.result = { ...answer, sentences: [s] };
    drawn = s;
    if (held?.s === s) view.pinned = held.pinned;
    if (k === state.active) held = null;
  }
  view.setAttribute("label", t(app.task().result));
  view.setAttribute("look", state.look);
  view.setAttribute("units", state.words ? "words" : "tokens");
  view.toggleAttribute("eos", state.eos);
  if (state.also && k === state.active) alsoInto();
}
const alsoInto = async () => (await load("./also.js")).showAlso(app);
/* Pointing at a word of the translation shows its sentence; afterwards the active sentence comes back. */
let peeking = 0;
function peek(k, i) {
  cancelAnimationFrame(peeking);
  peeking = requestAnimationFrame(() => {
    if (!app.answer?.sentences.length) return;
    const to = k < 0 ? app.state.active : k;
    if (to !== shown) showReading(to);
    app.view.point(k < 0 ? -1 : i);
  });
}
/* Choose word i of sentence k, or only the sentence if i < 0. node: its element, at which its panel opens. */
function choose(k, i, node) {
  if (k !== app.state.active) {
    Object.assign(app.state, { ...fresh(), seed: app.state.seed, active: k });
    app.questions.reset();
    app.remember();
    show();
  }
  if (i < 0) return;
  showReading();
  app.view.pinned = i;
  if (node) load("./wordpanel.js").then(({ openWord }) => openWord(app, i, node), () => {});
}
app.view.addEventListener("force", (event) => { event.preventDefault(); app.questions.force(event.detail); });
app.view.addEventListener("alternative", (event) => {
  event.preventDefault();
  app.questions.choose(event.detail.step, event.detail.token);
});

/* Explanations of what is shown. A model without an alignment head has only its attention. */
const SHOWS = { alignment: "Alignment: which source words each word was made from.",
  attention: "Attention: what the decoder looked at before it chose each word." };
/* Intermediate text of a translation by way of a pivot language. */
function through({ pivot, between }) {
  const code = app.models.find(({ name }) => name === pivot[1])?.source;
  return el("p", { class: "note", id: "through" }, t("By way of {0}: ", languageName(code)),
    el("q", { lang: code }, cut(between, 200)));
}
function showLook() {
  const { state } = app, place = find("look"), headless = state.look === "alignment" && !hasHead(app.model());
  place.hidden = !app.sentence()?.attention;
  find("remark").hidden = place.hidden || (state.words && state.look === "alignment");
  place.replaceChildren(
    group(t("What is shown"), LOOKS.map((look) => toggle(t(NAMES[look]), state.look === look, () => app.set({ look }),
      { id: `look-${look}` }))),
    note(t(headless ? "This model has no alignment head: what you see is its attention, which is often no alignment."
      : SHOWS[state.look])), ...(app.answer?.pivot ? [through(app.answer)] : []));
}

/* Draw the view once typing has paused. */
function settle() {
  clearTimeout(settling);
  find("panel").setAttribute("aria-busy", true);
  settling = setTimeout(showPanel, PAUSE_MS);
}
/* live: somebody is typing. */
function show(live = false) {
  const focused = find("look").contains(document.activeElement) && document.activeElement.id;
  showLook();
  if (focused) find(focused).focus({ preventScroll: true });
  showBoxes();
  showWhich();
  showReading();
  app.questions.show(find("answer"));
  if (live && ASKING.includes(app.state.view) && app.sentence()) settle();
  else showPanel();
  showTabs();
}

/* ---- start ---- */

/* Submit the form. Until the models are known it does nothing; begin() takes what was typed. */
function submit(keep, text) {
  if (!app.models.length) return;
  clearTimeout(typing);
  const before = app.state.text;
  readForm();
  const { answer } = app, step = keep || another(before, app.state.text), question = questionOf(text ?? app.state.text);
  if (!keep && answer?.done && answer.question === question) {
    running?.abort(); /* of a text that was there in between */
    running = null;
    return busy(false, (text ?? app.state.text) !== app.state.text);
  }
  if (running?.question !== question) return run(keep, step, text); /* else it is in flight */
  running.keep ||= keep;
  writeLink(app.state, step);
}
/* The user has used the translation, so the text goes into the list of past texts. */
function worthKeeping() {
  if (!app.answer?.done) return;
  remember(app.state);
  showHistory();
}
find("go").addEventListener("click", () => submit(true));
find("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
    event.preventDefault();
    submit(true);
  }
});
find("text").addEventListener("input", (event) => {
  boxes.typed();
  boxes.counted(MOST);
  soon(event.inputType === "insertText" && event.data?.length === 1);
});
find("text").addEventListener("paste", async ({ clipboardData }) => {
  const html = clipboardData.getData("text/html");
  if (!html) return;
  const { keep, copyRich } = await import("./paste.js");
  keep(html, find("text").value);
  boxes.rich = () => copyRich(app);
});
find("from").addEventListener("change", ({ target }) => {
  app.state.auto = target.value === "auto";
  const to = find("to").value, source = app.state.auto ? chosen().source : target.value;
  translateInto(source, source === to ? chosen().source : to);
});
find("to").addEventListener("change", ({ target }) => {
  const { source, target: before } = chosen();
  translateInto(source === target.value ? before : source, target.value);
});
/* Swap the languages. The translation becomes the source text, unless the text has changed since, or was not in the
 * selected language. */
find("swap").addEventListener("click", () => {
  const { source, target } = chosen(), { answer } = app, text = find("text").value;
  worthKeeping();
  app.state.auto = false;
  translateInto(target, source, answer?.done && answer.of === text && !foreign() ? answer.text : text);
});
find("clear").addEventListener("click", () => { start({ ...fresh(), text: "" }); find("text").focus(); });
find("copy").addEventListener("click", worthKeeping);
find("edit").addEventListener("click", async () => (await load("./edit.js")).edit(app, boxes));
find("also-open").addEventListener("click", async () => {
  await alsoInto();
  find("also-into")?.focus();
});
find("own-text").addEventListener("click", async () => (await load("./edit.js")).back(app));
find("share").addEventListener("click", async () => {
  await copy(app.link());
  boxes.say(inLink(app.state.text) ? t("Copied.") : t("Copied, without the text, which is too long for a link."));
  worthKeeping();
});
find("model").addEventListener("change", ({ target }) => {
  readForm();
  app.state.auto = false;
  start({ model: target.value });
});
for (const id of ["strategy", "beam", "glossary"]) find(id).addEventListener("change", () => {
  readForm();
  fillForm();
  run(true);
});
find("history").querySelector(".quiet").addEventListener("click", () => {
  forget();
  showHistory();
  find("text").focus();
});
const questions = ({ asked, active, own, edited } = app.state) => JSON.stringify([asked, active, own, edited]);
/* A link was opened, or Back was pressed. A translation that is already there is not asked for again. */
addEventListener("popstate", async () => {
  const before = asks(app.state), { edited } = app.state, was = questions();
  readLink(app.state, Object.keys(PANELS));
  app.wanted = null;
  if (before !== asks(app.state) || !app.answer) return start({});
  if (was === questions()) return show();
  app.questions.reset();
  const { asked, own } = app.state;
  if (edited !== app.state.edited) await (await load("./edit.js")).restore(app);
  else show();
  await app.questions.restore({ asked, own });
});
addEventListener("keydown", (event) => {
  if (event.key === "z" && (event.ctrlKey || event.metaKey) && !/^(TEXTAREA|INPUT)$/.test(event.target.tagName)
    && app.questions.undo()) event.preventDefault();
});
let resizing = 0, wide = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === wide) return; /* only the height changed: a phone's keyboard */
  wide = innerWidth;
  clearTimeout(resizing);
  resizing = setTimeout(() => { if (app.answer) showPanel(); }, 150);
});
/* On paper is the whole translation, with the drawing of each sentence, whose width does not depend on the paper. */
addEventListener("beforeprint", () => {
  const { answer, view, state } = app;
  if (!answer?.sentences.length) return;
  view.toggleAttribute("paper", true);
  view.setAttribute("theme", "light");
  view.result = { ...answer, sentences: answer.sentences.map((s, k) => (k === state.active ? app.sentence() : s)) };
  view.draw();
});
addEventListener("afterprint", () => {
  for (const name of ["paper", "theme"]) app.view.removeAttribute(name);
  drawn = null;
  showReading();
});
onTheme(() => { if (app.answer) showPanel(); });

find("help").addEventListener("beforetoggle", async ({ newState, target }) => {
  if (newState === "open") target.lastElementChild.replaceChildren((await import("./help.js")).helpMenu(PANELS, app));
});
/* Files are chosen, or dropped anywhere on the two boxes. The module for them is loaded with the first one. */
async function takeFiles(...files) {
  try {
    (await load("./files.js")).translateFiles(app, files);
  } catch {
    fail(find("text-error"), new api.ApiError(0));
  }
}
const zone = document.querySelector(".translator");
zone.addEventListener("dragover", (event) => {
  if (event.dataTransfer?.types.includes("Files")) { event.preventDefault(); zone.classList.add("over"); }
});
zone.addEventListener("dragleave", (event) => {
  if (!zone.contains(event.relatedTarget)) zone.classList.remove("over");
});
zone.addEventListener("drop", (event) => {
  zone.classList.remove("over");
  if (!event.dataTransfer.files[0]) return;
  event.preventDefault();
  takeFiles(...event.dataTransfer.files);
});
find("file").addEventListener("change", ({ target }) => {
  if (target.files[0]) takeFiles(...target.files);
  target.value = "";
});
find("speak").append(...LANGUAGES.map((code) => el("option", { value: code, lang: code },
  new Intl.DisplayNames([code], { type: "language" }).of(code))));
find("speak").value = spoken();
find("speak").addEventListener("change", ({ target }) => speakNext(target.value));

async function begin() {
  readLink(app.state, Object.keys(PANELS));
  showHistory();
  find("text").value ||= app.state.text;
  boxes.typed();
  instead(el("p", { class: "text wait" }, api.hasServer() ? "" : t("The model is loading")));
  try {
    const [models, languages, limit, formats] = await Promise.all([api.models(), api.languages(), api.limit(),
      api.formats()]);
    find("open-file").title = find("file").accept = formats.flatMap(({ extensions }) => extensions)
      .map((extension) => `.${extension}`).join();
    Object.assign(app, { models: [...models, ...pairsOf(models, languages)], languages, limit, formats });
  } catch (error) {
    return trouble(error, begin);
  }
  find("model").replaceChildren(...app.models.map((m) => el("option", { value: m.name }, m.name)));
  /* The models that can be downloaded; the list may be empty. */
  if (app.had) api.ask("/models/available").then(({ models: had }) => {
    app.had = had;
    if (had.length) fillLanguages();
  }, () => {});
  const typed = find("text").value;
  if (typed || location.hash) return start(typed === app.state.text ? {} : { ...fresh(), text: typed });
  /* First visit: translate an example. */
  Object.assign(app.state, { text: opening(app.models[0]), model: app.models[0]?.name ?? "" });
  fillForm();
  return run(false);
}
begin();
