/* A small panel at a word of the translation: the words that could stand there, with how the sentence goes on for each,
 * and what the word was made from. */
import { button, el, group, note, rovingIn, toggle } from "./dom.js";
import * as api from "./api.js";
import { beside } from "./alternatives.js";
import { matrix, partners, prefix, targets, tokensOf } from "./sentence.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

const MOST = 6, N_BEST = 5; /* rows; hypotheses of a search */
const HOW = { words: true, eos: false, look: "alignment" };
/* What of the sentence stays. */
const KEEPS = { before: "Keep the beginning", after: "Keep from here", both: "Keep both ends" };

/* The first word of a text, with the marks around it that are not spaces. */
function firstWord(text) {
  const rest = text.trimStart();
  if (typeof Intl.Segmenter !== "function") return rest.split(/\s/)[0];
  let word = "";
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(rest)) {
    if (!segment.trim()) break;
    word += segment;
    if (isWordLike) break;
  }
  return word;
}

/* The hypotheses [{text, log_prob}] of a search. */
async function texts(app, fields, signal) {
  const { strategy, beam_size: _, seed: __, ...named } = app.search(), n = fields.n_best ?? 1;
  const reply = await api.ask(api.pathOf(named), { ...named, strategy: "beam", beam_size: Math.max(n, app.state.beam),
    text: app.base().source_text, split_sentences: false, include: ["tokens"], ...fields }, undefined, { signal });
  const [{ sentences }] = reply.results ?? reply.translations;
  return sentences[0]?.hypotheses ?? sentences.slice(0, 1);
}
/* The texts that several searches find. One that fails (too long) finds none. sorted: the most likely first. */
async function several(app, list, signal, sorted = true) {
  const found = await Promise.allSettled(list.map((fields) => texts(app, fields, signal)));
  if (found.every(({ status }) => status === "rejected")) throw found[0].reason;
  const all = found.flatMap(({ value }) => value ?? []);
  return (sorted ? all.sort((a, b) => b.log_prob - a.log_prob) : all).map(({ text }) => text);
}

/* Rows [{text, from, to}]: a whole sentence, and where in it the word stands. */
const FIND = {
  async before(app, s, unit, signal) {
    const head = s.text.slice(0, unit.start), [step] = tokensOf(unit);
    const tokens = (s.top_k?.[step] ?? []).filter(({ token }) => token !== s.tokens[step] && !token.startsWith("</"));
    const found = await several(app, [{ n_best: N_BEST, ...(head && { prefix: head }) },
      ...tokens.map(({ token }) => ({ prefix: prefix(s, step, token) }))], signal);
    return found.filter((text) => text.startsWith(head.trimEnd())).map((text) => {
      const from = text.length - text.slice(head.trimEnd().length).trimStart().length;
      return { text, from, to: from + firstWord(text.slice(from)).length };
    }).filter(({ from, to }) => to > from);
  },
  async after(app, s, unit, signal) {
    const tail = s.text.slice(unit.stop), words = (await FIND.before(app, s, unit, signal))
      .map(({ text, from, to }) => text.slice(from, to)).filter((word) => word !== unit.surface);
    const list = [...new Set(words)].slice(0, MOST - 1), found = await several(app,
      list.map((word) => ({ suffix: word + tail })), signal);
    return found.map((text) => {
      const word = list.find((one) => text.endsWith(one + tail)) ?? "", to = text.length - tail.length;
      return { text, from: to - word.length, to };
    });
  },
  async both(app, s, unit, signal) {
    const head = s.text.slice(0, unit.start), tail = s.text.slice(unit.stop),
      found = await several(app, [{ n_best: N_BEST, ...(head && { prefix: head }),
        ...(tail.trim() && { suffix: tail }) },
        ...(await FIND.before(app, s, unit, signal)).map(({ text, from, to }) => ({ prefix: text.slice(0, to),
        ...(tail.trim() && { suffix: tail }) })).slice(0, MOST)], signal);
    return found.map((text) => {
      const to = text.endsWith(tail.trimStart()) ? text.length - tail.length : text.length;
      return { text, from: Math.min(head.length, to), to };
    });
  },
};

