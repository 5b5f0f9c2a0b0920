/* The two boxes: the text, with a mirror below it that shades its words, and the translation as selectable text. */
import { button, el, find, copy, roving } from "./dom.js";
import { choosable, marks, shade } from "./reading.js";
import { t } from "./say.js";
import { count, languageName } from "./speak.js";
import { matrix, sources, targets } from "./sentence.js";

const LONG = 300; /* characters from which letters are smaller */
const HOW = { words: true, eos: false, look: "alignment" };
const SAYS = {
  numbers: ({ source, target }) => (target.length ? t("Check the numbers: {0} became {1}.", source.join(", "),
    target.join(", ")) : t("Check the numbers: {0} is missing.", source.join(", "))),
  signs: ({ source, target }) => t("Check the signs: {0}.", [...source, ...target].join(" ")),
  doubtful: () => t("Probably wrong: the model is not sure of this."),
  untranslated: () => t("Not translated: the model cannot read it or found no translation."),
  shortened: () => t("Some of the text may be missing here."),
  unknown: () => t("Many of these words are unknown to the model."),
};

/* Fill a place with a text whose words are elements. Return the element of each word; null for one that is empty or
 * overlaps another. */
function fill(place, text, words, className) {
  const nodes = [], content = [];
  let at = 0;
  for (const { start, stop, s, k, mark } of words) {
    if (start < at || stop <= start) { nodes.push(null); continue; }
    const node = el("span", { class: ["word", mark?.class, className].filter(Boolean).join(" "), "data-s": s,
      vars: mark?.vars });
    node.textContent = text.slice(start, stop);
    Object.assign(node, { word: k, start, stop });
    content.push(text.slice(at, start), node);
    nodes.push(node);
    at = stop;
  }
  content.push(text.slice(at));
  place.replaceChildren(...content);
  return nodes;
}

