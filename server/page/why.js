/* The view that explains why a word was written: source words left out, another word in its place, source against
 * previous words. */
import { direction, el, group, keys, note, number, percent, roving, toggle } from "./dom.js";
import { colours } from "./colour.js";
import { largeMap } from "./heatmap.js";
import { contrast, contrastName, known, leaveOneOut, lossView, MOST, sourceAndBefore, sourceWords,
  targetWords } from "./influence.js";
import { legend, NAMES } from "./map.js";
import { t } from "./say.js";
import { END, probability, tokensOf } from "./sentence.js";
import { waiting } from "./waiting.js";

const name = (word) => el("b", { dir: "auto" }, word);
const chance = (logProb) => percent(Math.exp(Math.min(0, logProb)));
const isMark = (word) => /^[\p{P}\p{S}]+$/u.test(word.surface);

/* Index of the target word in question: that of the link, or else the one that the model was least sure of. */
function chosen(s, rows, { word }) {
  if (/^\d{1,3}$/.test(word) && rows[word]) return Number(word);
  const sure = rows.map((row) => (isMark(row) ? 1 : probability(s, row)));
  return sure.indexOf(Math.min(...sure));
}

/* Buttons to choose one of the target words. */
function chooser(rows, at, choose) {
  const buttons = rows.map((row, i) => toggle(row.surface, i === at, () => choose(i), { id: `word-${i}` })),
    place = el("div", { class: "words", role: "group", "aria-label": t("Word"),
    dir: direction(rows[0]?.surface ?? "") }, buttons);
  roving(place, buttons);
  return place;
}

/* ---- source words left out ---- */

function lossRows({ columns, whole, left }, i) {
  const most = Math.min(...left.map((one) => one[i]));
  return el("div", { class: "cover", role: "list", "aria-label": t("Source words") }, columns.map((column, j) => {
    const lost = 1 - Math.exp(left[j][i] - whole[i]);
    return el("div", { role: "listitem" }, el("span", { class: "word", dir: "auto" }, column.surface),
      el("span", { class: "share", "aria-hidden": "true" }, el("i", { vars: { "--p": Math.max(0, lost).toFixed(3) } })),
      el("span", { class: "say" }, chance(left[j][i])), el("span", { class: "verdict" }, left[j][i] === most && lost > 0
        ? t("matters most") : lost < -0.05 ? t("likelier without it") : ""));
  }));
}

function lossMap(found, s, panel) {
  const read = el("output", { class: "read", "aria-live": "polite" }), palette = colours(),
    { rows, columns, whole, left } = found;
  const map = largeMap(lossView(found, s), { id: "loss-map", room: panel.clientWidth, colours: palette,
    name: t("Left out"),
    of: ({ from: [top, side] }) =>
    ({ onSay: (cell) => read.replaceChildren(...(cell ? [name(rows[cell.i + top].surface), t(" without "),
    name(columns[cell.j + side].surface),
    t(": {0} instead of {1}", chance(left[cell.j + side][cell.i + top]), chance(whole[cell.i + top]))] : [])) }) });
  return [map, read, legend("word's probability is lost", palette)];
}

function leftOut(panel, app, s) {
  const place = el("div"), lines = el("div"), again = () => app.showPanel();
  panel.append(
    note(
    t(
    "The same translation is scored without each source word. A bar is the share of the word's probability that is " +
      "lost; the number is the probability without that word.")), place);
  const say = ({ rows, whole, left, columns }, i) => {
    const losses = left.map((one) => whole[i] - one[i]), j = losses.indexOf(Math.max(...losses));
    return el("p", { class: "answer", role: "status" }, name(rows[i].surface), `, ${chance(whole[i])}, `,
      ...(losses[j] > 0 ? [t("depends most on "), name(columns[j].surface), t(": without it, {0}.", chance(left[j][i]))]
      : [t("depends on no one word.")]));
  };
  waiting(place, { again, found: known(s, "left"), ask: (options) => leaveOneOut(s, app.state.model, options),
    draw(found) {
    const i = chosen(s, found.rows, app.state);
    lines.replaceChildren(say(found, i), lossRows(found, i));
    place.replaceChildren(chooser(found.rows, i, (word) => choose(app, { word: String(word) })), lines,
      el("h2", {}, t("All words")), ...lossMap(found, s, panel));
  } });
}

/* ---- another word in its place ---- */

/* Alternatives that the model considered at the word's first token. */
const alternatives = (s, row) => (s.top_k?.[tokensOf(row)[0]] ?? []).map(({ token }) => token.replaceAll("\u2581", ""))
  .filter((token) => token && token !== END && !row.surface.startsWith(token));

function contrastTable({ columns, favours, looks }, [mine, other], look) {
  const most = Math.max(1, ...favours.map(Math.abs)), heads = [t("Source word"), t("In favour of"),
    ...(looks ? [mine, other].map((word) => t("{0} of \u201c{1}\u201d", t(NAMES[look]), word)) : [])];
  return el("table", { class: "fits", dir: direction(columns[0]?.surface ?? "") },
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col", dir: "auto" }, head)))),
    el("tbody", {}, columns.map((column, j) => el("tr", {}, el("th", { scope: "row", dir: "auto" }, column.surface),
      el("td", { class: "lean" }, el("span", { class: favours[j] < 0 ? "track less" : "track", "aria-hidden": "true" },
        el("i", { vars: { "--p": Math.abs(favours[j] / most).toFixed(3) } })),
        `${number(Math.abs(favours[j]))} ${favours[j] < 0 ? other : mine}`),
      looks?.map((row) => el("td", {}, percent(row[j])))))));
}

