/* The page's state and its parts. */
import { button, el, find, group, note, toggle } from "./dom.js";
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
import { task, examples, opening, pairsOf, readerOf, reverses } from "./task.js";
import { asks, fresh, writeLink, readLink, past, remember, forget, width } from "./memory.js";

/* A view whose module is loaded when it is first opened. */
function lazy(path, name) {
  let draw = null;
  return (panel, app) => {
    if (draw) return draw(panel, app);
    const wait = el("p", { class: "wait" }, "Opening"), again = () => app.showPanel();
    panel.append(wait);
    import(path).then((module) => { draw = module[name]; if (wait.isConnected) again(); }, () => wait.replaceWith(failure(new api.ApiError(0), again)));
  };
}

const PANELS = { map: ["Map", mapPanel], confidence: ["Confidence", confidencePanel], ask: ["Questions", questionsPanel],
  beam: ["Beam", lazy("./beam.js", "beamPanel")], compare: ["Compare", lazy("./compare.js", "comparePanel")],
  diagnostics: ["Diagnostics", lazy("./diagnostics.js", "diagnosticsPanel")], heads: ["Heads", lazy("./headview.js", "headsPanel")],
  why: ["Why", lazy("./why.js", "whyPanel")],
  links: ["Links", lazy("./links.js", "linksPanel")],
  corpus: ["Corpus", lazy("./corpus.js", "corpusPanel")],
  export: ["Export", lazy("./export.js", "exportPanel")] };
document.adoptedStyleSheets = [sharedSheet()];
const app = {
  state: { text: "", model: "", strategy: "beam", beam: 5, view: "map", threshold: 0 }, /* and what readLink() adds */
  models: [], languages: [], answer: null, questions: null, view: find("view"),
  base() { return this.answer?.sentences[this.state.active]; },
  sentence() { return this.questions?.current() ?? this.base(); },
  model() { return this.models.find((m) => m.name === this.state.model); },
  task() { return task(this.model()); },
  how() { return { words: this.state.words, eos: this.state.eos, look: this.state.look }; },
  search() { return api.search(this.model(), this.state); },
  /* Whether questions can be asked of the answer. */
  asks() { return !this.model()?.pair; },
  set(changes) { Object.assign(this.state, changes); this.remember(); show(); },
  remember(step = true) { writeLink(this.state, step); },
  show, showPanel, start, link: () => location.href,
};
app.questions = new Questions(app);

function showHistory() {
  const list = past();
  find("history").hidden = list.length === 0;
  find("history").querySelector("ol").replaceChildren(...list.map(({ text, model }) =>
    el("li", {}, button(text.slice(0, 90), () => start({ ...fresh(), text, model }), { dir: "auto" }))));
}

/* ---- the form ---- */

function fillForm() {
  const { state } = app;
  find("text").value = state.text;
  find("model").value = state.model;
  find("strategy").value = state.strategy;
  find("beam").value = state.beam;
  find("beam-field").hidden = state.strategy !== "beam";
  find("go").textContent = app.task().act;
  find("reading").setAttribute("aria-label", app.task().result);
  find("examples").replaceChildren(...examples(app.model()).map((text) => button(text, () => start({ ...fresh(), text }))));
}
function readForm() {
  Object.assign(app.state, { ...fresh(), text: find("text").value, model: find("model").value, strategy: find("strategy").value,
    beam: width(find("beam").value) });
}
function start(changes) {
  Object.assign(app.state, changes);
  if (!app.models.some((m) => m.name === app.state.model)) app.state.model = app.models[0]?.name ?? "";
  fillForm();
  return run(true, Object.keys(changes).length > 0);
}

/* ---- asking the daemon ---- */