/* onPoint(s, i): target word i of sentence s is pointed at, or -1 for none; onChoose(s, i): it is chosen. */
export class Translator {
  #source = [];
  #target = [];
  #flat = [];
  #lit = [];
  #answer = null;
  constructor({ onPoint, onChoose }) {
    Object.assign(this, { box: find("text"), mirror: find("mirror"), result: find("result"), onPoint });
    const at = (event) => event.target.closest?.(".word"),
      go = (word) => (word ? this.point(Number(word.dataset.s), word.word) : this.rest());
    choosable(this.result, (k) => { const word = this.#flat[k]; onChoose(Number(word.dataset.s), word.word); });
    for (const type of ["pointerover", "focusin"]) this.result.addEventListener(type, (event) => {
      if (at(event)) go(at(event));
    });
    for (const type of ["pointerleave", "focusout"]) this.result.addEventListener(type, () => this.rest());
    const below = ({ clientX, clientY }) => document.elementsFromPoint(clientX, clientY)
      .find((node) => node.matches("#mirror .word"));
    this.box.addEventListener("pointermove", (event) => {
      const word = below(event);
      word ? this.pointSource(Number(word.dataset.s), word.word) : this.rest();
    });
    this.box.addEventListener("click", (event) => {
      const word = below(event);
      if (word) this.pointSource(Number(word.dataset.s), word.word);
    });
    this.box.addEventListener("pointerleave", ({ pointerType }) => { if (pointerType !== "touch") this.rest(); });
    find("copy").addEventListener("click", () => this.#copied(this.#answer.text));
    this.#speech();
  }
  async #copied(text) {
    await copy(text);
    this.say(t("Copied."));
  }
  say(text) { find("said").textContent = text; }

  /* The text has changed, and its words are no longer known. The mirror gives both boxes their height. */
  typed() {
    this.mirror.textContent = `${this.box.value}\n`;
    this.#source = [];
    this.#lit = [];
  }
  counted(limit) {
    const { length } = this.box.value, place = find("counter");
    place.textContent = limit ? `${count(length)} / ${count(limit)}` : count(length);
    place.classList.toggle("over", limit > 0 && length > limit);
    find("clear").hidden = !length;
    this.box.closest(".boxes").classList.toggle("wide", length > LONG);
  }

  /* answer: from together() of pieces.js, or null. */
  draw(answer, langs, limit) {
    this.#answer = answer;
    this.#lit = [];
    const { result } = this;
    find("take").hidden = !answer;
    find("warnings").hidden = true;
    this.say("");
    if (langs) [this.box.lang, result.lang] = langs;
    if (!answer) { this.#target = []; this.typed(); return result.replaceChildren(); }
    const words = [[], []];
    answer.sentences.forEach((s, k) => {
      const units = [sources(s, HOW).filter((unit) => !unit.end), targets(s, HOW)], mark = marks(s, HOW),
        place = [answer.places[k].source, answer.places[k].target];
      units.forEach((list, side) => {
        if (place[side] >= 0)
          list.forEach((unit, i) => words[side].push({ start: place[side] + unit.start, stop: place[side] + unit.stop,
          s: k, k: i, mark: side ? mark(unit, i) : null }));
      });
    });
    const made = [fill(this.mirror, answer.of, words[0]), fill(result, answer.text, words[1])];
    this.mirror.append("\n");
    [this.#source, this.#target] = made.map((nodes) => {
      const by = answer.sentences.map(() => []);
      for (const node of nodes) if (node) by[node.dataset.s][node.word] = node;
      return by;
    });
    const flat = (this.#flat = made[1].filter(Boolean));
    flat.forEach((node, k) => { node.dataset.k = k; });
    if (flat.length) roving(result, flat);
    this.#warn(answer);
    this.counted(limit);
    this.#listening();
  }
  /* List the warnings, and mark the words that they are about. */
  #warn(answer) {
    const warnings = answer.warnings.filter(({ code }) => code in SAYS),
      all = warnings.map((warning) => SAYS[warning.code](warning));
    const list = warnings.map((warning, k) => {
      const says = all[k], nodes = this.#concerned(answer, warning);
      for (const node of nodes) {
        node.classList.add("warned");
        node.title = [node.title, says].filter(Boolean).join(" ");
      }
      const which = nodes.length && all.indexOf(says) !== all.lastIndexOf(says)
        ? ` (${t("Sentence {0} of {1}", Number(nodes[0].dataset.s) + 1, answer.sentences.length)})` : "";
      return el("li", {}, nodes.length ? button(says + which, () => nodes[0].focus()) : says);
    });
    find("warnings").hidden = !list.length;
    find("warnings").replaceChildren(...list);
  }
  #concerned(answer, { code, target, words, place: [from, to], first, count: many }) {
    const within = this.#target.slice(first, first + many), all = within.flat().filter(Boolean);
    if (code === "numbers") {
      const text = answer.text.slice(from, to),
        nodes = all.filter((node) => target.some((one) => one.includes(node.textContent)
        || node.textContent.includes(one)));
      return text && nodes.length ? nodes : [];
    }
    if (words || code === "doubtful")
      return all.filter((node) => words?.some((word) => node.start < from + word.end_utf16
      && from + word.start_utf16 < node.stop));
    return code === "shortened" ? all.slice(-3) : all;
  }

  #shade(list) {
    for (const words of this.#lit) if (!list.some(([other]) => other === words)) shade(words, null);
    for (const [words, weights] of list) shade(words, weights);
    this.#lit = list.map(([words]) => words);
  }
  rest() { this.#shade([]); this.onPoint(-1, -1); }
  point(s, i) {
    const view = matrix(this.#answer.sentences[s], HOW);
    if (view && this.#source[s]) this.#shade([[this.#source[s], view.weights[i]]]);
    this.onPoint(s, i);
  }
  pointSource(s, j) {
    const view = matrix(this.#answer.sentences[s], HOW);
    if (view && this.#target[s]) this.#shade([[this.#target[s], view.weights.map((row) => row[j])]]);
  }

  /* ---- speech, where the browser has a voice ---- */

  #voice(lang) {
    return lang && window.speechSynthesis?.getVoices()
      .find((voice) => voice.lang.split(/[-_]/)[0] === lang.split("-")[0]);
  }
  #listening() {
    find("listen").hidden = !this.#answer || !this.#voice(this.result.lang);
    find("listen-source").hidden = !this.box.value || !this.#voice(this.box.lang);
  }
  #speech() {
    window.speechSynthesis?.addEventListener?.("voiceschanged", () => this.#listening());
    const read = (text, lang) => {
      speechSynthesis.cancel();
      speechSynthesis.speak(Object.assign(new SpeechSynthesisUtterance(text), { voice: this.#voice(lang), lang }));
    };
    find("listen").addEventListener("click", () => read(this.#answer.text, this.result.lang));
    find("listen-source").addEventListener("click", () => read(this.box.value, this.box.lang));
  }
}

/* ---- languages ---- */

/* Common languages that this server may lack. They are listed nevertheless, and choosing one shows how to get a
 * model. */
const MORE =
  "ar bg ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv nb nl pl pt ro ru sk sl sr sv th tr uk vi zh".split(" ");
const byName = (codes) => [...new Set(codes)].sort((a, b) => languageName(a).localeCompare(languageName(b)));
const options = (codes) => byName(codes).map((code) => el("option", { value: code }, languageName(code)));

/* Fill the language lists. others: [{value, label}], further targets: the models that do not translate. */
export function languageLists(languages, { source, target, auto, detected }, others) {
  const known = languages.map(({ code }) => code), reach = languages.find(({ code }) => code === source)?.targets ?? [],
    from = find("from"), to = find("to");
  from.replaceChildren(el("option", { value: "auto" }, auto && detected ? t("Detected: {0}", languageName(detected))
    : t("Detect language")), ...options(known),
    el("optgroup", { label: t("Not installed") }, options(MORE.filter((code) => !known.includes(code)))));
  to.replaceChildren(...options(auto ? languages.flatMap(({ targets: all }) => all) : reach),
    ...others.map(({ value, label }) => el("option", { value }, label)));
  const rest = [...known, ...MORE].filter((code) => code !== source
    && ![...to.options].some(({ value }) => value === code));
  to.append(el("optgroup", { label: t("Not installed") }, options(rest)));
  from.value = auto ? "auto" : source;
  to.value = target;
}

/* Message that no model translates these languages, and how to get one. */
export function missing(source, target) {
  const command = `alignd get ${source}-${target}`;
  return el("div", { class: "state", id: "missing" },
    el("strong", {}, t("No model here translates {0} to {1}.", languageName(source), languageName(target))),
    el("p", {}, t("Whoever runs this server can get one, if there is one to get:")),
      el("pre", { tabindex: 0 }, command), button(t("Copy"), () => copy(command)));
}
