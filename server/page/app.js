/* State of the page, and the code that connects its parts. */
import { button, copy, el, find, group, note, toggle } from "./dom.js";
import { onTheme } from "./colour.js";
import * as api from "./api.js";
import { sharedSheet } from "./sheet.js";
import { hasHead, hasHeads, LOOKS } from "./sentence.js";
import "./element.js";
import { cut, NAMES } from "./map.js";
import { mapPanel } from "./mapview.js";
import { confidencePanel } from "./confidence.js";
import { Questions, questionsPanel } from "./questions.js";
import { fail, failure } from "./trouble.js";
import { task, examples, modelFor, opening, pairsOf, readerOf, translates } from "./task.js";
import { asks, fresh, writeLink, readLink, past, remember, forget, width } from "./memory.js";
import { spoken, t } from "./say.js";
import { LANGUAGES, languageName, speak, speakNext, translatePage, count } from "./speak.js";
import { pieces, together } from "./pieces.js";
import { languageLists, missing, Translator } from "./translator.js";

await speak();
translatePage();

/* A view whose module is loaded when it is first opened. */
function lazy(path, name) {
  let draw = null;
  return (panel, app) => {
    if (draw) return draw(panel, app);
    const wait = el("p", { class: "wait" }, t("Opening")), again = () => app.showPanel();
    panel.append(wait);
    import(path).then((module) => {
      draw = module[name];
      if (wait.isConnected) again();
    }, () => wait.replaceWith(failure(new api.ApiError(0), again)));
  };
}

const PANELS = { map: ["Map", mapPanel], confidence: ["Confidence", confidencePanel],
  ask: ["Questions", questionsPanel],
  beam: ["Beam", lazy("./beam.js", "beamPanel")], compare: ["Compare", lazy("./compare.js", "comparePanel")],
  diagnostics: ["Diagnostics", lazy("./diagnostics.js", "diagnosticsPanel")],
  heads: ["Heads", lazy("./headview.js", "headsPanel")],
  why: ["Why", lazy("./why.js", "whyPanel")],
  links: ["Links", lazy("./links.js", "linksPanel")],
  corpus: ["Corpus", lazy("./corpus.js", "corpusPanel")],
  export: ["Export", lazy("./export.js", "exportPanel")] };
