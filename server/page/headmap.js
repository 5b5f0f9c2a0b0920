/* Attention heads of a transformer, [layer][head][rows][columns] over tokens: a thumbnail of each, and one drawn
 * large. */
import { direction, el, group, number, percent, roving, toggle } from "./dom.js";
import { arcMap } from "./arcs.js";
import { largeMap } from "./heatmap.js";
import { t } from "./say.js";
import { thumb } from "./windows.js";
import { sources, targets } from "./sentence.js";

const KINDS = { cross: ["Cross-attention", "target to source"], encoder: ["Encoder", "source to source"],
  decoder: ["Decoder", "target to target"] };
const START = { get label() { return t("(start)"); }, surface: "", parts: [] };
const SAME = 0.002, WIDEST = 620; /* tolerance, because weights are rounded; px of a map */

const SHEET = `
.heads .group { margin-bottom: 1rem; }
.grid { display: grid; grid-template-columns: max-content repeat(var(--heads), minmax(0, 4.5rem)); gap: 4px; align-items: center; padding: 3px; max-width: 100%; }
.grid .n { text-align: center; }
.grid button { position: relative; display: grid; place-items: center; padding: 2px; border-radius: 5px; }
.grid [aria-pressed="true"] { border-width: 3px; padding: 0; }
.grid canvas { width: 100%; max-height: 6rem; image-rendering: pixelated; border-radius: 3px; }
.grid .mirrored { transform: scaleX(-1); }
.grid .shown::after, .key::before { content: ""; width: .625rem; height: .625rem; border-radius: 50%; background: var(--warn); border: 2px solid var(--card); }
.grid .shown::after { position: absolute; top: -4px; inset-inline-end: -4px; }
.key { margin-top: .5rem; }
.grid .n { color: var(--muted); font-size: var(--s0); }
.heads .group button { min-height: 1.875rem; padding: .125rem .625rem; font-size: var(--s0); }
@media (pointer: coarse), (max-width: 40rem) { .grid button, .heads .group button { min-height: 2.5rem; } }
@media (forced-colors: active) { .grid canvas { forced-color-adjust: none; } }
`;
let sheet;
/* Adds the style sheet of this view to a shadow root. */
export function styleHeads(root) {
  if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(SHEET);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

const kindsOf = ({ heads }) => Object.keys(KINDS).filter((kind) => heads[kind]?.length);
const nameOf = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;
const titleOf = ({ kind, layer, head }) => t("{0}, layer {1}, head {2}", t(KINDS[kind][0]), layer + 1, head + 1);

/* The cross-attention head that `attention` shows: {kind, layer, head}, or undefined. */
export function alignmentHead({ heads, attention }) {
  const same = (weights) => weights.every((row, i) => row.every((w, j) => Math.abs(w - attention?.[i]?.[j]) < SAME));
  for (const [layer, list] of (heads.cross ?? []).entries()) {
    const head = list.findIndex(same);
    if (head >= 0) return { kind: "cross", layer, head };
  }
}

/* The named head, otherwise the one that `attention` shows, otherwise the first. */
function chosenOf(s, name, marked) {
  const [, kind, layer, head] = /^(\w+)\.(\d+)\.(\d+)$/.exec(name) ?? [];
  return s.heads[kind]?.[layer]?.[head] ? { kind, layer: Number(layer), head: Number(head) }
    : (marked ?? { kind: kindsOf(s)[0], layer: 0, head: 0 });
}

/* Like matrix() of sentence.js. A step of the decoder looks at the tokens written so far, the first step at the start
 * symbol. */
function viewOf(s, { kind, layer, head }) {
  const weights = s.heads[kind][layer][head], source = sources(s, { words: false }),
    target = targets(s, { words: false, eos: true });
  const rows = kind === "encoder" ? source : target, columns = kind === "decoder" ? [START, ...target] : source;
  return { rows: rows.slice(0, weights.length), columns: columns.slice(0, weights[0].length), weights, most: [],
    look: "attention", text: s.text, source: kind === "decoder" ? s.text : s.source_text };
}

/* Position that a head mostly looks at, or else how widely its weights are spread. */
const HABITS = { encoder: [[(i) => i - 1, "the token before"], [(i) => i, "the token itself"],
  [(i) => i + 1, "the token after"]], decoder: [[(i) => i, "the token written last"], [() => 0, "the start"]],
  cross: [] };
function habit(weights, kind, end) {
  const mean = (value) => weights.reduce((sum, row, i) => sum + value(row, i), 0) / weights.length;
  for (const [at, says] of [...HABITS[kind], ...(end ? [[(_, row) => row.length - 1, "the end"]] : [])]) {
    const share = mean((row, i) => row[at(i, row)] ?? 0);
    if (share >= 0.5) return t("{0} on {1}", percent(share), t(says));
  }
  return t("spread over {0} tokens",
    number(Math.exp(mean((row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0))), 1));
}

function grid(s, chosen, marked, colours, choose) {
  const { kind } = chosen, layers = s.heads[kind], count = layers[0].length, buttons = [];
  const { columns, source } = viewOf(s, { kind, layer: 0, head: 0 }), end = columns.at(-1).end,
    mirrored = direction(source) === "rtl", mark = (n) => el("span", { class: "n", "aria-hidden": "true" }, n);
  const button = (weights, layer, head) => {
    const one = { kind, layer, head }, name = nameOf(one), isMarked = !!marked && name === nameOf(marked),
      says = t("Layer {0}, head {1}: {2}", layer + 1, head + 1, habit(weights, kind, end))
      + (isMarked ? t("; shown as attention") : "");
    buttons.push(toggle(thumb(weights, colours, mirrored), name === nameOf(chosen), () => choose(name),
      { id: `head.${name}`, class: isMarked && "shown", "aria-label": says, title: says }));
    return buttons.at(-1);
  };
  const place = el("div", { class: "grid", dir: "ltr", role: "group",
    "aria-label": t("{0}: arrow keys go from head to head", t(KINDS[kind][0])), vars: { "--heads": count } },
    mark(t("Layer")), Array.from({ length: count }, (_, head) => mark(head ? head + 1 : t("Head 1"))),
      layers.map((heads, layer) => [mark(layer + 1), heads.map((weights, head) => button(weights, layer, head))]));
  roving(place, buttons, count);
  return place;
}

/* s: a sentence with `heads`. head: name of the large one, such as "cross.0.1". choose(name): called when another one
 * is chosen. onSay: see heatMap(). */
export function headMaps(s, { head, room, colours, onSay, choose }) {
  const marked = alignmentHead(s), chosen = chosenOf(s, head, marked), view = viewOf(s, chosen),
    title = titleOf(chosen), self = chosen.kind === "encoder";
  const kinds = kindsOf(s).map((kind) => toggle(t(KINDS[kind][0]), kind === chosen.kind,
    () =>
      choose(nameOf({ ...chosen, kind, ...(!s.heads[kind][chosen.layer]?.[chosen.head] && { layer: 0, head: 0 }) })),
      { id: `heads-${kind}`, title: t(KINDS[kind][1]) }));
  const map = largeMap(view, { room: Math.min(room - 24, WIDEST), colours, onSay, name: title });
  return el("div", { class: "heads" }, group(t("Heads of"), kinds),
    el("div", { class: "stage" }, el("div", { class: "place" }, grid(s, chosen, marked, colours, choose),
      marked?.kind === chosen.kind && el("p", { class: "legend key" }, t("the head that is shown as attention"))),
      el("figure", { class: "place" }, el("figcaption", {}, el("b", {}, title),
        `, ${t(KINDS[chosen.kind][1])}: ${habit(view.weights, chosen.kind, view.columns.at(-1).end)}`),
        el("div", { class: "stage" }, self && arcMap(view, { room: room - 24, colours, onSay, name: title }),
          el("div", { part: "map" }, map)))));
}
