/* What the page makes of a sentence of the API: words or tokens, a matrix over them, and numbers. */

const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/;
const MARKS = /^[\p{P}\p{S}]+$/u;
export const END = "</s>";

const joins = (left, right) => !left || !right || !(MARKS.test(left) || MARKS.test(right) || CJK.test(left.at(-1)) || CJK.test(right[0]));

/* tokens, their offsets in text -> [{label, indexes, start, stop, end}]; end: it is </s>. */
function units(tokens, offsets, text, { words, eos }) {
  const list = [];
  tokens.forEach((token, i) => {
    const { start_utf16: start, end_utf16: stop } = offsets[i];
    const surface = text.slice(start, stop), last = list.at(-1);
    if (token === END && i === tokens.length - 1) {
      if (eos) list.push({ label: END, surface: "", indexes: [i], start, stop, end: true });
    } else if (words && last && last.stop === start && joins(last.surface, surface)) {
      last.surface += surface;
      last.label = last.surface || last.label + token;
      last.indexes.push(i);
      last.stop = stop;
    } else {
      list.push({ label: words ? surface || token : token, surface, indexes: [i], start, stop, end: false });
    }
  });
  return list;
}

export const sources = (s, how) => units(s.source_tokens, s.offsets.source, s.source_text, how);
export const targets = (s, how) => units(s.tokens, s.offsets.target, s.text, how);

/* {rows, columns, weights [rows][columns]}: summed over source tokens, averaged over target tokens; null without attention. */
export function matrix(s, how) {
  if (!s.attention) return null;
  const rows = targets(s, how), columns = sources(s, how);
  const weight = (row, column) => {
    let sum = 0;
    for (const i of row.indexes) for (const j of column.indexes) sum += s.attention[i][j];
    return Math.min(1, sum / row.indexes.length);
  };
  return { rows, columns, weights: rows.map((row) => columns.map((column) => weight(row, column))), text: s.text, source: s.source_text };
}

/* Of the row's weights on words alone, </s> left out. */
export function share(weights, columns) {
  const rest = columns.reduce((sum, column, j) => sum + (column.end ? 0 : weights[j]), 0);
  return weights.map((w, j) => (columns[j].end || rest < 1e-6 ? 0 : w / rest));
}

export const probability = (s, unit) => Math.exp(Math.min(...unit.indexes.map((i) => s.log_probs[i])));

/* The text that ends with this token in place of token i. */
export function prefix(s, i, token) {
  const before = i > 0 ? s.text.slice(0, s.offsets.target[i - 1].end_utf16) : "";
  const pieces = s.tokens.some((t) => t.startsWith("\u2581"));
  const gap = !pieces && i > 0 && s.offsets.target[i].start_utf16 > s.offsets.target[i - 1].end_utf16 ? " " : "";
  return (before + gap + token.replaceAll("\u2581", " ")).trimStart();
}

/* For each item of b: is it new, compared with a (longest common subsequence). */
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
