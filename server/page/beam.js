/* The search tree and its n best, which the length penalty orders anew. */
import { direction, el, keys, note, number, svg } from "./dom.js";
import { colours } from "./colour.js";
import { drawing } from "./map.js";
import * as api from "./api.js";
import { failure } from "./trouble.js";

const short = (n) => [...(n.token ?? "")].slice(0, 11).join("");
const STEP = 112, ROW = 24, MOST = 700;
let kept = { key: "", sentence: null }, penalty = 1;

/* Places: a column for each step; in it the kept and finished nodes by score, and below them the pruned ones. */
function layout(nodes) {
  const list = nodes.map((node) => ({ ...node })), steps = [];
  for (const node of list) (steps[node.step] ??= []).push(node);
  for (const column of steps.filter(Boolean)) {
    column.sort((a, b) => (a.state === "pruned") - (b.state === "pruned") || b.score - a.score);
    column.forEach((node, k) => { node.y = ROW * (k + (node.state === "pruned" ? 0.6 : 0)); });
  }
  return { list, byId: new Map(list.map((node) => [node.id, node])), height: Math.max(...list.map((node) => node.y)) + ROW };
}

function tree(nodes) {
  const { list, byId, height } = layout(nodes), steps = Math.max(...list.map((n) => n.step)) + 1;
  const W = 24 + (steps + 1) * STEP, H = height + 16, x = (n) => 24 + n.step * STEP, y = (n) => n.y + 16;
  const best = new Set();
  let node = list.filter((n) => n.state === "finished").sort((a, b) => b.score - a.score)[0];
  for (; node; node = byId.get(node.parent)) best.add(node.id);
  const palette = colours(), { ink, muted, accent, card } = palette, edges = svg("g", { fill: "none" }), labels = svg("g", { "font-size": 12 });
  for (const n of list) {
    const parent = byId.get(n.parent), on = best.has(n.id), pruned = n.state === "pruned";
    if (parent) edges.append(svg("path", { d: `M${Math.min(x(n) - 24, x(parent) + 12 + 7.4 * short(parent).length)} ${y(parent)}C${x(n) - 14} ${y(parent)} ${x(n) - 16} ${y(n)} ${x(n) - 3} ${y(n)}`,
      stroke: on ? accent : muted, "stroke-width": on ? 2.5 : 1, "stroke-dasharray": pruned ? "2 3" : null, opacity: on ? 1 : pruned ? 0.35 : 0.8 }));
    labels.append(svg("circle", { cx: x(n), cy: y(n), r: n.state === "finished" ? 4.5 : 3, fill: pruned ? card : on || n.state === "finished" ? accent : muted, stroke: on ? accent : muted },
      svg("title", {}, `${n.token}: ${n.state}, log-probability ${number(n.log_prob)}, score ${number(n.score, 3)}`)),
    svg("text", { x: x(n) + 8, y: y(n) + 4, fill: pruned ? muted : ink, "font-weight": on ? 700 : 400, direction: direction(n.token ?? ""), "text-anchor": direction(n.token ?? "") === "rtl" ? "end" : "start" }, short(n),
      n.state === "finished" ? svg("tspan", { fill: muted, "font-weight": 400 }, ` ${number(n.score, 2)}`) : ""));
  }
  return drawing("map tree", { W, H }, palette, { role: "img", "aria-label":
    `Search tree: ${["kept", "pruned", "finished"].map((state) => `${list.filter((n) => n.state === state).length} ${state}`).join(", ")} nodes` },
  edges, labels);
}

function draw(panel, s) {
  const list = el("ol", { class: "ranks" }), value = el("output", {}, penalty.toFixed(2));
  const order = () => {
    const scored = (s.hypotheses ?? [s]).map((h) => ({ h, score: h.log_prob / h.tokens.length ** penalty })).sort((a, b) => b.score - a.score);
    list.replaceChildren(...scored.map(({ h, score }) => el("li", {}, el("span", { class: "line", dir: "auto" }, h.text || el("small", {}, "(nothing)")), el("small", {}, `${number(score, 3)} · ${h.tokens.length} tokens`))));
    value.textContent = penalty.toFixed(2);
  };
  order();
  const nodes = (s.beam ?? []).slice(0, MOST);
  panel.replaceChildren(
    el("div", { class: "bar" }, el("h2", {}, `${(s.hypotheses ?? [s]).length} best`), el("label", {}, "Length penalty",
      el("input", { type: "range", id: "penalty", min: 0, max: 2, step: 0.05, value: penalty, oninput: (event) => { penalty = Number(event.target.value); order(); } }), value)),
    list, el("h2", {}, "Search tree"),
    keys([["accent", "best path, finished"], ["muted", "kept"], ["line", "pruned, dashed"]]),
    nodes.length ? el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Search tree" }, tree(nodes)) : note("There is no tree for this search."),
    note("score = log-probability / length", el("sup", {}, "penalty"), ". The slider reorders these hypotheses; a search with another penalty may find others."));
}

export async function beamPanel(panel, app) {
  const { model, beam } = app.state, size = Math.max(2, beam), source = app.base().source_text;
  const key = JSON.stringify([source, model, size]), place = el("div");
  panel.replaceChildren(place);
  if (kept.key === key) return draw(place, kept.sentence);
  place.append(el("p", { class: "wait" }, "Searching"));
  try {
    const { sentences } = await api.decode({ text: source, ...api.named(app.model()), beam_size: size, n_best: size, split_sentences: false }, { include: ["beam"] });
    kept = { key, sentence: sentences[0] };
    if (panel.contains(place)) draw(place, sentences[0]);
  } catch (error) {
    if (!panel.contains(place)) return;
    place.replaceChildren(failure(error, () => beamPanel(panel, app)));
  }
}