let running = null, typing = 0;
/* keep: in the history of texts; step: it is one that Back takes back. */
async function run(keep, step = keep) {
  clearTimeout(typing); /* what is asked now has been typed by now */
  running?.abort();
  app.questions.cancel();
  const { text, asked, own } = app.state;
  find("text-error").hidden = true;
  if (app.state.strategy === "sample") app.state.seed ??= Math.floor(Math.random() * 2 ** 32); /* so that questions and the link throw the same dice */
  const some = text.trim(), mine = (running = Object.assign(new AbortController(), { question: some && asks(app.state), keep }));
  writeLink(app.state, step);
  document.title = some ? `${some.slice(0, 60)} \u2013 alignd` : "alignd";
  busy(some !== "");
  if (!some) return take(null);
  const slow = setTimeout(() => waiting(""), 250);
  const onText = app.asks() && ["greedy", "sample"].includes(app.state.strategy) ? (part) => { clearTimeout(slow); waiting(part); } : undefined;
  try {
    const answer = await api.decode({ text, ...app.search() }, { path: "/translate", onText, signal: mine.signal }).finally(() => { mine.question = ""; });
    if (running !== mine) return;
    Object.assign(app.state, { asked, own }); /* meanwhile others may have been asked of the sentences before */
    app.state.active = Math.max(0, Math.min(app.state.active, answer.sentences.length - 1));
    if (mine.keep) { remember(app.state); showHistory(); }
    take({ ...answer, of: text });
    if (answer.sentences.length) await app.questions.restore({ asked, own });
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    if (!(error instanceof api.ApiError)) throw error;
    take(null);
    if (error.status === 400 || error.status === 413) fail(find("text-error"), error);
    else trouble(error, () => run(mine.keep, step));
  } finally {
    clearTimeout(slow);
    if (running === mine) busy(false);
  }
}
function busy(on) {
  find("reading").classList.toggle("busy", on);
  find("reading").setAttribute("aria-busy", on);
}
/* The answer to what is in the box; null: there is none. */
function take(answer) {
  app.answer = answer;
  app.questions.reset();
  showLanguage();
  show();
}
/* In place of the translation. */
function instead(...nodes) {
  app.view.hidden = nodes.length > 0;
  find("status").replaceChildren(...nodes);
}
function trouble(error, again) {
  const note = el("div", { class: "state", role: "alert" });
  instead(note);
  fail(note, error, again);
}
function waiting(text) {
  if (!app.answer || text) instead(el("p", { class: "line target wait", dir: "auto" }, text));
}

/* ---- drawing ---- */

