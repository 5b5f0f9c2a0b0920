/* One decoding step, in the notation of the papers: the query, its scores, the softmax, the context as shares of the
 * annotations, and the most likely tokens. Formulas are those of Bahdanau, Cho and Bengio 2015, of Luong, Pham and
 * Manning 2015, and of Vaswani et al. 2017. */
import { button, direction, el, number, percent } from "./dom.js";
import { t } from "./say.js";

const ROWS = 14; /* source tokens that are shown; of a longer sentence those with the most weight */
export const PAUSE_MS = 1600; /* between two steps while it plays */

/* Score of annotation h_j by the state s, written and read aloud. */
const SCORES = {
  dot: ["e\u2c7c = s\u1d40h\u2c7c", "e j is s transposed times h j"],
  general: ["e\u2c7c = s\u1d40W h\u2c7c", "e j is s transposed times W times h j"],
  additive: ["e\u2c7c = v\u1d40tanh(W s + U h\u2c7c)", "e j is v transposed times tanh of W s plus U h j"],
  scaled_dot: ["e\u2c7c = (W s)\u1d40(U h\u2c7c) / \u221ad", "e j is W s times U h j, divided by the root of d"],
  location: ["e\u2c7c = (W s)\u2c7c", "e j is component j of W s"],
};
const formula = ([written, read]) => el("span", { class: "formula", role: "math", "aria-label": read }, written);
const SOFTMAX = ["\u03b1\u2c7c = exp e\u2c7c / \u03a3\u2096 exp e\u2096",
  "alpha j is the exponential of e j, divided by the sum of the exponentials of all e k"];
const CONTEXT = ["c = \u03a3\u2c7c \u03b1\u2c7c h\u2c7c", "c is the sum over j of alpha j times h j"];
/* The state that looks at the source, and what is made of it and of the context, by the decoder's style. */
const QUERY = {
  luong: ["s = f(s\u1d62\u208b\u2081, y\u1d62\u208b\u2081)", "s is f of the state before and the token before"],
  bahdanau: ["s = s\u1d62\u208b\u2081", "s is the state before"],
  conditional: ["s = f(s\u1d62\u208b\u2081, y\u1d62\u208b\u2081)", "s is f of the state before and the token before"],
};
const OUTPUT = {
  luong: ["p(y) = softmax(W tanh(V [c; s]))", "p of y is the softmax of W times tanh of V times c and s"],
  bahdanau: ["s\u1d62 = f(s, y\u1d62\u208b\u2081, c), p(y) = softmax(W g(s\u1d62, c))",
    "the new state is f of s, the token before and c; p of y is the softmax of W times g of the state and c"],
  conditional: ["s\u1d62 = f(s, c), p(y) = softmax(W g(s\u1d62, c))",
    "the new state is f of s and c; p of y is the softmax of W times g of the state and c"],
};
const plain = (token) => token.replaceAll("\u2581", " ").trim() || token;

/* The step's tokens of the source with their weight, in order; all others are one row, whose index is -1. */
function sourceRows(weights) {
  const all = weights.map((weight, j) => ({ j, weight }));
  if (all.length <= ROWS) return all;
  const most = new Set([...all].sort((a, b) => b.weight - a.weight).slice(0, ROWS - 1));
  return [...all.filter((one) => most.has(one)),
    { j: -1, weight: all.reduce((sum, one) => sum + (most.has(one) ? 0 : one.weight), 0) }];
}
const bar = (share) => el("td", { class: "share", "aria-hidden": "true" },
  el("i", { vars: { "--p": share.toFixed(4) } }));

function attentionTable(s, i) {
  const rows = sourceRows(s.attention[i]), scores = s.scores?.[i],
    cell = (x) => el("td", {}, x === null || x === undefined ? "" : number(x));
  return el("table", { class: "attended" },
    el("tr", {}, [t("source"), "e\u2c7c", "\u03b1\u2c7c", "\u03b1\u2c7ch\u2c7c"]
      .map((says) => el("th", { scope: "col" }, says))),
    rows.map(({ j, weight }) => el("tr", {},
      el("th", { scope: "row", dir: "auto" }, j < 0 ? t("{0} others", s.source_tokens.length - rows.length + 1)
        : plain(s.source_tokens[j])), cell(j < 0 ? null : scores?.[j]), el("td", {}, percent(weight)), bar(weight))));
}

/* The five most likely tokens; the one that was chosen is marked. */
export function likely(s, i, title) {
  return el("ol", { class: "likely", "aria-label": title }, (s.top_k?.[i] ?? []).map(({ token, log_prob: log }) => {
    const p = Math.exp(log), chosen = token === s.tokens[i];
    return el("li", { class: chosen && "chosen", "aria-current": chosen && "true" },
      el("span", { dir: "auto" }, plain(token)), el("i", { "aria-hidden": "true", vars: { "--p": p.toFixed(4) } }),
      el("small", {}, percent(p)));
  }));
}
/* A named part of the view. */
export const part = (title, formulas, ...content) => el("div", { role: "group", "aria-label": title },
  el("p", { class: "head" }, title, " ", formulas.filter(Boolean).map(formula)), content);

