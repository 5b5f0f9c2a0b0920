/* The page's state and its parts. */
import { el, find } from "./dom.js";
import { onTheme } from "./colour.js";
import * as api from "./api.js";
import { hasHead, LOOKS, tokensOf } from "./sentence.js";
import { pair } from "./reading.js";
import { sayMost } from "./say.js";
import { NAMES } from "./map.js";
import { mapPanel } from "./mapview.js";
import { confidencePanel, alternatives } from "./confidence.js";
import { Questions, questionsPanel } from "./questions.js";
import { beamPanel } from "./beam.js";
import { comparePanel } from "./compare.js";
import { diagnosticsPanel } from "./diagnostics.js";
import { exportPanel } from "./export.js";
import { fail } from "./trouble.js";
import { task, examples, opening } from "./task.js";
import { writeLink, readLink, past, remember, forget, width } from "./memory.js";

const PANELS = { map: ["Map", mapPanel], confidence: ["Confidence", confidencePanel], ask: ["Questions", questionsPanel],
  beam: ["Beam", beamPanel], compare: ["Compare", comparePanel], diagnostics: ["Diagnostics", diagnosticsPanel], export: ["Export", exportPanel] };
const app = {
  state: { text: "", model: "", strategy: "beam", beam: 5, view: "map", look: LOOKS[0], words: true, eos: false, lines: false, threshold: 0, asTable: false },
  models: [], answer: null, active: 0, pinned: -1,
  questions: null,
  base() { return this.answer?.sentences[this.active]; },
  sentence() { return this.questions?.current() ?? this.base(); },
  model() { return this.models.find((m) => m.name === this.state.model); },
  task() { return task(this.model()); },
  how() { return { words: this.state.words, eos: this.state.eos, look: this.state.look }; },
  search() { return api.search(this.state); },
  set(changes) { Object.assign(this.state, changes); this.pinned = -1; writeLink(this.state); show(); },
  show, showPanel, link: () => location.href,
};
app.questions = new Questions(app);

function showHistory() {
  const list = past();
  find("history").hidden = list.length === 0;
  find("history").querySelector("ol").replaceChildren(...list.map(({ text, model }) =>
    el("li", {}, el("button", { type: "button", dir: "auto", onclick: () => start({ text, model }) }, text.slice(0, 90)))));
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
  find("examples").replaceChildren(...examples(app.model()).map((text) => el("button", { type: "button", onclick: () => start({ text }) }, text)));
}
function readForm() {
  Object.assign(app.state, { seed: undefined, text: find("text").value, model: find("model").value, strategy: find("strategy").value,
    beam: width(find("beam").value) });
}
function start(changes) {
  Object.assign(app.state, changes);
  if (!app.models.some((m) => m.name === app.state.model)) app.state.model = app.models[0]?.name ?? "";
  fillForm();
  return run(true);
}

/* ---- asking the daemon ---- */

let running = null, typing = 0;
async function run(keep) {
  clearTimeout(typing); /* what is asked now has been typed by now */
  running?.abort();
  const mine = (running = new AbortController()), { text, model } = app.state;
  find("text-error").hidden = true;
  if (app.state.strategy === "sample") app.state.seed ??= Math.floor(Math.random() * 2 ** 32); /* so that questions and the link throw the same dice */
  writeLink(app.state);
  if (!text.trim()) { app.answer = null; app.questions.reset(); return show(); }
  find("reading").classList.add("busy");
  find("reading").setAttribute("aria-busy", "true");
  const slow = setTimeout(() => waiting(""), 250);
  const onText = app.state.strategy === "greedy" || app.state.strategy === "sample" ? (part) => { clearTimeout(slow); waiting(part); } : undefined;
  try {
    const answer = await api.decode({ text, ...app.search() }, { path: "/translate", onText, signal: mine.signal });
    if (running !== mine) return;
    Object.assign(app, { answer, active: 0, pinned: -1, fresh: true });
    app.questions.reset();
    if (keep) { remember(app.state); showHistory(); }
    clearTimeout(slow);
    show();
    app.fresh = false;
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    if (!(error instanceof api.ApiError)) throw error;
    app.answer = null;
    app.questions.reset();
    clearTimeout(slow);
    show();
    if (error.status === 400 || error.status === 413) fail(find("text-error"), error);
    else trouble(error, () => run(keep));
  } finally {
    clearTimeout(slow);
    if (running === mine) {
      find("reading").classList.remove("busy");
      find("reading").removeAttribute("aria-busy");
    }
  }
}
/* In place of the translation. */
function trouble(error, again) {
  const note = el("div", { class: "state", role: "alert" });
  find("reading").replaceChildren(note);
  fail(note, error, again);
}
function waiting(text) {
  if (!app.answer || text) find("reading").replaceChildren(el("p", { class: "line target wait", dir: "auto" }, text));
}

/* ---- drawing ---- */

