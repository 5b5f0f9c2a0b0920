/* Lines of a sentence that is too long for one: the source is cut into chunks, and the translation into chunks that
 * belong to them, so that each line of the source can stand above its line of the translation. */
import { el } from "./dom.js";

const CHUNK = 0.4, RAGGED = 1, EMPTY = 2; /* costs of a line, of the room that it leaves, and of one without words */
/* How far, as a share of the sentence, a boundary of one side may be from that of the other. */
const slant = (n, m) => Math.max(0.12, 12 / Math.max(n, m));

/* Words that no line may part [{first, end, width}]: a line may begin only after white space, or at a character of a
 * script without spaces. gaps[k]: the text before word k; widths in px. */
export function atoms(gaps, texts, widths) {
  const wide = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]/u, mark = /^[\p{P}\p{S}]/u, list = [];
  texts.forEach((text, k) => {
    const parts = k === 0 || /\s/.test(gaps[k]) || (wide.test(text[0] ?? "") && !mark.test(text));
    if (parts) list.push({ first: k, end: k + 1, width: widths[k] });
    else {
      list.at(-1).end = k + 1;
      list.at(-1).width += widths[k];
    }
  });
  return list;
}

/* Sums of weights [rows][columns] over the atoms before each boundary. */
function sums(above, below, weights) {
  const table = [new Float64Array(above.length + 1)];
  for (const { first, end } of below) {
    const row = new Float64Array(above.length + 1), last = table.at(-1);
    above.forEach((atom, j) => {
      let sum = 0;
      for (let i = first; i < end; i++) for (let k = atom.first; k < atom.end; k++) sum += weights[i]?.[k] ?? 0;
      row[j + 1] = row[j] + last[j + 1] - last[j] + sum;
    });
    table.push(row);
  }
  return table;
}

/* Cut both sides into equally many chunks of at most `room` px, so that little weight joins different chunks, and lines
 * are full: [[source atoms, target atoms], ...], the ends of each. null if an atom is wider than the room. */
export function chunks(above, below, weights, room) {
  const n = above.length, m = below.length;
  if ([...above, ...below].some(({ width }) => width > room)) return null;
  const most = n && m ? slant(n, m) : Infinity, inside = sums(above, below, weights),
    best = Array.from({ length: n + 1 }, () => new Array(m + 1));
  best[0][0] = { cost: 0 };
  for (let j = 0; j <= n; j++) {
    for (let i = 0; i <= m; i++) {
      const here = best[j][i];
      if (!here) continue;
      for (let a = j, source = 0; a <= n; source += above[a]?.width ?? 0, a++) {
        if (source > room) break;
        for (let b = i, target = 0; b <= m; target += below[b]?.width ?? 0, b++) {
          if (target > room) break;
          const last = a === n && b === m;
          if ((a === j && b === i) || (!last && Math.abs(a / n - b / m) > most)) continue;
          const held = inside[b][a] - inside[i][a] - inside[b][j] + inside[i][j],
            left = last ? 0 : 1 - Math.max(source, target) / room;
          const cost = here.cost - held + CHUNK + RAGGED * left * left + (a === j || b === i ? EMPTY : 0);
          if (!(best[a][b]?.cost <= cost)) best[a][b] = { cost, from: [j, i] };
        }
      }
    }
  }
  const found = [];
  for (let at = [n, m]; at[0] + at[1] > 0; at = best[at[0]][at[1]].from) {
    if (!best[at[0]][at[1]]) return null;
    found.unshift(at);
  }
  return found;
}

const widthOf = (word) => [...word.getClientRects()].reduce((sum, { width }) => sum + width, 0);

/* Break both lines of words where their chunks end, if one of them is wider than its place. Return the number of the
 * chunk of each word [source, target], or null if each side is one line. sides: {place, words}, their elements. */
export function interlinear(node, sides, weights) {
  for (const { place } of sides) for (const br of place.querySelectorAll("br")) br.remove();
  node.classList.remove("inter");
  const room = sides[0].place.clientWidth - 2;
  const fits = sides.every(({ words }) => words.reduce((sum, word) => sum + widthOf(word), 0) <= room);
  if (!weights.length || !(room > 0) || fits) return null;
  node.classList.add("inter"); /* its letters are smaller */
  const lists = sides.map(({ words }) => atoms(words.map((word) => (word.previousSibling?.nodeName === "#text"
    ? word.previousSibling.data : "")), words.map((word) => word.textContent || " "),
    words.map(widthOf)));
  const ends = chunks(...lists, weights, room);
  if (!ends) {
    node.classList.remove("inter");
    return null;
  }
  return sides.map(({ words }, side) => {
    const number = [];
    let from = 0;
    ends.forEach((end, k) => {
      for (const atom of lists[side].slice(from, end[side]))
        for (let word = atom.first; word < atom.end; word++) number[word] = k;
      /* An empty line is a break more. */
      const next = lists[side][end[side]];
      if (next) words[next.first].before(el("br"));
      else if (end[side] === from && k) words.at(-1).after(el("br"));
      from = end[side];
    });
    return number;
  });
}
