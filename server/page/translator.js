/* The two boxes: the text, with a mirror below it that shades its words, and the translation as selectable text. */
import { button, el, find, copy, rovingIn } from "./dom.js";
import { choosable, marks, named, shade } from "./reading.js";
import { t } from "./say.js";
import { byName, count, languageName, MORE } from "./speak.js";
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

/* Number of characters with which both texts begin. */
function common(a, b) {
  if (a === b) return a.length;
  let k = 0;
  while (k < a.length && a[k] === b[k]) k++;
  return k;
}

const NONE = {};
/* A text in a place, some of whose words are elements. A new text changes only what differs, so that what stays is not
 * drawn again, and a long text is cheap to edit. */
class Text {
  parts = []; /* [{says, node, word}] in order; word: undefined for what is between words */
  words = []; /* the elements of words, in order */
  /* props: attributes of each word's element. */
  constructor(place, props) { Object.assign(this, { place, props }); }

  /* words [{start, stop, s, k, mark}]: word k of sentence s. One that is empty or overlaps another is left out. */
  fill(text, words) {
    const parts = [];
    let at = 0;
    const upTo = (end) => { if (end > at) parts.push({ says: text.slice(at, end) }); at = end; };
    for (const word of words) {
      if (word.start < at || word.stop <= word.start) continue;
      upTo(word.start);
      parts.push({ says: text.slice(word.start, word.stop), word });
      at = word.stop;
    }
    upTo(text.length);
    this.#change(parts);
  }
  /* The text has changed, and what is new in it has no known words yet. */
  retype(text) {
    const { parts } = this, first = [], last = [];
    let from = 0, to = text.length, i = 0, j = parts.length - 1;
    for (; i < parts.length && text.startsWith(parts[i].says, from); i++) {
      first.push(parts[i]);
      from += parts[i].says.length;
    }
    for (; j >= i && to - parts[j].says.length >= from && text.endsWith(parts[j].says, to); j--) {
      last.unshift(parts[j]);
      to -= parts[j].says.length;
    }
    this.#change([...first, ...(to > from ? [{ says: text.slice(from, to) }] : []), ...last]);
  }
  #change(parts) {
    const old = this.parts, same = (a, b) => a.says === b.says && !a.word === !b.word;
    let first = 0, last = 0;
    const least = Math.min(old.length, parts.length);
    while (first < least && same(old[first], parts[first])) first++;
    while (last < least - first && same(old[old.length - 1 - last], parts[parts.length - 1 - last])) last++;
    for (const { node } of old.slice(first, old.length - last)) node.remove();
    const after = last ? old[old.length - last].node : null, made = document.createDocumentFragment();
    parts.forEach((part, at) => {
      const before = at < first ? old[at] : at >= parts.length - last ? old[at - parts.length + old.length] : null;
      part.node = before?.node ?? (part.word ? el("span", { class: "word", ...this.props }, part.says)
        : document.createTextNode(part.says));
      if (!before) made.append(part.node);
      if (part.word) this.#mark(part.node, part.word);
    });
    this.place.insertBefore(made, after);
    this.parts = parts;
    this.words = parts.filter(({ word }) => word).map(({ node }) => node);
    this.words.forEach((node, index) => { node.index = index; });
  }
  #mark(node, { start, stop, s, k, mark, says }) {
    const name = ["word", mark?.class].filter(Boolean).join(" "), vars = mark?.vars ?? NONE;
    Object.assign(node, { s, word: k, start, stop });
    if (node.kind !== name) node.className = node.kind = name;
    if (says && node.says !== says) node.setAttribute("aria-label", node.says = says);
    if (node.vars === vars) return;
    for (const key of Object.keys(node.vars ?? {})) if (!(key in vars)) node.style.removeProperty(key);
    for (const [key, value] of Object.entries(vars)) if (node.vars?.[key] !== value) node.style.setProperty(key, value);
    node.vars = vars;
  }
}

/* Words of a sentence on each side, with their marks. They are computed once, however often the text is drawn. */
const known = new WeakMap();
function wordsOf(s) {
  if (!known.has(s)) {
    const mark = marks(s, HOW), view = matrix(s, HOW);
    known.set(s, [sources(s, HOW).filter((unit) => !unit.end).map(({ start, stop }) => ({ start, stop, mark: null })),
      targets(s, HOW).map((unit, i) => ({ start: unit.start, stop: unit.stop, mark: mark(unit, i),
        says: named(view, unit, i) }))]);
  }
  return known.get(s);
}