/* Step i of a sentence of the API. model: {style, score}, as GET /models has them, or nothing. */
export function stepOf(s, i, model) {
  const before = i === 0 ? t("the beginning") : s.text.slice(0, s.offsets.target[i - 1].end_utf16),
    most = sourceRows(s.attention[i]).filter(({ j }) => j >= 0).sort((a, b) => b.weight - a.weight)
      .filter(({ weight }, k) => k === 0 || (k < 3 && weight >= 0.01));
  return el("div", { class: "stepped" },
    part(t("1. Query"), [QUERY[model?.style] ?? ["s", "s"]],
      el("p", {}, t("The decoder\u2019s state after "), el("q", { dir: direction(before) }, before.slice(-60)))),
    part(t("2. Scores and weights"), [SCORES[model?.score], SOFTMAX], attentionTable(s, i)),
    part(t("3. Context"), [CONTEXT], el("p", { class: "sum", dir: "ltr" }, "c = ",
      most.map(({ j, weight }, k) => [k ? " + " : "", `${number(weight)}\u00b7h(`,
        el("span", { dir: "auto" }, plain(s.source_tokens[j])), ")"]),
      s.source_tokens.length > most.length && " + \u2026")),
    part(t("4. Next token"), [OUTPUT[model?.style]], likely(s, i, t("The most likely tokens"))));
}

const SHEET = `
.walk .bar { display: flex; flex-wrap: wrap; align-items: center; gap: .375rem .5rem; margin-bottom: .5rem; }
.walk .bar .play { min-width: 5.5rem; }
.walked { display: flex; flex-wrap: wrap; gap: .25rem; margin-bottom: .75rem; font-family: var(--serif); }
.walked button { padding: 0 .5rem; min-height: 1.875rem; }
@media (pointer: coarse), (max-width: 40rem) { .walk button { min-height: 2.5rem; min-width: 2.5rem; } }
.beside { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 1rem 2.5rem; align-items: start; }
.stepped, .what-if { display: grid; gap: .75rem; font-size: var(--s0); }
.stepped .head, .what-if .head { display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0 0 .125rem; color: var(--muted); font-size: var(--s0); font-weight: 600; }
.formula { font: italic 400 var(--s1)/1.3 var(--serif); color: var(--ink); }
.stepped q, .sum { font: var(--s1)/1.4 var(--serif); }
.attended { border-collapse: collapse; width: 100%; max-width: 34rem; }
.attended th, .attended td { padding: 0; padding-inline-end: .75rem; text-align: end; line-height: 1.35rem; font-weight: 400; }
.attended th[scope="row"] { text-align: start; font: var(--s1)/1.35rem var(--serif); max-width: 9rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.attended th[scope="col"] { color: var(--muted); }
.attended th[scope="col"]:first-child, .attended th[scope="col"]:last-child { text-align: start; }
.attended .share { width: 45%; padding: 0; background: none; height: auto; display: table-cell; }
.attended .share i, .likely i { display: block; height: .5rem; border-radius: 3px; width: calc(var(--p) * 100%); min-width: 1px; background: var(--accent); forced-color-adjust: none; }
.likely { display: grid; gap: .125rem; margin: 0; padding: 0; list-style: none; max-width: 34rem; }
.likely li { display: grid; grid-template-columns: 8rem 1fr 3.5rem; gap: .75rem; align-items: center; line-height: 1.35rem; }
.likely span { font: var(--s1)/1.35rem var(--serif); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.likely small { text-align: end; color: var(--muted); }
.likely .chosen span { font-weight: 700; color: var(--accent); }
.likely li:not(.chosen) i { background: var(--field, var(--muted)); }
.what-if select { margin-bottom: .25rem; }
.what-if .said { min-height: 7.25rem; }
@media (max-width: 48rem) { .beside { grid-template-columns: minmax(0, 1fr); } .likely li { grid-template-columns: 6rem 1fr 3.5rem; } }
`;
let sheet;
/* Adds the style sheet of this view to a document or a shadow root. */
export function styleSteps(root) {
  if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(SHEET);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

/* Buttons that walk through a sentence, over a place that `draw(i)` fills. go(i) is called for each step that is shown.
 * It stops when it is removed. */
export function walk(s, first, draw, go) {
  let at = Math.min(Math.max(0, first), s.tokens.length - 1), timer = 0;
  const place = el("div", {}), said = el("output", { "aria-live": "polite" }),
    tokens = el("div", { class: "walked", role: "group", "aria-label": t("Tokens"), dir: direction(s.text) },
      s.tokens.map((token, i) => button(plain(token), () => { stop(); show(i); })));
  const back = button("\u2039", () => { stop(); show(at - 1); }, { "aria-label": t("Previous step") }),
    on = button("\u203a", () => { stop(); show(at + 1); }, { "aria-label": t("Next step") }),
    play = button(t("Play"), () => (timer ? stop() : start()), { class: "play" });
  function show(i) {
    at = i;
    back.disabled = at === 0;
    on.disabled = at === s.tokens.length - 1;
    [...tokens.children].forEach((one, k) => one.setAttribute("aria-pressed", String(k === at)));
    said.textContent = t("Step {0} of {1}", at + 1, s.tokens.length);
    place.replaceChildren(...[draw(at)].flat());
    go(at);
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = t("Play");
  }
  function start() {
    if (at === s.tokens.length - 1) show(0);
    play.textContent = t("Pause");
    timer = setInterval(() => {
      if (!place.isConnected) return stop();
      show(at + 1);
      if (at === s.tokens.length - 1) stop();
    }, PAUSE_MS);
  }
  show(at);
  return el("div", { class: "walk" }, el("div", { class: "bar" }, back, play, on, said), tokens, place);
}
