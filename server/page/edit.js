/* The translation, edited in place: its drawing, quality and warnings follow the edited text, which the model scores
 * and aligns as if it were its own. */
import { el, find } from "./dom.js";
import * as api from "./api.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

const PAUSE_MS = 250, MOST = 24; /* sentences of a request */
const known = new Map(); /* what the model said of a sentence and its translation, by both */
let running = null;

const keyOf = (app, pair) => JSON.stringify([app.state.model, ...pair]);
/* Ask what the model says of pairs [source, target] that are not known yet. */
async function ask(app, pairs, signal) {
  const left = pairs.filter((pair) => !known.has(keyOf(app, pair)));
  for (let at = 0; at < left.length; at += MOST) {
    const some = left.slice(at, at + MOST), [text, translation] = [0, 1].map((side) => some.map((pair) => pair[side])),
      { results } = await api.askAll("/attention", { model: app.state.model, text, translation }, { signal });
    some.forEach((pair, k) => known.set(keyOf(app, pair), results[k]));
  }
}

/* The sentences of `before` (an answer of together() of pieces.js) that an edit touches: `end` comes after the last,
 * and `target` is their text as it is now, which begins at `from`; by: how much longer the whole is. null: nothing is
 * left. */
function difference({ text: old, places, sentences }, text) {
  const least = Math.min(old.length, text.length), by = text.length - old.length;
  let a = 0, z = 0;
  while (a < least && old[a] === text[a]) a++;
  while (z < least - a && old.at(-1 - z) === text.at(-1 - z)) z++;
  z = old.length - z;
  const ends = places.map(({ target }, k) => target + sentences[k].text.length);
  let first = ends.findIndex((one) => one >= a), end = places.findIndex(({ target }) => target > z);
  if (first < 0) first = ends.length - 1;
  if (end < 0) end = ends.length;
  end = Math.max(end, first + 1);
  if (places.some(({ source, target }) => source < 0 || target < 0))
    [first, end, a, z] = [0, ends.length, 0, old.length];
  for (;;) {
    const from = Math.min(a, places[first].target), target = text.slice(from, Math.max(z, ends[end - 1]) + by);
    if (target.trim()) return { first, end, from, target, by };
    /* A sentence without a translation belongs to its neighbour. */
    if (first > 0) first--;
    else if (end < ends.length) end++;
    else return null;
  }
}

/* `before` with the edited text. Sentences that an edit joins become one. */
async function follow(app, before, text, signal) {
  const touched = difference(before, text);
  if (!touched) return null;
  const { first, end, from, target, by } = touched, { places, sentences } = before,
    source = end - first === sentences.length ? before.of.trim() : before.of.slice(places[first].source,
    places[end - 1].source + sentences[end - 1].source_text.length);
  /* A warning may be about several sentences, which are then asked for one by one. */
  const others = before.warnings.filter((one) => one.first >= end || one.first + one.count <= first),
    gone = before.warnings.filter((one) => !others.includes(one)),
    parts = sentences.map((s, k) => ({ s, source: places[k].source, target: places[k].target + (k < end ? 0 : by),
      pair: gone.some((one) => one.first <= k && k < one.first + one.count) && [s.source_text, s.text] }));
  parts.splice(first, end - first, { source: places[first].source, target: from, pair: [source, target] });
  const asked = parts.filter(({ pair }) => pair);
  await ask(app, asked.map(({ pair }) => pair), signal);
  for (const part of asked) {
    const { sentences: [s], warnings } = known.get(keyOf(app, part.pair));
    Object.assign(part, { s, warnings, target: text.indexOf(s.text, part.target) });
  }
  return { ...before, text, unedited: before.unedited ?? before, touched: first, sentences: parts.map(({ s }) => s),
    places: parts.map((part) => ({ source: part.source, target: part.target })),
    warnings: [...others.map((one) => (one.first < end ? one : { ...one, first: one.first - end + first + 1,
      place: one.place.map((at) => at + by) })), ...parts.flatMap((part, k) => (part.warnings ?? []).map((one) =>
      ({ ...one, first: k, count: 1, place: [part.target, part.target + part.s.text.length] })))] };
}

/* Show what follows from an edit. text: the whole translation as it is now. */
async function take(app, text) {
  running?.abort();
  const { signal } = (running = new AbortController()), { answer, state } = app, first = answer.unedited ?? answer;
  find("edit-error")?.remove();
  try {
    const edited = text === first.text ? first : await follow(app, answer, text, signal);
    if (signal.aborted || app.answer !== answer || answer.of !== state.text || !edited) return;
    app.answer = edited;
    Object.assign(state, { edited: edited.unedited ? text : "", asked: [], active: edited.touched
      ?? Math.min(state.active, edited.sentences.length - 1) });
    app.questions.reset();
    app.view.toggleAttribute("still", true);
    app.remember();
    app.show(true);
    app.tell();
  } catch (error) {
    if (signal.aborted) return;
    find("take").before(Object.assign(failure(error, () => take(app, text)), { id: "edit-error" }));
  }
}

/* Take the edit of a link, or none. */
export async function restore(app) {
  const { edited } = app.state;
  app.answer = app.answer.unedited ?? app.answer;
  if (edited && edited !== app.answer.text) await take(app, edited);
  else app.show();
}
/* Take the model's own text again. */
export function back(app) {
  app.editing?.(true);
  take(app, app.answer.unedited.text);
  find("edit").focus();
}

/* Put a box over the translation, whose words stay below it as a mirror. */
export function edit(app, boxes) {
  const { result } = boxes, opener = find("edit"), stack = el("div", { class: "stack" });
  if (app.editing) return app.editing();
  let timer = 0;
  const box = el("textarea", { id: "edited", class: "text", dir: "auto", lang: result.lang, spellcheck: "true",
    "aria-label": t("The translation, to edit"), value: result.textContent, oninput: () => {
      boxes.retype(box.value);
      clearTimeout(timer);
      timer = setTimeout(() => take(app, box.value).then(() => app.editing && boxes.retype(box.value)), PAUSE_MS);
    }, onkeydown: (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      app.editing();
      opener.focus();
    } });
  result.replaceWith(stack);
  stack.append(result, box);
  result.inert = true;
  opener.textContent = t("Done");
  opener.setAttribute("aria-expanded", true);
  /* Take what was typed last, too, unless another text has been entered since. */
  app.editing = (drop) => {
    app.editing = null;
    clearTimeout(timer);
    const { value } = box;
    stack.replaceWith(result);
    result.inert = false;
    opener.textContent = t("Edit");
    opener.setAttribute("aria-expanded", false);
    if (!drop && app.answer && value !== app.answer.text) take(app, value);
  };
  box.focus();
}