/* onPoint(s, i): target word i of sentence s is pointed at, or -1 for none; onChoose(s, i, node): it is chosen. */
export class Translator {
  #source = []; /* elements of words by sentence */
  #target = [];
  #stop = null; /* the word of the translation that the Tab key reaches */
  #lit = [];
  #warned = [];
  #answer = null;
  rich = async () => false; /* copies the translation with its markup, if it has any */
  constructor({ onPoint, onChoose }) {
    Object.assign(this, { box: find("text"), mirror: find("mirror"), result: find("result"), onPoint });
    Object.assign(this, { above: new Text(this.mirror), below: new Text(this.result,
      { tabindex: -1, role: "button", "aria-haspopup": "dialog" }) });
    const at = (event) => event.target.closest?.(".word"), go = (word) => (word ? this.point(word.s, word.word)
      : this.rest());
    choosable(this.result, (k) => { const word = this.below.words[k]; onChoose(word.s, word.word, word); },
      (event) => at(event)?.index ?? -1);
    rovingIn(this.result, () => this.below.words, (word) => this.#stopAt(word));
    for (const type of ["pointerover", "focusin"]) this.result.addEventListener(type, (event) => {
      if (at(event)) go(at(event));
    });
    /* the word whose panel gets the focus stays lit */
    for (const type of ["pointerleave", "focusout"]) this.result.addEventListener(type, ({ relatedTarget }) =>
      relatedTarget?.closest?.("#word") || this.rest());
    const below = ({ clientX, clientY }) => document.elementsFromPoint(clientX, clientY)
      .find((node) => node.matches("#mirror .word"));
    for (const type of ["pointermove", "click"]) this.box.addEventListener(type, (event) => {
      const word = below(event);
      if (word) this.pointSource(word.s, word.word);
      else if (type === "pointermove") this.rest();
    });
    this.box.addEventListener("pointerleave", ({ pointerType }) => { if (pointerType !== "touch") this.rest(); });
    find("copy").addEventListener("click", async () => {
      if (!(await this.rich().catch(() => false))) await copy(this.#answer.text);
      this.say(t("Copied."));
    });
    this.#speech();
  }
  say(text) { find("said").textContent = text; }
  #stopAt(word) {
    if (this.#stop !== word) this.#stop?.setAttribute("tabindex", -1);
    this.#stop = word;
    word?.setAttribute("tabindex", 0);
  }

  /* The text has changed. The mirror gives the box its height. */
  typed() {
    this.above.retype(`${this.box.value}\n`);
    this.#bySentence();
  }
  retype(text) {
    this.below.retype(text);
    this.#bySentence();
  }
  counted(limit) {
    const { length } = this.box.value, place = find("counter");
    place.replaceChildren(count(length), ...(limit ? [el("span", {}, ` / ${count(limit)}`)] : []));
    place.classList.toggle("over", limit > 0 && length > limit);
    find("clear").hidden = !length;
    this.box.closest(".boxes").classList.toggle("wide", length > LONG);
  }

  /* answer: from together() of pieces.js, or null. */
  draw(answer, langs) {
    this.#shade([]);
    for (const node of this.#warned.splice(0)) {
      node.classList.remove("warned");
      node.removeAttribute("title");
    }
    this.#answer = answer;
    const { result } = this;
    find("take").hidden = !answer;
    find("warnings").hidden = true;
    this.say("");
    if (langs) [this.box.lang, result.lang] = langs;
    if (!answer) { this.below.fill("", []); return this.typed(); }
    const words = [[], []], typed = this.box.value, stays = common(answer.of, typed);
    answer.sentences.forEach((s, k) => {
      const { source, target } = answer.places[k];
      wordsOf(s).forEach((list, side) => list.forEach(({ start, stop, mark, says }, i) => {
        const from = side ? target : source;
        if (from >= 0 && (side || from + stop <= stays))
          words[side].push({ start: from + start, stop: from + stop, s: k, k: i, mark, says });
      }));
    });
    this.above.fill(`${typed}\n`, words[0]);
    this.below.fill(answer.text, words[1]);
    this.#bySentence();
    if (!this.below.words.includes(this.#stop)) this.#stopAt(this.below.words[0]);
    this.#warn(answer);
    this.#listening();
  }
  #bySentence() {
    [this.#source, this.#target] = [this.above, this.below].map(({ words }) => {
      const by = [];
      for (const node of words) (by[node.s] ??= [])[node.word] = node;
      return by;
    });
  }
  /* List the warnings, and mark the words that they are about. */
  #warn(answer) {
    const warnings = answer.warnings.filter(({ code }) => code in SAYS),
      all = warnings.map((warning) => SAYS[warning.code](warning));
    const list = warnings.map((warning, k) => {
      const says = all[k], nodes = this.#concerned(answer, warning);
      for (const node of nodes) {
        node.classList.add("warned");
        this.#warned.push(node);
        node.title = [node.title, says].filter(Boolean).join(" ");
      }
      const which = nodes.length && all.indexOf(says) !== all.lastIndexOf(says)
        ? ` (${t("Sentence {0} of {1}", nodes[0].s + 1, answer.sentences.length)})` : "";
      return el("li", {}, nodes.length ? button(says + which, () => nodes[0].focus()) : says);
    });
    find("warnings").hidden = !list.length;
    find("warnings").replaceChildren(...list);
  }
  #concerned(answer, { code, target, words, place: [from, to], first, count: many }) {
    const all = this.#target.slice(first, first + many).flat().filter(Boolean);
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

const HUB = "en"; /* most models are from or into it */
const options = (codes) => byName(codes).map((code) => el("option", { value: code }, languageName(code)));

/* The languages that are not installed, by the list of what there is to download, if it is known. null: there is no
 * server to install them. */
const offered = (had) => (had?.length === 0 ? MORE : (had ?? []).flatMap(({ source, target }) => [source, target]));
const uninstalled = (codes) => (codes.length ? [el("optgroup", { label: t("Not installed") }, options(codes))] : []);

/* Fill the language lists. had: what can be downloaded, see offered(); others: [{value, label}], further targets: the
 * models that do not translate. */
export function languageLists(languages, had, { source, target, auto, detected }, others) {
  const known = languages.map(({ code }) => code), reach = languages.find(({ code }) => code === source)?.targets ?? [],
    from = find("from"), to = find("to");
  from.replaceChildren(el("option", { value: "auto" }, auto && detected ? t("Detected: {0}", languageName(detected))
    : t("Detect language")), ...options(known),
    ...uninstalled(offered(had).filter((code) => !known.includes(code))));
  to.replaceChildren(...options(auto ? languages.flatMap(({ targets: all }) => all) : reach),
    ...others.map(({ value, label }) => el("option", { value }, label)));
  const rest = [...known, ...offered(had)].filter((code) => code !== source
    && ![...to.options].some(({ value }) => value === code));
  to.append(...uninstalled(rest));
  from.value = auto ? "auto" : source;
  to.value = target;
}

/* The downloads [source, target] after which these languages are translated: their own pair if it can be had, otherwise
 * what is missing by way of a language of which there are models into many. */
function downloads(source, target, languages, had) {
  const reaches = (a, b) => languages.find(({ code }) => code === a)?.targets.includes(b),
    parts = [[source, HUB], [HUB, target]].filter(([a, b]) => !reaches(a, b));
  return source === HUB || target === HUB || had.some((one) => one.source === source && one.target === target)
    ? [[source, target]] : parts;
}

/* Message that no model translates these languages, and how to get one. */
export function missing({ source, target }, languages, had) {
  const says = el("strong", {}, t("No model here translates {0} to {1}.", languageName(source), languageName(target)));
  if (!had) return el("div", { class: "state", id: "missing" }, says);
  const needed = downloads(source, target, languages, had), by = needed[0][0] !== source || needed.at(-1)[1] !== target
    || needed.length > 1;
  /* OPUS-MT may have pairs that are not in Mozilla's list. */
  const unlisted = ([a, b]) => had.length > 0 && !had.some((one) => one.source === a && one.target === b),
    command = `alignd get ${needed.map((pair) => (unlisted(pair) ? "opus:" : "") + pair.join("-")).join(" ")}`;
  return el("div", { class: "state", id: "missing" }, says,
    el("p", {}, t("Whoever runs this server can get one, if there is one to get:")),
      el("pre", { tabindex: 0 }, command), by && el("p", {}, t("By way of {0}: ", languageName(HUB)),
      [source, HUB, target].map(languageName).join(" \u2192 ")), button(t("Copy"), () => copy(command)));
}
