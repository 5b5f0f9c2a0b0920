/* The corpus view: a file of many texts, one per line, each optionally followed by a tab and its translation. They are
 * scored or translated, and listed in a table that can be sorted; a chosen row is drawn. The table survives switching
 * views, but not a reload. */
import { button, el, note, number, percent } from "./dom.js";
import * as api from "./api.js";
import { coverage, usualOf } from "./diagnostics.js";
import { batches, pairFields } from "./forced.js";
import { picture } from "./mapview.js";
import { fresh } from "./memory.js";
import { drawConcordance } from "./concordance.js";
import { save } from "./save.js";
import { t } from "./say.js";
import { count as written } from "./speak.js";
import { waiting } from "./waiting.js";

export const MOST = 1000;
const BYTES = 2 ** 22, COVERED = 0.3; /* most bytes read of a file; share of usualOf() that makes a word covered */

/* Parse a file into {rows: [{at: line number from 1, text, translation or ""}], count}. Blank lines are skipped; rows
 * has the first MOST texts, count is the number of all. */
export function parse(text) {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/).map((line, k) => {
    const [source, target = ""] = line.split("\t");
    return { at: k + 1, text: source.trim(), translation: target.trim() };
  }).filter((row) => row.text);
  return { rows: lines.slice(0, MOST), count: lines.length };
}

/* Share of the source words that are aligned with part of the translation; undefined without attention. */
export function covered(s) {
  const words = coverage(s).filter(({ mark }) => !mark), least = COVERED * usualOf(s);
  return words.length ? words.filter(({ sum }) => sum >= least).length / words.length : undefined;
}
const length = (s) => s.source_text.split(/\s+/u).length;

/* Columns of numbers: [heading, value of a sentence, formatter]. */
const COLUMNS = [["Score", (s) => s.score, (x) => number(x)], ["Quality", (s) => s.quality?.sentence, percent],
  ["Coverage", covered, percent], ["Length", length, String]];

/* name: of the file; model: the one that answered; sort: {by: a heading or "", down: descending}; open: the row that is
 * drawn. */
let corpus = null;

/* ---- requests ---- */

/* Answers to rows. A rejected batch is halved until only the rows that cause the error fail. */
async function answersTo(rows, asked) {
  try {
    return await asked(rows);
  } catch (error) {
    if (error.status !== 400 && error.status !== 413) throw error;
    if (rows.length === 1) return [{ error: error.message }];
    const half = rows.length >> 1;
    return [...(await answersTo(rows.slice(0, half), asked)), ...(await answersTo(rows.slice(half), asked))];
  }
}

/* Fill in `s`, the sentence, or `error` for each row that has neither. */
async function answer({ signal, tell }, app, rows, drawn) {
  const fields = { given: (list) => ({ model: app.state.model, ...pairFields(list) }),
    none: (list) => ({ ...app.search(), text: list.map(({ text }) => text), split_sentences: false }) };
  const ask = (kind) => async (list) => (await api.askAll("/attention", fields[kind](list), { signal }))
    .results.map(({ sentences }) => ({ s: sentences[0] }));
  const left = rows.filter((row) => !row.s && !row.error),
    lists = { given: left.filter(({ translation }) => translation),
    none: left.filter(({ translation }) => !translation) };
  for (const [kind, list] of Object.entries(lists)) {
    for (const batch of batches(list)) {
      tell(rows.filter((row) => row.s || row.error).length, rows.length);
      const found = await answersTo(batch, ask(kind));
      batch.forEach((row, k) => Object.assign(row, found[k],
        found[k].s && { values: COLUMNS.map(([, value]) => value(found[k].s)) }));
      drawn(batch);
    }
  }
}

/* ---- the table ---- */

/* Rows without a value come last in either direction. */
function sorted(rows, { by, down }) {
  const k = COLUMNS.findIndex(([heading]) => heading === by);
  if (k < 0) return rows;
  const has = (row) => row.values?.[k] !== undefined;
  return rows.toSorted((a, b) => has(b) - has(a) || (has(a) ? (a.values[k] - b.values[k]) * (down ? -1 : 1) : 0));
}

const cell = ({ values }, k) => (values?.[k] === undefined ? "" : COLUMNS[k][2](values[k]));

function heading(name, redraw) {
  const { sort } = corpus, on = sort.by === name;
  const act = () => {
    corpus.sort = on && sort.down ? { by: "", down: false } : { by: name, down: on };
    redraw();
    document.getElementById(`sort-${name}`).focus();
  };
  return el("th", { scope: "col", "aria-sort": on ? (sort.down ? "descending" : "ascending") : "none" },
    button([t(name), el("span", { "aria-hidden": "true" }, on ? (sort.down ? " \u2193" : " \u2191") : "")], act,
    { id: `sort-${name}`, class: "quiet" }));
}

const line = (row, look) => el("tr", {}, el("td", {}, row.at), el("td", { class: "passage", dir: "auto" },
  row.s ? button(row.text, () => look(row), { id: `row-${row.at}`, title: row.text }) : row.text),
  el("td", { class: "passage", dir: "auto", title: row.s?.text }, row.error ?? row.s?.text ?? row.translation),
    COLUMNS.map((_, k) => el("td", {}, cell(row, k))));

