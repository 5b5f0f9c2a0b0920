/* The heads of a model that has several, as small heat maps: {encoder, decoder, cross: [layer][head][rows][columns]} over tokens. */
import { el } from "./dom.js";
import { heatMap } from "./heatmap.js";
import { sources, targets } from "./sentence.js";

const SIDES = { cross: ["target", "source"], encoder: ["source", "source"], decoder: ["target", "target"] };
const LARGEST = 14, SMALLEST = 4;

/* s: a sentence with `heads`. onSay: as of heatMap(). */
export function headMaps(s, { room, colours, onSay }) {
  if (!s.heads) return el("p", { class: "message" }, "This answer has no heads.");
  const units = { source: sources(s, { words: false }), target: targets(s, { words: false, eos: true }) };
  const map = (kind, weights, layer, head) => {
    const [rows, columns] = SIDES[kind].map((side) => units[side]), cell = Math.max(SMALLEST, Math.min(LARGEST, Math.floor(room / 4 / columns.length)));
    const view = { rows: rows.slice(0, weights.length), columns: columns.slice(0, weights[0].length), weights, most: [], look: "attention", text: s.text, source: s.source_text };
    return el("figure", {}, heatMap(view, { cell, colours, onSay, bare: true, name: `${kind}, layer ${layer + 1}, head ${head + 1}` }), el("figcaption", {}, `${kind}, layer ${layer + 1}, head ${head + 1}`));
  };
  return el("div", { class: "heads" }, Object.keys(SIDES).flatMap((kind) => (s.heads[kind] ?? []).flatMap((heads, layer) => heads.map((weights, head) => map(kind, weights, layer, head)))));
}
