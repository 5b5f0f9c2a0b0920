/* Sentences of the API as the page uses them: words or tokens, a matrix over them, and numbers. */

const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/;
const MARKS = /^[\p{P}\p{S}]+$/u;
export const END = "</s>";

const joins = (left, right) => !left || !right || !(MARKS.test(left) || MARKS.test(right) || CJK.test(left.at(-1))
  || CJK.test(right[0]));

/* Words for a reply without any: tokens with nothing between them form a word. */
function joined(places, text) {
  const list = [];
  for (const { start, stop } of places) {
    const last = list.at(-1);
    if (last && last.stop === start && joins(text.slice(last.start, last.stop), text.slice(start, stop)))
      last.stop = stop;
    else if (stop > start) list.push({ start, stop });
  }
  return list;
}

/* Indexes of the words that each place overlaps, usually one. */
function partsOf(places, words, text) {
  return places.map(({ start, stop }) => {
    const inner = stop - text.slice(start, stop).trimStart().length,
      first = words.findIndex((word) => word.stop > inner), list = first < 0 ? [] : [first];
    for (let k = first + 1; first >= 0 && k < words.length && words[k].start < stop; k++) list.push(k);
    return list;
  });
}

/* Units of a text, from its tokens, their offsets and those of its words: [{label, surface, start, stop, parts:
 * [[token, share], ...], end}]. A token that spans several words gives each an equal share. end: the unit is </s>,
 * which comes last. */
function units(tokens, offsets, words, text, merged) {
  const places = offsets.map(({ start_utf16: start, end_utf16: stop }) => ({ start, stop })),
    hasEnd = tokens.at(-1) === END, count = tokens.length - (hasEnd ? 1 : 0);
  let list = tokens.slice(0, count).map((token, i) => ({ ...places[i], label: token, parts: [[i, 1]] }));
  if (merged) {
    list = (words?.map(({ start_utf16: start, end_utf16: stop }) => ({ start, stop }))
      ?? joined(places.slice(0, count), text)).map((word) => ({ ...word, parts: [] }));
    partsOf(places.slice(0, count), list, text).forEach((within, i) => {
      for (const k of within) list[k].parts.push([i, 1 / within.length]);
    });
  }
  for (const unit of list) unit.surface = text.slice(unit.start, unit.stop);
  for (const unit of list) unit.label = (merged && unit.surface) || unit.label;
  return hasEnd ? [...list, { label: END, surface: "", start: text.length, stop: text.length, parts: [[count, 1]],
    end: true }] : list;
}

/* Source units, with </s> if the model reads it, because the weight on it is part of the picture. how: {words, eos,
 * look}. */
export const sources = (s, { words }) => units(s.source_tokens, s.offsets.source, s.words?.offsets.source,
  s.source_text, words);
export const targets = (s, { words, eos }) => units(s.tokens, s.offsets.target, s.words?.offsets.target, s.text, words)
  .filter((unit) => eos || !unit.end);
export const tokensOf = (unit) => unit.parts.map(([i]) => i);

/* Two ways to look at a sentence: what each word was translated from, and what the decoder looked at when it chose the
 * word. A model without an alignment head has only the second. */
export const LOOKS = ["alignment", "attention"];
const rowsOf = (s, look) => (look === "alignment" ? (s.soft_alignment ?? s.attention) : s.attention);
export const hasHead = (model) => model?.alignment_head ?? false;
export const hasHeads = (model) => model?.heads ?? false;

/* The source unit with the most weight. For alignment, </s> counts only with at least half of the weight; for
 * attention, it is like any other. */
function mostOf(weights, columns, look) {
  const end = columns.at(-1)?.end ? columns.length - 1 : -1, others = weights.slice(0, end < 0 ? undefined : end);
  if (end >= 0 && (look === "attention" ? weights[end] > Math.max(0, ...others) : weights[end] >= 0.5)) return end;
  const best = Math.max(0, ...others);
  return best > 0 ? others.indexOf(best) : -1;
}

/* What all views show: {rows, columns, weights [rows][columns], most [rows]: the column with the most weight or -1,
 * look, text, source}. A cell is summed over source tokens and averaged over target tokens, so that a row with its </s>
 * sums to 1. null: the model has no attention. */
export function matrix(s, how) {
  const views = made.get(s) ?? new Map(), key = JSON.stringify([how.look, how.words, how.eos]);
  if (!views.has(key)) made.set(s, views.set(key, viewOf(s, how)));
  return views.get(key);
}
/* The matrix as it is drawn. An alignment of words omits </s>; `most` is columns.length for a word aligned with it. */
export function visible(s, how) {
  const view = matrix(s, how);
  if (!view || !how.words || how.look !== "alignment" || !view.columns.at(-1)?.end) return view;
  if (!view.words) view.words = { ...view, columns: view.columns.slice(0, -1),
    weights: view.weights.map((row) => row.slice(0, -1)) };
  return view.words;
}
const SHARE = 0.15, NAMED = 3; /* weight of a word that is named; the most words */
/* What word k of the result belongs to in the source or, `back`, word k of the source in the result. */
export function partners({ rows, columns, weights }, k, back = false) {
  const list = back ? rows : columns, of = back ? weights.map((row) => row[k]) : weights[k];
  return list.map((unit, j) => [unit, of[j]]).filter(([unit, w]) => !unit.end && w >= SHARE)
    .sort((a, b) => b[1] - a[1]).slice(0, NAMED).map(([unit]) => unit.surface || unit.label);
}
const made = new WeakMap(); /* cached views by sentence, so that all drawings share the same one */

function viewOf(s, how) {
  const tokens = rowsOf(s, how.look);
  if (!tokens) return null;
  const rows = targets(s, how), columns = sources(s, how);
  const value = (row, column) => {
    let sum = 0;
    for (const [i] of row.parts) for (const [j, part] of column.parts) sum += part * tokens[i][j];
    return Math.min(1, sum / Math.max(1, row.parts.length));
  };
  const weights = rows.map((row) => columns.map((column) => value(row, column)));
  return { rows, columns, weights, most: weights.map((row) => mostOf(row, columns, how.look)), look: how.look,
    text: s.text, source: s.source_text };
}

export const probability = (s, unit) =>
  (s.log_probs ? Math.exp(Math.min(0, ...tokensOf(unit).map((i) => s.log_probs[i]))) : 1);

/* Estimated probability that each target word is right, 0 to 1; null for tokens, or if the model does not estimate
 * it. */
export const ratings = (s, { words }) => (words ? (s.quality?.words ?? null) : null);

/* Value of force_attention that makes these steps look only at these source tokens. */
export function forced(s, steps, tokens) {
  const weights = s.source_tokens.map((_, j) => (tokens.includes(j) ? 1 : 0));
  return steps.map((step) => ({ step, weights }));
}

/* The text up to token i, with this token in its place. */
export function prefix(s, i, token) {
  const before = i > 0 ? s.text.slice(0, s.offsets.target[i - 1].end_utf16) : "";
  const pieces = s.tokens.some((t) => t.startsWith("\u2581"));
  const gap = !pieces && i > 0 && s.offsets.target[i].start_utf16 > s.offsets.target[i - 1].end_utf16 ? " " : "";
  return (before + gap + token.replaceAll("\u2581", " ")).trimStart();
}

/* For each item of b, whether it is new compared with a (by longest common subsequence). */
export function changed(a, b) {
  const length = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const marks = new Array(b.length).fill(true);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { marks[j] = false; i++; j++; }
    else if (length[i + 1][j] >= length[i][j + 1]) i++;
    else j++;
  }
  return marks;
}
