/* Long texts: split into pieces that are answered quickly, and their answers joined again. */

const ROOM = 600, LONGEST = 1200; /* characters: paragraphs joined into a piece; a paragraph kept whole */

/* Split a long paragraph at the ends of sentences into stretches of at most ROOM characters. A longer sentence is a
 * stretch of its own. */
function cut(text) {
  const list = [], parts = typeof Intl.Segmenter === "function"
    ? [...new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text)].map(({ segment }) => segment)
    : text.split(/(?<=[.!?\u3002]\s)/);
  for (const part of parts) {
    if (list.length && list.at(-1).length + part.length <= ROOM) list[list.length - 1] += part;
    else list.push(part);
  }
  return list;
}

/* Split a text into pieces [{start, text}], which cover all of it but white space between them. A text of up to LONGEST
 * characters is one piece. */
export function pieces(text) {
  if (text.length <= LONGEST) return [{ start: 0, text }];
  const found = [];
  let at = 0, open = false;
  const take = (part) => {
    const trimmed = part.trim(), start = at + part.indexOf(trimmed), last = found.at(-1);
    at += part.length;
    if (!trimmed) return;
    if (open && last && start + trimmed.length - last.start <= ROOM)
      last.text = text.slice(last.start, start + trimmed.length);
    else found.push({ start, text: trimmed });
    open = true;
  };
  for (const paragraph of text.split(/(?<=\n)/)) {
    if (paragraph.length <= LONGEST) take(paragraph);
    else for (const part of cut(paragraph)) { open = false; take(part); }
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

/* Join parts [{start, text, answer}], the answers to the first pieces of `whole`, into one answer. Each sentence has a
 * place {source, target}, -1 where it was not found. done: all pieces are answered. */
export function together(whole, parts, done) {
  const [{ answer: first }] = parts, sentences = [], warnings = [], places = [];
  let text = "", at = 0;
  for (const { start, text: source, answer } of parts) {
    text += whole.slice(at, start);
    const from = text.length;
    answer.sentences.forEach((s, k) => {
      const [a, b] = (answer.places ??= placesOf(answer, source))[k];
      sentences.push(s);
      places.push({ source: a < 0 ? -1 : start + a, target: b < 0 ? -1 : from + b });
    });
    text += answer.text;
    warnings.push(...answer.warnings.map((warning) => ({ ...warning, place: [from, text.length],
      first: sentences.length - answer.sentences.length, count: answer.sentences.length })));
    at = start + source.length;
  }
  if (done) text += whole.slice(at);
  return { ...first, of: whole, text, sentences, places, warnings, done };
}