/* The rows without repetitions: of those with the same word at the same place the first. */
function distinct(rows, keep) {
  const known = new Set();
  return rows.filter(({ text, from, to }) => {
    const key = keep === "before" ? text.slice(from, to) : text;
    return known.has(key) ? false : known.add(key);
  }).slice(0, MOST);
}

let box = null, running = null;
/* Open the panel of word i of the active sentence. opener: its element in the result. */
export function openWord(app, i, opener) {
  const s = app.sentence(), unit = targets(s, HOW)[i];
  if (!unit) return;
  box ??= document.body.appendChild(el("div", { class: "popover", id: "word", popover: "", role: "dialog" }));
  if (box.matches(":popover-open")) box.hidePopover();
  const view = matrix(s, HOW), from = view ? partners(view, i) : [],
    list = el("ul", { id: "word-list", "aria-label": t("Alternatives") }),
    said = el("p", { class: "read", role: "status" }), keeps = el("div");
  box.setAttribute("aria-label", t("Instead of {0}", unit.surface));
  box.replaceChildren(el("p", { class: "title" }, el("b", { dir: "auto" }, unit.surface), from.length > 0
    && [` ${t("from")} `, el("span", { dir: "auto", id: "made-from" }, from.join(", "))]), keeps, list, said);
  const buttons = () => [...list.querySelectorAll("button:not(:disabled)")];
  rovingIn(list, buttons, () => {}, 1);

  async function show(keep) {
    running?.abort();
    const mine = (running = new AbortController());
    keeps.replaceChildren(group(t("What stays"), Object.entries(KEEPS).map(([name, says]) =>
      toggle(t(says), name === keep, () => show(name), { id: `keep-${name}` }))));
    list.replaceChildren();
    list.setAttribute("aria-busy", true);
    said.textContent = t("Searching");
    const inside = box.contains(document.activeElement) || document.activeElement === document.body;
    if (inside) keeps.querySelector(`#keep-${keep}`).focus();
    try {
      const rows = distinct(await FIND[keep](app, s, unit, mine.signal), keep);
      if (mine.signal.aborted) return;
      list.replaceChildren(...rows.map(({ text, from: a, to: b }) => {
        const same = text === s.text || (keep === "before" && text.slice(a, b) === unit.surface),
          cut = Math.max(0, a - 40);
        return el("li", {}, button([el("span", { dir: "auto" }, keep !== "before" && [cut ? "\u2026" : "",
          el("span", { class: "rest" }, text.slice(cut, a))], el("b", {}, text.slice(a, b)),
          el("span", { class: "rest" }, text.slice(b)))], () => {
          box.hidePopover();
          app.questions.put(i, text);
        }, { disabled: same, title: same && t("as it is") }));
      }));
      const others = buttons();
      said.textContent = others.length ? t("{0} alternatives. Arrow keys and Enter choose one.", others.length)
        : t("The search finds nothing else here.");
      beside(box, opener);
      if (box.contains(document.activeElement)) (others[0] ?? document.activeElement).focus();
    } catch (error) {
      if (!mine.signal.aborted) said.replaceChildren(failure(error, () => show(keep)));
    } finally {
      list.removeAttribute("aria-busy");
    }
  }
  box.onbeforetoggle = ({ newState }) => {
    if (newState !== "closed") return;
    running?.abort();
    if (box.contains(document.activeElement)) (opener.isConnected ? opener : app.view).focus();
  };
  box.showPopover();
  if (app.asks()) show("before");
  else box.append(note(t("Two models translate this in turn. Choose one of them to ask it.")));
  beside(box, opener);
  keeps.querySelector("[aria-pressed='true']")?.focus();
}
