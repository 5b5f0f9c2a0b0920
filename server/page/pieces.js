/* Long texts: split into pieces that are answered quickly, and their answers joined again. */

const ROOM = 600, LONGEST = 1200; /* characters: paragraphs joined into a piece; a paragraph kept whole */
export const MOST = 200000; /* characters that are translated piece by piece; a longer text had better be a file */

/* Split what is too long for one request, if possible at a space. */
function broken(text, longest) {
  const list = [];
  while (text.length > longest) {
    const head = text.slice(0, longest), space = Math.max(...[" ", "\n", "\t"].map((one) => head.lastIndexOf(one))),
      pair = /[\ud800-\udbff]$/.test(head) ? 1 : 0, at = space > longest / 2 ? space + 1 : longest - pair;
    list.push(text.slice(0, at));
    text = text.slice(at);
  }
  return [...list, text];
}
/* Split a long paragraph at the ends of sentences into stretches of at most `room` characters. A longer sentence is a
 * stretch of its own, up to `longest` characters. */
function cut(text, room, longest) {
  const list = [], parts = typeof Intl.Segmenter === "function"
    ? [...new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text)].map(({ segment }) => segment)
    : text.split(/(?<=[.!?\u3002]\s)/);
  for (const part of parts.flatMap((one) => broken(one, longest))) {
    if (list.length && list.at(-1).length + part.length <= room) list[list.length - 1] += part;
    else list.push(part);
  }
  return list;
}

/* Split a text into pieces [{start, text}], which cover all of it but white space between them. limit: characters that
 * the server takes, 0 if unknown. */
export function pieces(text, limit = 0) {
  const longest = Math.min(LONGEST, limit || LONGEST), room = Math.min(ROOM, longest);
  if (text.length <= longest) return [{ start: 0, text }];
  const found = [];
  let at = 0, open = false;
  const take = (part) => {
    const trimmed = part.trim(), start = at + part.indexOf(trimmed), last = found.at(-1);
    at += part.length;
    if (!trimmed) return;
    if (open && last && start + trimmed.length - last.start <= room)
      last.text = text.slice(last.start, start + trimmed.length);
    else found.push({ start, text: trimmed });
    open = true;
  };
  for (const paragraph of text.split(/(?<=\n)/)) {
    if (paragraph.length <= longest) take(paragraph);
    else for (const part of cut(paragraph, room, longest)) { open = false; take(part); }
  }
  return found;
}

/* Offsets of an answer's sentences: [start in the source, start in the target], -1 where a sentence is not found. */
function placesOf({ text, sentences }, source) {
  let at = [0, 0];
  return sentences.map((s) => {
    const { span } = s.offsets ?? {};
    const place = [[source, s.source_text, span?.source], [text, s.text, span?.target]]
      .map(([whole, part, given], side) => {
      const start = given && whole.startsWith(part, given.start_utf16) ? given.start_utf16
        : whole.indexOf(part, at[side]);
      return start;
    });
    at = place.map((start, side) => (start < 0 ? at[side] : start + [s.source_text, s.text][side].length));
    return place;
  });
}

const GAP = "\u2026"; /* stands for pieces that are not answered yet */

/* Join parts [{start, text, answer}], the pieces of `whole` with their answers, or null where there is none yet, into
 * one answer; at least one is there. Each sentence has a place {source, target}, -1 where it was not found. done: all
 * pieces are answered. */
export function together(whole, parts) {
  const first = parts.find(({ answer }) => answer).answer, sentences = [], warnings = [], places = [];
  let text = "", at = 0;
  for (const { start, text: source, answer } of parts) {
    const from = text.length + start - at;
    if (answer || !text.endsWith(GAP)) text += whole.slice(at, start) + (answer?.text ?? GAP);
    at = start + source.length;
    if (!answer) continue;
    answer.sentences.forEach((s, k) => {
      const [a, b] = (answer.places ??= placesOf(answer, source))[k];
      sentences.push(s);
      places.push({ source: a < 0 ? -1 : start + a, target: b < 0 ? -1 : from + b });
    });
    warnings.push(...answer.warnings.map((warning) => ({ ...warning, place: [from, from + answer.text.length],
      first: sentences.length - answer.sentences.length, count: answer.sentences.length })));
  }
  text += whole.slice(at);
  return { ...first, of: whole, text, sentences, places, warnings, done: parts.every(({ answer }) => answer) };
}