const tabs = document.querySelector(".tabs");
tabs.append(...Object.entries(PANELS).map(([name, [label]]) => el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", onclick: () => open(name) }, label)));
function showTabs() {
  for (const tab of tabs.children) {
    const on = tab.id === `tab-${app.state.view}`;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
    if (on) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
  }
}
function open(name) {
  app.state.view = name;
  writeLink(app.state);
  showPanel();
  showTabs();
}
tabs.addEventListener("keydown", (event) => {
  const names = Object.keys(PANELS), at = names.indexOf(app.state.view);
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

function hint(...what) {
  find("hint").replaceChildren(...what);
}
function idle() {
  const { state } = app;
  const waits = app.sentence()?.attention ? `Point at a word to see ${state.look === "alignment" ? "what it is aligned with" : "where it looks"}. Choose a ${app.task().word} to explore it.` : "This model has no attention to show.";
  hint(app.sentence() ? waits : "");
}

function onTarget(unit, i) {
  app.pinned = app.pinned === i ? -1 : i;
  showReading();
  find("reading").querySelectorAll(".active .target .unit")[i]?.focus();
}
function pinnedHint(s, view, i) {
  const row = view.rows[i], step = tokensOf(row)[0];
  hint(el("span", {}, ...sayMost(view, i), ". Choose a source word to make it look there, or see "),
    el("button", { type: "button", id: "see", onclick: (event) => alternatives(app, s, step, event.currentTarget) }, "its alternatives"),
    el("button", { type: "button", onclick: () => onTarget(row, app.pinned) }, "Unpin"));
}

function showReading() {
  const place = find("reading");
  if (!app.answer) {
    const text = app.models.length ? [el("strong", {}, "See what each word was made from."), el("p", {}, "Type a sentence above or choose an example. Then point at a word of the translation: the source words that it is aligned with light up.")] : [];
    place.replaceChildren(el("div", { class: "state" }, ...text));
    hint("");
    return;
  }
  const { source, target } = app.model(), langs = [source, target].map((code) => (code.startsWith("x-") ? "" : code)), how = { ...app.how(), langs, result: app.task().result };
  place.classList.toggle("many", app.answer.sentences.length > 1);
  place.classList.toggle("fresh", !!app.fresh);
  place.replaceChildren(...app.answer.sentences.map((base, k) => {
    const active = k === app.active, s = active ? app.sentence() : base;
    const node = pair(s, how, {
      pinned: active ? app.pinned : -1,
      onSelect: () => { if (!active) { app.active = k; app.pinned = -1; app.questions.reset(); } },
      onTarget: (...args) => { onTarget(...args); if (!active) showPanel(); },
      onSource: (unit) => { if (active && app.pinned >= 0) app.questions.force(app.pinned, tokensOf(unit)); else if (!active) show(); },
      hinted: (view, i) => {
        if (!view) { if (app.pinned < 0) idle(); }
        else if (active && app.pinned >= 0) pinnedHint(s, view, i);
        else hint(el("span", {}, ...sayMost(view, i)));
      },
    });
    node.classList.toggle("active", active);
    return node;
  }));
  if (app.pinned < 0) idle();
}

/* What is shown, in words: a model that was not trained to align has nothing but its attention. */
const SHOWS = { alignment: "Alignment: which source words each word was made from.", attention: "Attention: what the decoder looked at before it chose each word." };
function showLook() {
  const { state } = app, place = find("look"), untrained = state.look === "alignment" && !hasHead(app.model());
  place.hidden = !app.sentence()?.attention;
  place.replaceChildren(
    el("div", { class: "group", role: "group", "aria-label": "What is shown" }, LOOKS.map((look) =>
      el("button", { type: "button", id: `look-${look}`, "aria-pressed": String(state.look === look), onclick: () => app.set({ look }) }, NAMES[look]))),
    el("p", { class: "note" }, untrained ? "This model was not trained to align: what you see is its attention, and often wrong." : SHOWS[state.look]));
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
  readForm();
  run(keep);
}
find("form").addEventListener("submit", (event) => { event.preventDefault(); submit(true); });
find("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); find("form").requestSubmit(); }
});
find("text").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => submit(false), 450);
});
for (const id of ["model", "strategy", "beam"]) find(id).addEventListener("change", () => { readForm(); fillForm(); run(true); });
find("history").querySelector(".quiet").addEventListener("click", () => { forget(); showHistory(); find("text").focus(); });
addEventListener("hashchange", () => { readLink(app.state, Object.keys(PANELS)); start({}); });
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && app.pinned >= 0 && !find("popover").matches(":popover-open")) onTarget(null, app.pinned);
  if (event.key === "z" && (event.ctrlKey || event.metaKey) && !/^(TEXTAREA|INPUT)$/.test(event.target.tagName) && app.questions.undo()) event.preventDefault();
});
let resizing = 0, wide = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === wide) return; /* a keyboard on a phone */
  wide = innerWidth;
  if (find("popover").matches(":popover-open")) find("popover").hidePopover();
  clearTimeout(resizing);
  resizing = setTimeout(() => { if (app.answer) showPanel(); }, 150);
});
onTheme(() => { if (app.answer) showPanel(); });

async function begin() {
  readLink(app.state, Object.keys(PANELS));
  showHistory();
  find("text").value ||= app.state.text;
  find("reading").replaceChildren(el("p", { class: "line target wait" }, ""));
  try {
    app.models = await api.models();
  } catch (error) {
    return trouble(error, begin);
  }
  find("model").replaceChildren(...app.models.map((m) => el("option", { value: m.name }, m.name)));
  const typed = find("text").value;
  if (typed || location.hash) return start({ text: typed });
  Object.assign(app.state, { text: opening(app.models[0]), model: app.models[0]?.name ?? "" }); /* the first visit: something to see */
  fillForm();
  return run(false);
}
begin();
