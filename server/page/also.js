/* The sentence at hand in further languages: rows of the same layout, below the first. */
import { button, el, find } from "./dom.js";
import * as api from "./api.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";
import { byName, languageName } from "./speak.js";

const MOST_KNOWN = 200;
const known = new Map(); /* the last answers, by source language, target and text */
let running = null;

export function showAlso(app) {
  running?.abort();
  const { signal } = (running = new AbortController()), { state, answer } = app, place = find("also"), s = app.base(),
    list = state.also.split(",").filter(Boolean), focused = place.contains(document.activeElement);
  place.replaceChildren();
  if (!s) return;
  const { source, target } = answer, reach = app.languages.find(({ code }) => code === source)?.targets ?? [],
    rest = byName(reach.filter((code) => code !== target && !list.includes(code)));
  const take = (codes) => {
    state.also = codes.join();
    app.remember();
    showAlso(app);
  };
  for (const code of list) {
    const key = JSON.stringify([source, code, s.source_text]), view = el("alignd-attention", { look: state.look,
      units: state.words ? "words" : "tokens", label: languageName(code), "aria-label": languageName(code) });
    const ask = async () => {
      try {
        if (!known.has(key)) known.set(key, await api.decode({ text: s.source_text, source, target: code,
          split_sentences: false }, { signal }));
        if (known.size > MOST_KNOWN) known.delete(known.keys().next().value);
        view.result = known.get(key);
      } catch (error) {
        if (!signal.aborted) view.replaceWith(failure(error, () => showAlso(app)));
      }
    };
    if (code === target || !reach.includes(code)) continue;
    place.append(el("div", { class: "bar" }, el("h3", {}, languageName(code)), button("\u2715",
      () => take(list.filter((one) => one !== code)), { "aria-label": `${t("Remove")}: ${languageName(code)}` })),
      view);
    ask();
  }
  if (rest.length) place.append(el("select", { id: "also-into", "aria-label": t("Also into"),
    onchange: (event) => take([...list, event.target.value]) }, el("option", { value: "" }, t("Also into")),
    rest.map((code) => el("option", { value: code }, languageName(code)))));
  if (focused) find("also-into")?.focus();
}
