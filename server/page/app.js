/* The page's state and its parts. */
import { el, find } from "./dom.js";
import { onTheme } from "./colour.js";
import * as api from "./api.js";
import { pair, looks } from "./reading.js";
import { attentionPanel } from "./attention.js";
import { confidencePanel, alternatives } from "./confidence.js";
import { Questions, questionsPanel } from "./questions.js";
import { beamPanel } from "./beam.js";
import { comparePanel } from "./compare.js";
import { diagnosticsPanel } from "./diagnostics.js";
import { exportPanel } from "./export.js";

const PANELS = { attention: ["Attention", attentionPanel], confidence: ["Confidence", confidencePanel], ask: ["Questions", questionsPanel],
  beam: ["Beam", beamPanel], compare: ["Compare", comparePanel], diagnostics: ["Diagnostics", diagnosticsPanel], export: ["Export", exportPanel] };
const EXAMPLES = {
  en: ["Where is the train station?", "A boy plays in the snow.", "I have never been so happy in my life.", "She gave him the book that he had lost."],
  fr: ["Où se trouve la gare ?", "Un garçon joue dans la neige.", "Je ne l'ai jamais vu aussi heureux.", "Il faut que tu viennes demain."],
  "x-geoquery": ["What is the population of Zurich?", "Which rivers run through Texas?", "What is the highest mountain in Alaska?"],
};
const KEEP = 20;

const app = {
  state: { text: "", model: "", strategy: "beam", beam: 5, view: "attention", words: true, eos: false, lines: false, threshold: 0, asTable: false },
  models: [], answer: null, active: 0, pinned: -1,
  questions: null,
  base() { return this.answer?.sentences[this.active]; },
  sentence() { return this.questions?.current() ?? this.base(); },
  how() { return { words: this.state.words, eos: this.state.eos }; },
  search() { return api.search(this.state); },
  set(changes) { Object.assign(this.state, changes); this.pinned = -1; write(); show(); },
  show, fail, link: () => location.href,
};
app.questions = new Questions(app);

/* ---- the URL's fragment and the history ---- */

const STORED = { text: "t", model: "m", strategy: "s", beam: "b", view: "v" };
function write() {
  const parts = new URLSearchParams();
  for (const [name, key] of Object.entries(STORED)) parts.set(key, app.state[name]);
  if (app.state.strategy === "sample" && app.state.seed !== undefined) parts.set("seed", app.state.seed);
  for (const name of ["words", "eos", "lines"]) if (app.state[name] !== (name === "words")) parts.set(name, Number(app.state[name]));
  history.replaceState(null, "", `#${parts}`);
}
function read() {
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const [name, key] of Object.entries(STORED)) if (parts.has(key)) app.state[name] = parts.get(key);
  if (/^\d{1,15}$/.test(parts.get("seed"))) app.state.seed = Number(parts.get("seed"));
  for (const name of ["words", "eos", "lines"]) if (parts.has(name)) app.state[name] = parts.get(name) === "1";
  app.state.beam = Math.min(32, Math.max(1, Math.round(Number(app.state.beam)) || 5));
  if (!PANELS[app.state.view]) app.state.view = "attention";
  if (!["beam", "greedy", "sample", "exact"].includes(app.state.strategy)) app.state.strategy = "beam";
}