document.adoptedStyleSheets = [sharedSheet()];
const app = {
  state: { text: "", model: "", strategy: "beam", beam: 5, view: "map", threshold: 0 }, /* plus what readLink() sets */
  /* wanted: a language pair that no model here translates. */
  models: [], languages: [], limit: 0, answer: null, questions: null, view: find("view"), wanted: null,
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
  show, showPanel, start, link: () => location.href,
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
  boxes.counted(app.limit);
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
  find("examples").replaceChildren(...examples(model).map((text) => button(text, () => start({ ...fresh(), text }))));
}
function fillLanguages() {
  const { auto } = app.state, model = app.model(), { source, target } = chosen(),
    others = app.models.filter((one) => !translates(one) && one.source === source)
    .map(({ name, ...one }) => ({ value: `model:${name}`, label: `${t(task(one).result)} (${name})` }));
  languageLists(app.languages, { source, target: !app.wanted && model && !translates(model) ? `model:${model.name}`
    : target, auto, detected: app.answer && auto && source }, others);
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

let running = null, typing = 0;
const answered = new Map(), KEPT = 200; /* cached replies to pieces of long texts; the most that are kept */

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
async function pieceOf(text, many, options) {
  const key = JSON.stringify([text, app.search()]), known = many && answered.get(key);
  if (known) return known;
  const answer = await api.decode({ text, ...app.search() }, { path: "/translate", ...options });
  if (!many) return answer;
  if (answered.size >= KEPT) answered.delete(answered.keys().next().value);
  answered.set(key, answer);
  return answer;
}
/* keep: add the text to the list of past texts; step: add an entry to the browser's history. */
async function run(keep, step = keep) {
  clearTimeout(typing); /* this request already covers what was typed */
  running?.abort();
  app.questions.cancel();
  const { text, asked, own } = app.state;
  find("text-error").hidden = true;
  /* Fix the seed, so that questions and the shared link sample the same translation. */
  if (app.state.strategy === "sample") app.state.seed ??= Math.floor(Math.random() * 2 ** 32);
  const some = text.trim(),
    mine = (running = Object.assign(new AbortController(), { question: some && asks(app.state), keep })),
    { signal } = mine;
  writeLink(app.state, step);
  document.title = some ? `${some.slice(0, 60)} \u2013 alignd` : "alignd";
  busy(some !== "");
  if (!some) return take(null);
  if (app.limit && text.length > app.limit) return tooLong(text.length);
  const slow = setTimeout(() => waiting(""), 250);
  try {
    if (app.state.auto) {
      await detect(signal);
      if (running !== mine) return;
      mine.question = asks(app.state);
      fillChoices();
      writeLink(app.state);
    }
    if (app.wanted) { clearTimeout(slow); take(null); return instead(missing(app.wanted.source, app.wanted.target)); }
    const list = app.state.whole ? [{ start: 0, text }] : pieces(text), parts = [];
    const onText = list.length === 1 && app.asks() && ["greedy", "sample"].includes(app.state.strategy) ? (part) => {
      clearTimeout(slow);
      waiting(part);
    } : undefined;
    for (const piece of list) {
      const answer = await pieceOf(piece.text, list.length > 1, { onText, signal });
      if (running !== mine) return;
      parts.push({ ...piece, answer });
      const done = parts.length === list.length;
      if (done) mine.question = "";
      arrive(together(text, parts, done), { asked, own, first: parts.length === 1, keep: mine.keep });
    }
    if (app.answer.sentences.length) await app.questions.restore({ asked, own });
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    if (!(error instanceof api.ApiError)) throw error;
    mine.question = "";
    take(null);
    if (error.status === 400 || error.status === 413) fail(find("text-error"), error);
    else trouble(error, () => run(mine.keep, step));
  } finally {
    clearTimeout(slow);
    if (running === mine) busy(false);
  }
}
/* Show an answer, or the part of it that has arrived. The active sentence is drawn as soon as it is there. */
function arrive(answer, { asked, own, first, keep }) {
  const { state } = app;
  if (answer.done) state.active = Math.max(0, Math.min(state.active, answer.sentences.length - 1));
  if (answer.done && keep) { remember(state); showHistory(); }
  const there = app.answer && !first && app.answer.sentences[state.active];
  if (first) {
    Object.assign(state, { asked, own }); /* questions about the previous answer may have changed these */
    return take(answer);
  }
  app.answer = answer;
  showBoxes();
  showWhich();
  if (!there && answer.sentences[state.active]) show();
}
function tooLong(length) {
  take(null);
  busy(false);
  fail(find("text-error"),
    new api.ApiError(413,
    { error: t("The text has {0} characters; this server takes {1}.", count(length), count(app.limit)) }));
}
function busy(on) {
  find("reading").classList.toggle("busy", on);
  find("result").classList.toggle("busy", on);
  find("result").setAttribute("aria-busy", on);
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
  if (!app.answer || text) instead(el("p", { class: "text wait", dir: "auto" }, text));
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
/* If the text is not in the language that the model reads, say so, and offer a model that reads it. */
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
  else place.append(button(t("How to get a model"), () => {
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
  boxes.draw(whole, [code(codes.source), code(codes.target)], app.limit);
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
let shown = -1, drawn = null;
/* Show sentence k with its threads. */
function showReading(k = app.state.active) {
  const { view, state, answer } = app, s = k === state.active ? app.sentence() : answer?.sentences[k];
  find("reading").hidden = view.hidden = !s;
  shown = k;
  if (!s) { drawn = null; return; }
  if (s !== drawn) { view.result = { ...answer, sentences: [s] }; drawn = s; }
  view.setAttribute("label", t(app.task().result));
  view.setAttribute("look", state.look);
  view.setAttribute("units", state.words ? "words" : "tokens");
  view.toggleAttribute("eos", state.eos);
}
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
/* Choose word i of sentence k, or only the sentence if i < 0. */
function choose(k, i) {
  if (k !== app.state.active) {
    Object.assign(app.state, { ...fresh(), seed: app.state.seed, active: k });
    app.questions.reset();
    app.remember();
    show();
  }
  if (i < 0) return;
  showReading();
  app.view.pinned = i;
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

function show() {
  const focused = find("look").contains(document.activeElement) && document.activeElement.id;
  showLook();
  if (focused) find(focused).focus({ preventScroll: true });
  showBoxes();
  showWhich();
  showReading();
  app.questions.show(find("answer"));
  showPanel();
  showTabs();
}

/* ---- start ---- */

/* Submit the form. Until the models are known this does nothing; begin() then takes what was typed. */
function submit(keep) {
  if (!app.models.length) return;
  clearTimeout(typing);
  readForm();
  if (running?.question !== asks(app.state)) return run(keep); /* else the same request is in flight */
  running.keep ||= keep;
  writeLink(app.state, keep);
}
/* The user has done something with the translation, so the text goes into the list of past texts. */
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
find("text").addEventListener("input", () => {
  boxes.typed();
  boxes.counted(app.limit);
  clearTimeout(typing);
  typing = setTimeout(() => submit(false), 450);
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
find("share").addEventListener("click", async () => {
  await copy(app.link());
  boxes.say(t("Copied."));
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
/* A link was opened, or Back was pressed. Do not repeat the request for a translation that is already there. */
addEventListener("hashchange", async () => {
  const before = asks(app.state), questions = () => JSON.stringify([app.state.asked, app.state.active, app.state.own]),
    was = questions();
  readLink(app.state, Object.keys(PANELS));
  app.wanted = null;
  if (before !== asks(app.state) || !app.answer) return start({});
  if (was === questions()) return show();
  app.questions.reset();
  show();
  await app.questions.restore(app.state);
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
onTheme(() => { if (app.answer) showPanel(); });

find("help").addEventListener("beforetoggle", async ({ newState, target }) => {
  if (newState === "open") target.lastElementChild.replaceChildren((await import("./help.js")).helpMenu(PANELS, app));
});
/* Files are chosen, or dropped anywhere on the two boxes. The module for them is loaded with the first one. */
async function takeFile(file) {
  try {
    (await import("./files.js")).translateFile(app, file);
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
  takeFile(event.dataTransfer.files[0]);
});
find("file").addEventListener("change", ({ target }) => {
  if (target.files[0]) takeFile(target.files[0]);
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
  instead(el("p", { class: "text wait" }));
  try {
    const [models, languages, [limit, files]] = await Promise.all([api.models(), api.languages(), api.settings()]);
    find("open-file").title = find("file").accept = files.join();
    Object.assign(app, { models: [...models, ...pairsOf(models, languages)], languages, limit });
  } catch (error) {
    return trouble(error, begin);
  }
  find("model").replaceChildren(...app.models.map((m) => el("option", { value: m.name }, m.name)));
  const typed = find("text").value;
  if (typed || location.hash) return start(typed === app.state.text ? {} : { ...fresh(), text: typed });
  /* First visit: translate an example. */
  Object.assign(app.state, { text: opening(app.models[0]), model: app.models[0]?.name ?? "" });
  fillForm();
  return run(false);
}
begin();