const tabs = document.querySelector(".tabs");
tabs.append(...Object.entries(PANELS).map(([name, [label]]) => button(label, () => open(name), { role: "tab", id: `tab-${name}`, "aria-controls": "panel" })));
function showTabs() {
  for (const tab of tabs.children) {
    const on = tab.id === `tab-${app.state.view}`;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
    tab.hidden = tab.id === "tab-heads" && !on && !hasHeads(app.model());
    if (on) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
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
  const panel = find("panel"), sentence = app.sentence(), focused = panel.contains(document.activeElement) && document.activeElement.id;
  find("detail").hidden = !sentence;
  panel.setAttribute("aria-labelledby", `tab-${app.state.view}`);
  panel.replaceChildren();
  if (sentence) PANELS[app.state.view][1](panel, app);
  if (focused) find(focused)?.focus({ preventScroll: true });
}

const foreign = () => app.answer?.warnings.find(({ code }) => code === "language");
/* The text is in another language than the model reads: says so, and offers a model that reads it. */
function showLanguage() {
  const warning = foreign(), place = find("language");
  place.hidden = !warning;
  if (!warning) return;
  const reader = readerOf(app.models, warning.language, app.model()), ask = () => { start({ ...fresh(), model: reader.name }); find("model").focus(); };
  place.replaceChildren(`Note: ${warning.message}.`);
  if (reader) place.append(button(`Translate with ${reader.name}`, ask));
}

const EMPTY = [el("strong", {}, "See what each word was made from."), el("p", {}, "Type a sentence above or choose an example. Then point at a word of the translation: what it is aligned with lights up.")];
function showReading() {
  const { view, state, answer } = app;
  if (!answer) return instead(el("div", { class: "state" }, app.models.length ? EMPTY : []));
  const sentences = answer.sentences.map((base, k) => (k === app.state.active ? app.sentence() : base)), shown = view.result?.sentences ?? [];
  instead();
  if (sentences.length !== shown.length || sentences.some((s, k) => s !== shown[k])) Object.assign(view, { result: { ...answer, sentences }, active: app.state.active });
  view.setAttribute("label", app.task().result);
  view.setAttribute("look", state.look);
  view.setAttribute("units", state.words ? "words" : "tokens");
  view.toggleAttribute("eos", state.eos);
}
app.view.addEventListener("wordselect", ({ detail: { sentence, pinned } }) => {
  if (sentence === app.state.active) return;
  Object.assign(app.state, { ...fresh(), seed: app.state.seed, active: sentence });
  app.questions.reset();
  app.remember();
  show();
  app.view.pinned = pinned;
});
app.view.addEventListener("force", (event) => { event.preventDefault(); app.questions.force(event.detail); });
app.view.addEventListener("alternative", (event) => { event.preventDefault(); app.questions.choose(event.detail.step, event.detail.token); });

/* What is shown, in words: a model without an alignment head has nothing but its attention. */
const SHOWS = { alignment: "Alignment: which source words each word was made from.", attention: "Attention: what the decoder looked at before it chose each word." };
/* What the first of two models made of the text, which the second one read. */
function through({ pivot, between }) {
  const code = app.models.find(({ name }) => name === pivot[1])?.source, { name } = app.languages.find((one) => one.code === code) ?? { name: code };
  return el("p", { class: "note", id: "through" }, `By way of ${name}: `, el("q", { lang: code }, cut(between, 200)));
}
function showLook() {
  const { state } = app, place = find("look"), headless = state.look === "alignment" && !hasHead(app.model());
  place.hidden = !app.sentence()?.attention;
  place.replaceChildren(
    group("What is shown", LOOKS.map((look) => toggle(NAMES[look], state.look === look, () => app.set({ look }), { id: `look-${look}` }))),
    note(headless ? "This model has no alignment head: what you see is its attention, which is often no alignment." : SHOWS[state.look]), ...(app.answer?.pivot ? [through(app.answer)] : []));
}

function show() {
  const focused = find("look").contains(document.activeElement) && document.activeElement.id;
  showLook();
  if (focused) find(focused).focus({ preventScroll: true });
  showReading();
  app.questions.show(find("answer"));
  showPanel();
  showTabs();
}

/* ---- beginning ---- */

if (!CSS.supports("field-sizing", "content")) {
  find("text").addEventListener("input", ({ target }) => { target.style.height = "auto"; target.style.height = `${target.scrollHeight}px`; });
}

/* Before the models are known, what is typed waits for them. */
function submit(keep) {
  if (!app.models.length) return;
  clearTimeout(typing);
  readForm();
  if (running?.question !== asks(app.state)) return run(keep); /* else it is being asked already */
  running.keep ||= keep;
  writeLink(app.state, keep);
}
find("form").addEventListener("submit", (event) => { event.preventDefault(); submit(true); });
find("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); find("form").requestSubmit(); }
});
find("text").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => submit(false), 450);
});
/* The other direction: what has just been translated goes back. */
find("model").addEventListener("change", ({ target }) => {
  const next = app.models.find((m) => m.name === target.value), { answer } = app;
  if (answer && answer.of === find("text").value && !foreign() && reverses(app.model(), next)) find("text").value = answer.text;
});
for (const id of ["model", "strategy", "beam"]) find(id).addEventListener("change", () => { readForm(); fillForm(); run(true); });
find("history").querySelector(".quiet").addEventListener("click", () => { forget(); showHistory(); find("text").focus(); });
/* A link, or Back: what has been translated already is not asked for again. */
addEventListener("hashchange", async () => {
  const before = asks(app.state), questions = () => JSON.stringify([app.state.asked, app.state.active, app.state.own]), was = questions();
  readLink(app.state, Object.keys(PANELS));
  if (before !== asks(app.state) || !app.answer) return start({});
  if (was === questions()) return show();
  app.questions.reset();
  show();
  await app.questions.restore(app.state);
});
addEventListener("keydown", (event) => {
  if (event.key === "z" && (event.ctrlKey || event.metaKey) && !/^(TEXTAREA|INPUT)$/.test(event.target.tagName) && app.questions.undo()) event.preventDefault();
});
let resizing = 0, wide = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === wide) return; /* a keyboard on a phone */
  wide = innerWidth;
  clearTimeout(resizing);
  resizing = setTimeout(() => { if (app.answer) showPanel(); }, 150);
});
onTheme(() => { if (app.answer) showPanel(); });

find("help").addEventListener("beforetoggle", async ({ newState, target }) => {
  if (newState === "open") target.lastElementChild.replaceChildren((await import("./help.js")).helpMenu(PANELS));
});

async function begin() {
  readLink(app.state, Object.keys(PANELS));
  showHistory();
  find("text").value ||= app.state.text;
  instead(el("p", { class: "line target wait" }));
  try {
    const [models, languages] = await Promise.all([api.models(), api.languages()]);
    Object.assign(app, { models: [...models, ...pairsOf(models, languages)], languages });
  } catch (error) {
    return trouble(error, begin);
  }
  find("model").replaceChildren(...app.models.map((m) => el("option", { value: m.name }, m.name)));
  const typed = find("text").value;
  if (typed || location.hash) return start(typed === app.state.text ? {} : { ...fresh(), text: typed });
  Object.assign(app.state, { text: opening(app.models[0]), model: app.models[0]?.name ?? "" }); /* the first visit: something to see */
  fillForm();
  return run(false);
}
begin();