function contrastOf(place, app, s, { i, other }) {
  const { look, model } = app.state, mine = targetWords(s)[i].surface;
  waiting(place, { again: () => app.showPanel(), found: known(s, contrastName({ i, other, look })),
    ask: (options) => contrast(s, model, { i, other, look }, options), draw(found) {
    const [a, b] = found.log_probs, apart = Math.exp(Math.abs(a - b)),
      j = found.favours.indexOf(Math.max(...found.favours)),
      same = found.looks?.[0].every((w, k) => Math.abs(w - found.looks[1][k]) < 0.005);
    place.replaceChildren(el("p", { class: "answer", role: "status" }, name(a >= b ? mine : other),
      t(" is {0} times as likely here as ", apart < 1000 ? number(apart, 1) : "> 1000"), name(a >= b ? other : mine),
      t(" ({0} against {1}). ", chance(Math.max(a, b)), chance(Math.min(a, b))),
      ...(found.favours[j] > 0 ? [t("Most in favour of "), name(mine), t(" is "), name(found.columns[j].surface), "."]
        : [t("No source word is in favour of "), name(mine), "."])),
    contrastTable(found, [mine, other], look),
    note(
      t(
      "In favour of: by how much the source word raises the log-probability of one over the other, in nats, as it is " +
        "lost without that word."),
      same
        ? t(" Where the model looks says nothing here: it looks before it chooses, and so at the same words for both.")
        : ""));
  } });
}

function whyNot(panel, app, s) {
  const rows = targetWords(s), i = chosen(s, rows, app.state), mine = rows[i].surface,
    offered = alternatives(s, rows[i]), place = el("div"), { instead } = app.state;
  const text = el("input", { id: "instead", dir: "auto", autocomplete: "off", value: instead }),
    choose_ = (word) => choose(app, { word: String(i), instead: word });
  panel.append(note(t("Evidence for a word, and against another in its place, after the same beginning.")),
    chooser(rows, i, (word) => choose(app, { word: String(word), instead: "" })),
    el("form", { onsubmit: (event) => { event.preventDefault(); if (text.value.trim()) choose_(text.value.trim()); } },
      el("div", { class: "row" }, el("label", {}, el("span", {}, t("Why "), name(mine), t(" and not")), text),
        el("button", { class: "primary" }, t("Ask")),
        group(t("Alternatives"),
          offered.map((word, k) => toggle(word, word === instead, () => choose_(word),
          { id: `instead-${k}`, dir: "auto" }))))), place);
  if (instead) contrastOf(place, app, s, { i, other: instead });
}

/* ---- source or previous words ---- */

function shares({ rows, whole, before }) {
  return el("div", { class: "cover", role: "list", "aria-label": t("Words") }, rows.map((row, i) => {
    const [written, all] = [before[i], whole[i]].map((one) => Math.exp(Math.min(0, one))), gain = whole[i] - before[i];
    return el("div", { role: "listitem" }, el("span", { class: "word", dir: "auto" }, row.surface),
      el("span", { class: "share", "aria-hidden": "true" },
        el("i", { class: "written", vars: { "--p": Math.min(written, all).toFixed(3) } }),
        el("i", { class: all < written && "lost", vars: { "--p": Math.abs(all - written).toFixed(3) } })),
      el("span", { class: "say" }, `${percent(written)} \u2192 ${percent(all)}`), el("span", { class: "verdict" },
        t("source {0} nats", `${gain < -0.05 ? "" : "+"}${number(Math.abs(gain) < 0.05 ? 0 : gain, 1)}`)));
  }));
}

function sourceOr(panel, app, s) {
  const place = el("div");
  panel.append(
    note(
    t(
    "How likely each word is by what was written before it alone, as if there were no source, and how much the " +
      "source adds to that.")),
    keys([["field", t("by what was written before")], ["accent", t("added by the source")],
      ["warn", t("taken away by the source")]]), place);
  waiting(place, { again: () => app.showPanel(), found: known(s, "before"), ask: (options) => sourceAndBefore(s,
    app.state.model, options), draw: (found) => place.replaceChildren(shares(found)) });
}

/* ---- the view ---- */

const KINDS = { "": ["Leave one out", leftOut], not: ["Why not another", whyNot],
  from: ["Source or before", sourceOr] };

function choose(app, changes) {
  Object.assign(app.state, changes);
  app.remember();
  app.showPanel();
}

export function whyPanel(panel, app) {
  if (!app.asks()) return panel.append(note(t("Two models translate this in turn. Choose one of them to ask it.")));
  const s = app.sentence(), kind = app.state.why in KINDS ? app.state.why : "", { length } = sourceWords(s);
  panel.append(el("div", { class: "bar" },
    group(t("Question"),
    Object.entries(KINDS).map(([key, [says]]) => toggle(t(says), key === kind, () => choose(app, { why: key }),
    { id: `why-${key}` })))));
  if (!targetWords(s).length) return panel.append(note(t("There is no word to ask about.")));
  if (length > MOST)
    return panel.append(note(t("This sentence has {0} words. Of up to {1} each can be left out in turn.", length,
    MOST)));
  KINDS[kind][1](panel, app, s);
}
