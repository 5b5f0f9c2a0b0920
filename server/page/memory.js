/* State that outlives a visit: the URL's fragment, which is the link to share, and the list of past texts. */
import { LOOKS } from "./sentence.js";

const STORED = { text: "t", model: "m", strategy: "s", beam: "b", view: "v" };
/* Flags with their defaults, which the link omits. */
const FLAGS = { auto: false, words: true, eos: false, lines: false, asTable: false, ofOwn: false, whole: false };
/* Strings, which the link omits if they are empty. */
const WRITTEN = { glossary: "gl", own: "own", edited: "e", also: "al", otherText: "t2", otherModel: "m2",
  otherStrategy: "s2", head: "h", step: "n", why: "w", word: "i", instead: "not", links: "g" };
const STRATEGIES = ["beam", "greedy", "sample", "exact"];
const KEEP = 20;

/* A longer text is not in the link: servers and chats cut long addresses. This browser's history keeps it. */
const LINKED = 2000;
export const inLink = (text) => text.length <= LINKED;

export const width = (text) => Math.min(32, Math.max(1, Math.round(Number(text)) || 5));

function linkOf(state) {
  const parts = new URLSearchParams();
  for (const [name, key] of Object.entries(STORED))
    if (name !== "text" || inLink(state.text)) parts.set(key, state[name]);
  if (state.strategy === "sample" && state.seed !== undefined) parts.set("seed", state.seed);
  for (const [name, usual] of Object.entries(FLAGS)) if (state[name] !== usual) parts.set(name, Number(state[name]));
  for (const [name, key] of Object.entries(WRITTEN))
    if (state[name] && inLink(state[name])) parts.set(key, state[name]);
  if (state.look !== LOOKS[0]) parts.set("look", state.look);
  if (state.active) parts.set("k", state.active);
  for (const question of state.asked) parts.append("q", question);
  return `#${parts}`;
}

/* step: add an entry to the browser's history. */
export function writeLink(state, step = false) {
  const link = linkOf(state), kept = inLink(state.text) ? null : { text: state.text };
  if (link === location.hash && kept?.text === history.state?.text) return;
  try {
    history[step ? "pushState" : "replaceState"](kept, "", link);
  } catch { /* the text is too long for the history, or the link changes too often */
    history.replaceState(null, "", link);
  }
}

/* Read the part of the state that the link holds, and make it valid. */
export function readLink(state, views) {
  const parts = new URLSearchParams(location.hash.slice(1)), active = parts.get("k");
  for (const [name, key] of Object.entries(STORED)) if (parts.has(key)) state[name] = parts.get(key);
  if (history.state?.text) state.text = history.state.text;
  for (const [name, usual] of Object.entries(FLAGS)) state[name] = parts.has(name) ? parts.get(name) === "1" : usual;
  for (const [name, key] of Object.entries(WRITTEN)) state[name] = parts.get(key) ?? "";
  state.seed = /^\d{1,15}$/.test(parts.get("seed")) ? Number(parts.get("seed")) : undefined;
  state.look = LOOKS.includes(parts.get("look")) ? parts.get("look") : LOOKS[0];
  state.active = /^\d{1,3}$/.test(active) ? Number(active) : 0;
  state.asked = parts.getAll("q");
  state.beam = width(state.beam);
  if (!views.includes(state.view)) state.view = views[0];
  if (!STRATEGIES.includes(state.strategy)) state.strategy = STRATEGIES[0];
}

/* State that is reset for a new text. */
export const fresh = () => ({ seed: undefined, active: 0, asked: [], own: "", edited: "", word: "", step: "",
  instead: "", links: "", whole: false });
/* Whether a text is another one, and not the text before, edited: Back then returns to that. */
export function another(before, text) {
  const least = Math.min(before.length, text.length);
  let first = 0, last = 0;
  while (first < least && before[first] === text[first]) first++;
  while (last < least - first && before.at(-1 - last) === text.at(-1 - last)) last++;
  return least > 0 && 2 * (first + last) < least;
}
/* Key of a translation request: if it is unchanged, the translation need not be requested again. */
export const asks = ({ text, model, auto, strategy, beam, seed, whole, glossary }) =>
  JSON.stringify([text, model, auto, strategy, beam, seed, whole, glossary]);

/* [{text, model}], most recent first. */
export function past() {
  try {
    const kept = JSON.parse(localStorage.getItem("alignd") ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch { return []; }
}

function store(list) {
  try { localStorage.setItem("alignd", JSON.stringify(list)); } catch { /* storage is full or forbidden */ }
}
export const remember = ({ text, model }) =>
  store([{ text, model }, ...past().filter((item) => item.text !== text || item.model !== model)].slice(0, KEEP));
export const forget = () => store([]);
