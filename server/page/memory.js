/* What outlives a visit: the URL's fragment, which is the link to share, and the history. */
import { LOOKS } from "./sentence.js";

const STORED = { text: "t", model: "m", strategy: "s", beam: "b", view: "v" };
const FLAGS = { words: true, eos: false, lines: false }; /* with their defaults, which the link leaves out */
const LOOK = "look";
const STRATEGIES = ["beam", "greedy", "sample", "exact"];
const KEEP = 20;

export const width = (text) => Math.min(32, Math.max(1, Math.round(Number(text)) || 5));

export function writeLink(state) {
  const parts = new URLSearchParams();
  for (const [name, key] of Object.entries(STORED)) parts.set(key, state[name]);
  if (state.strategy === "sample" && state.seed !== undefined) parts.set("seed", state.seed);
  for (const [name, usual] of Object.entries(FLAGS)) if (state[name] !== usual) parts.set(name, Number(state[name]));
  if (state.look !== LOOKS[0]) parts.set(LOOK, state.look);
  history.replaceState(null, "", `#${parts}`);
}

/* The link's part of the state, made valid. */
export function readLink(state, views) {
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const [name, key] of Object.entries(STORED)) if (parts.has(key)) state[name] = parts.get(key);
  for (const name of Object.keys(FLAGS)) if (parts.has(name)) state[name] = parts.get(name) === "1";
  if (/^\d{1,15}$/.test(parts.get("seed"))) state.seed = Number(parts.get("seed"));
  state.look = LOOKS.includes(parts.get(LOOK)) ? parts.get(LOOK) : LOOKS[0];
  state.beam = width(state.beam);
  if (!views.includes(state.view)) state.view = views[0];
  if (!STRATEGIES.includes(state.strategy)) state.strategy = STRATEGIES[0];
}

/* [{text, model}], the last one first. */
export function past() {
  try {
    const kept = JSON.parse(localStorage.getItem("alignd") ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch { return []; }
}

function store(list) {
  try { localStorage.setItem("alignd", JSON.stringify(list)); } catch { /* storage is full or forbidden */ }
}
export const remember = ({ text, model }) => store([{ text, model }, ...past().filter((item) => item.text !== text || item.model !== model)].slice(0, KEEP));
export const forget = () => store([]);