/* lines: the <tr> of each row, by row. */
const table = (lines, redraw) => el("table", { class: "corpus" }, el("caption", { class: "sr" }, corpus.name),
  el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("Line")), el("th", { scope: "col" }, t("Source")),
    el("th", { scope: "col" }, t("Translation")), COLUMNS.map(([name]) => heading(name, redraw)))),
    el("tbody", {}, [...lines.values()]));

const toTsv = () => [["line", "source", "translation", ...COLUMNS.map(([name]) => name.toLowerCase())],
  ...sorted(corpus.rows, corpus.sort).map((row) => [row.at, row.text, row.s?.text ?? row.translation,
  ...COLUMNS.map((_, k) => row.values?.[k] ?? "")])]
  .map((line) => line.join("\t")).join("\n") + "\n";

/* The chosen row, drawn; a word of it shows its concordance. */
function pair(app, row, close, look) {
  const words = el("div");
  const choose = ({ detail: { side, text } }) => {
    const found = text.trim();
    words.replaceChildren(...(found ? [drawConcordance(corpus.rows, side, found, look)] : []));
  };
  const view = (props) => picture(row.s, app, { label: t(app.task().result), ...props });
  return [el("div", { class: "bar" }, el("h2", { tabindex: -1, id: "pair" }, t("Line {0}", row.at)),
    button(t("Close"), close, { id: "close-pair" }),
    button(t("Ask about it"),
      () => app.start({ ...fresh(), text: row.text, whole: true, own: row.translation, view: row.translation ? "ask"
      : "map" }))), view({ view: "threads", server: false, onwordselect: choose }),
    note(t("Choose a word to see every line that has it.")), words, view({ view: "map" })];
}

/* Draw the table. Return functions that redraw all of it in its order, or only some rows. */
function drawTable(place, app) {
  const all = el("div"), chosen = el("div", { class: "chosen" });
  let lines = new Map();
  const show = () => chosen.replaceChildren(...(corpus.open ? pair(app, corpus.open, close, look) : []));
  const look = (row) => { corpus.open = row; show(); document.getElementById("pair").focus(); };
  const close = () => {
    const { at } = corpus.open;
    corpus.open = null;
    show();
    document.getElementById(`row-${at}`).focus();
  };
  const draw = () => {
    lines = new Map(sorted(corpus.rows, corpus.sort).map((row) => [row, line(row, look)]));
    all.replaceChildren(table(lines, draw));
  };
  place.replaceChildren(el("div", { class: "buttons" },
    button(t("Save"), () => save("corpus.tsv", new Blob([toTsv()], { type: "text/tab-separated-values" })))),
    chosen, all);
  draw();
  show();
  const drawRows = (rows) => {
    for (const row of rows) { const made = line(row, look); lines.get(row).replaceWith(made); lines.set(row, made); }
  };
  return { draw, drawRows };
}

/* ---- the view ---- */

async function load(file, app) {
  const { rows, count } = parse(await file.slice(0, BYTES).text());
  corpus = { name: file.name, rows, count, model: app.state.model, sort: { by: "", down: false }, open: null };
  app.showPanel();
}

function dropZone(app) {
  const zone = el("div", { class: "drop" },
    el("label", { class: "file" }, t("Choose a file"),
    el("input", { type: "file", class: "sr", id: "corpus-file",
    accept: ".tsv,.txt,text/plain,text/tab-separated-values", onchange: ({ target }) => load(target.files[0], app) })),
    el("span", {}, t("or drop it here: a text on each line, or a text, a tab and its translation. Up to {0} lines.",
      written(MOST))));
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) load(event.dataTransfer.files[0], app);
  });
  return zone;
}

export function corpusPanel(panel, app) {
  if (!app.asks()) return panel.append(note(t("Two models translate this in turn. Choose one of them to ask it.")));
  panel.append(dropZone(app));
  if (!corpus) return;
  if (corpus.model !== app.state.model)
    Object.assign(corpus, { model: app.state.model, open: null,
    rows: corpus.rows.map(({ at, text, translation }) => ({ at, text, translation })) });
  const { rows, count, name } = corpus, place = el("div"), progress = el("div"),
    done = () => rows.every((row) => row.s || row.error);
  panel.append(note(rows.length < count ? t("{0}: the first {1} of {2} lines, by {3}.", name, written(rows.length),
    written(count), corpus.model) : t("{0}: {1} lines, by {2}.", name, rows.length, corpus.model),
    t(" Coverage is the share of source words that something is aligned with; length counts source words.")),
      progress, place);
  if (!rows.length) return;
  const { draw, drawRows } = drawTable(place, app);
  const ask = async (options) => { await answer(options, app, rows, drawRows); draw(); };
  waiting(progress, { again: () => app.showPanel(), found: done(), ask, draw: () => progress.replaceChildren() });
}