function past(list) {
  try {
    if (list) localStorage.setItem("alignd", JSON.stringify(list));
    const kept = JSON.parse(localStorage.getItem("alignd") ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch { return []; }
}
function remember() {
  const { text, model } = app.state;
  past([{ text, model }, ...past().filter((item) => item.text !== text || item.model !== model)].slice(0, KEEP));
  showHistory();
}
function showHistory() {
  const list = past();
  find("history").hidden = list.length === 0;
  find("history").querySelector("ol").replaceChildren(...list.map(({ text, model }) =>
    el("li", {}, el("button", { type: "button", dir: "auto", onclick: () => start({ text, model }) }, text.slice(0, 90)))));
}

/* ---- the form ---- */

const examples = (model) => (model?.target.startsWith("x-") ? EXAMPLES[model.target] : EXAMPLES[model?.source]) ?? [];

function fillForm() {
  const { state } = app;
  find("text").value = state.text;
  find("model").value = state.model;
  find("strategy").value = state.strategy;
  find("beam").value = state.beam;
  find("beam-field").hidden = state.strategy !== "beam";
  const model = app.models.find((m) => m.name === state.model);
  find("examples").replaceChildren(...examples(model).map((text) => el("button", { type: "button", onclick: () => start({ text }) }, text)));
}
function readForm() {
  Object.assign(app.state, { seed: undefined, text: find("text").value, model: find("model").value, strategy: find("strategy").value,
    beam: Math.min(32, Math.max(1, Math.round(Number(find("beam").value)) || 5)) });
}
function start(changes) {
  Object.assign(app.state, changes);
  if (!app.models.some((m) => m.name === app.state.model)) app.state.model = app.models[0]?.name ?? "";
  fillForm();
  return run(true);
}

/* ---- asking the daemon ---- */

/* Shows an error at a place; again: what tries once more. */
export function fail(place, error, again) {
  const busy = error.status === 429 || error.status === 503;
  const says = busy ? "The server has its hands full." : error.status === 504 ? "That took longer than the server allows." : error.message;
  place.replaceChildren(says);
  place.hidden = false;
  if (again) place.append(el("button", { type: "button", onclick: again }, "Try again"));
  if (busy && again) {
    let left = Math.max(1, error.retry);
    const note = el("span", {}, ` Trying again in ${left} s.`), timer = setInterval(() => {
      if (!note.isConnected || place.hidden) return clearInterval(timer);
      note.textContent = ` Trying again in ${--left} s.`;
      if (left <= 0) { clearInterval(timer); again(); }
    }, 1000);
    place.append(note);
  }
}

let running = null;
async function run(keep) {
  running?.abort();
  const mine = (running = new AbortController()), { text, model } = app.state;
  find("text-error").hidden = true;
  if (app.state.strategy === "sample") app.state.seed ??= Math.floor(Math.random() * 2 ** 32); /* so that questions and the link throw the same dice */
  write();
  if (!text.trim()) { app.answer = null; app.questions.reset(); return show(); }
  find("reading").classList.add("busy");
  find("reading").setAttribute("aria-busy", "true");
  const slow = setTimeout(() => waiting(""), 250);
  const onText = app.state.strategy === "greedy" || app.state.strategy === "sample" ? (part) => { clearTimeout(slow); waiting(part); } : undefined;
  try {
    const answer = await api.decode({ text, ...app.search() }, { path: "/translate", onText, signal: mine.signal });
    if (running !== mine) return;
    Object.assign(app, { answer, active: 0, pinned: -1 });
    app.questions.reset();
    if (keep) remember();
    clearTimeout(slow);
    show();
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    if (!(error instanceof api.ApiError)) throw error;
    app.answer = null;
    clearTimeout(slow);
    show();
    fail(find("text-error"), error, error.status === 400 || error.status === 413 ? null : () => run(keep));
  } finally {
    clearTimeout(slow);
    if (running === mine) {
      find("reading").classList.remove("busy");
      find("reading").removeAttribute("aria-busy");
    }
  }
}
function waiting(text) {
  if (!app.answer || text) find("reading").replaceChildren(el("p", { class: "line target wait", dir: "auto" }, text));
}

/* ---- drawing ---- */

function showTabs() {
  const tabs = document.querySelector(".tabs");
  tabs.replaceChildren(...Object.entries(PANELS).map(([name, [label]]) => el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel",
    "aria-selected": String(name === app.state.view), tabindex: name === app.state.view ? 0 : -1, onclick: () => open(name) }, label)));
}
function open(name) {
  app.state.view = name;
  write();
  showTabs();
  find(`tab-${name}`).scrollIntoView({ inline: "center", block: "nearest" });
  showPanel();
}
document.querySelector(".tabs").addEventListener("keydown", (event) => {
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
  const waits = app.sentence()?.attention ? "Point at a word to see where it looks. Choose a translated word to question it." : "This model has no attention to show.";
  hint(app.sentence() ? waits : "");
}

function onTarget(unit, i) {
  app.pinned = app.pinned === i ? -1 : i;
  showReading();
  find("reading").querySelectorAll(".active .target .unit")[i]?.focus();
}
function pinnedHint(s, row, column, weight) {
  const step = row.indexes[0];
  hint(el("span", {}, ...looks(row, column, weight), ". Choose a source word to make it look there, or see "),
    el("button", { type: "button", id: "see", onclick: (event) => alternatives(app, s, step, event.currentTarget) }, "what else it could have been"),
    el("button", { type: "button", onclick: () => onTarget(row, app.pinned) }, "Let go"));
}

function showReading() {
  const place = find("reading");
  if (!app.answer) {
    const text = app.models.length ? [el("strong", {}, "Every word has looked somewhere."), el("p", {}, "Type a sentence above, or take an example. Then point at a word of its translation: the words that the model looked at light up.")] : [];
    place.replaceChildren(el("div", { class: "state" }, ...text));
    hint("");
    return;
  }
  place.classList.toggle("many", app.answer.sentences.length > 1);
  place.replaceChildren(...app.answer.sentences.map((base, k) => {
    const active = k === app.active, s = active ? app.sentence() : base;
    const node = pair(s, app.how(), {
      pinned: active ? app.pinned : -1,
      onSelect: () => { if (!active) { app.active = k; app.pinned = -1; app.questions.reset(); } },
      onTarget: (...args) => { onTarget(...args); if (!active) showPanel(); },
      onSource: (unit) => { if (active && app.pinned >= 0) app.questions.force(app.pinned, unit.indexes); else if (!active) show(); },
      hinted: (row, column, weight) => {
        if (!row) { if (app.pinned < 0) idle(); }
        else if (active && app.pinned >= 0) pinnedHint(s, row, column, weight);
        else hint(el("span", {}, ...looks(row, column, weight)));
      },
    });
    node.classList.toggle("active", active);
    return node;
  }));
  if (app.pinned < 0) idle();
}

function show() {
  showReading();
  app.questions.show(find("answer"));
  showTabs();
  showPanel();
}

/* ---- beginning ---- */

if (!CSS.supports("field-sizing", "content")) {
  find("text").addEventListener("input", ({ target }) => { target.style.height = "auto"; target.style.height = `${target.scrollHeight}px`; });
}

find("form").addEventListener("submit", (event) => { event.preventDefault(); readForm(); run(true); });
find("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); find("form").requestSubmit(); }
});
let typing = 0;
find("text").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { readForm(); if (app.models.length) run(false); }, 450);
});
for (const id of ["model", "strategy", "beam"]) find(id).addEventListener("change", () => { readForm(); fillForm(); run(true); });
find("history").querySelector(".quiet").addEventListener("click", () => { past([]); showHistory(); });
addEventListener("hashchange", () => { read(); start({}); });
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && app.pinned >= 0 && !find("popover").matches(":popover-open")) { app.pinned = -1; showReading(); }
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
  read();
  showHistory();
  find("text").value = app.state.text;
  find("text-error").hidden = true;
  find("reading").replaceChildren(el("p", { class: "line target wait" }, ""));
  try {
    app.models = await api.models();
  } catch (error) {
    find("reading").replaceChildren(el("div", { class: "state" }, el("strong", {}, error.status === 503 ? "The models are being loaded." : "The server cannot be reached."),
      el("p", {}, "Nothing is lost: what you typed stays here.")));
    fail(find("text-error"), error, begin);
    return;
  }
  find("model").replaceChildren(...app.models.map((m) => el("option", { value: m.name }, m.name)));
  if (!location.hash) { /* the first visit: something to see */
    const model = app.models[0], text = examples(model)[0] ?? "";
    Object.assign(app.state, { text, model: model?.name ?? "" });
    fillForm();
    return run(false);
  }
  await start({});
}
begin();
