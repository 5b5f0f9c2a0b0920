/* The search tree, and the n-best list, which a slider for the length penalty reorders. */
import { direction, el, keys, note, number, svg } from "./dom.js";
import { colours } from "./colour.js";
import { drawing } from "./map.js";
import * as api from "./api.js";
import { t } from "./say.js";
import { failure } from "./trouble.js";

const short = (n) => [...(n.token ?? "")].slice(0, 11).join("");
const STEP = 100, ROW = 24, EDGE = 24, MOST = 700; /* px; MOST: nodes that are drawn */
/* Number of pruned hypotheses that are drawn per step. */
const prunedIn = (room) => (room < 500 ? 2 : 5);
let kept = { key: "", sentence: null }, penalty = 1;

/* Layout: one column per step, with the kept and finished nodes by score above the pruned ones. Columns that do not fit
 * side by side continue below, like lines of text. */
function layout(nodes, room) {
  const steps = [], across = Math.max(1, Math.floor((room - EDGE) / STEP)),
    wide = Math.min(Math.floor((room - EDGE) / across), 1.3 * STEP);
  for (const node of nodes) (steps[node.step] ??= []).push({ ...node });
  let top = 16, low = 0;
  steps.forEach((column, step) => {
    if (step % across === 0) [top, low] = [top + low, 0];
    column.sort((a, b) => (a.state === "pruned") - (b.state === "pruned") || b.score - a.score);
    column.splice(column.filter(({ state }) => state !== "pruned").length + prunedIn(room));
    column.forEach((node, k) => Object.assign(node,
      { top, x: EDGE + (step % across) * wide, y: top + ROW * (k + (node.state === "pruned" ? 0.6 : 0)) }));
    low = Math.max(low, column.at(-1).y - top + 2 * ROW);
  });
  const list = steps.flat().slice(0, MOST);
  return { list, byId: new Map(list.map((node) => [node.id, node])), W: EDGE + Math.min(across, steps.length) * wide,
    H: top + low };
}

/* Path from a parent to its node. If the parent is on the line above, the path leaves that line at the right edge and
 * enters the next one at the left. */
function edge(n, parent, W) {
  const from = Math.min(n.top === parent.top ? n.x - 24 : W, parent.x + 12 + 7.4 * short(parent).length),
    into = (x, y) => `${x} ${y}C${n.x - 14} ${y} ${n.x - 16} ${n.y} ${n.x - 3} ${n.y}`;
  return n.top === parent.top ? `M${into(from, parent.y)}`
    : `M${from} ${parent.y}H${W}M${into(0, n.top + parent.y - parent.top)}`;
}

function tree(nodes, room) {
  const { list, byId, W, H } = layout(nodes, room), best = new Set();
  let node = list.filter((n) => n.state === "finished").sort((a, b) => b.score - a.score)[0];
  for (; node; node = byId.get(node.parent)) best.add(node.id);
  const palette = colours(), { ink, muted, accent, card } = palette, edges = svg("g", { fill: "none" }),
    labels = svg("g", { "font-size": 12 });
  for (const n of list) {
    const parent = byId.get(n.parent), on = best.has(n.id), pruned = n.state === "pruned";
    if (parent) edges.append(svg("path", { d: edge(n, parent, W), stroke: on ? accent : muted, "stroke-width": on ? 2.5
      : 1, "stroke-dasharray": pruned ? "2 3" : null, opacity: on ? 1 : pruned ? 0.35 : 0.8 }));
    labels.append(svg("circle", { cx: n.x, cy: n.y, r: n.state === "finished" ? 4.5 : 3, fill: pruned ? card : on
      || n.state === "finished" ? accent : muted, stroke: on ? accent : muted },
      svg("title", {},
        `${n.token}: ${t(n.state)}, ${t("log-probability")} ${number(n.log_prob)}, ${t("score")} ${number(n.score, 3)}`)),
    svg("text", { x: n.x + 8, y: n.y + 4, fill: pruned ? muted : ink, "font-weight": on ? 700 : 400,
      direction: direction(n.token ?? ""), "text-anchor": direction(n.token ?? "") === "rtl" ? "end" : "start" },
      short(n),
      n.state === "finished" ? svg("tspan", { fill: muted, "font-weight": 400 }, ` ${number(n.score, 2)}`) : ""));
  }
  return drawing("map tree", { W, H }, palette, { role: "img", "aria-label":
    t("Search tree: {0} kept, {1} pruned, {2} finished nodes",
      ...["kept", "pruned", "finished"].map((state) => nodes.filter((n) => n.state === state).length)) },
  edges, labels);
}

function draw(panel, s) {
  const list = el("ol", { class: "ranks" }), value = el("output", {}, number(penalty));
  const order = () => {
    const scored = (s.hypotheses ?? [s]).map((h) => ({ h, score: h.log_prob / h.tokens.length ** penalty }))
      .sort((a, b) => b.score - a.score);
    list.replaceChildren(...scored.map(({ h, score }) => el("li", {},
      el("span", { class: "line", dir: "auto" }, h.text || el("small", {}, t("(nothing)"))),
      el("small", {}, t("{0} · {1} tokens", number(score, 3), h.tokens.length)))));
    value.textContent = number(penalty);
  };
  order();
  const nodes = s.beam ?? [];
  panel.replaceChildren(
    el("div", { class: "bar" }, el("h2", {}, t("{0} best", (s.hypotheses ?? [s]).length)),
      el("label", {}, t("Length penalty"),
      el("input", { type: "range", id: "penalty", min: 0, max: 2, step: 0.05, value: penalty, oninput: (event) => {
        penalty = Number(event.target.value);
        order();
      } }), value)),
    list, el("h2", {}, t("Search tree")),
    keys([["accent", t("best path, finished")], ["muted", t("kept")],
      ["line", t("pruned, dashed: the best {0} of a step", prunedIn(panel.clientWidth))]]),
    nodes.length ? tree(nodes, panel.clientWidth) : note(t("There is no tree for this search.")),
    note(t("score = log-probability / length"), el("sup", {}, t("penalty")),
      t(". The slider reorders these hypotheses; a search with another penalty may find others.")));
}

export async function beamPanel(panel, app) {
  const { model, beam } = app.state, size = Math.max(2, beam), source = app.base().source_text;
  const key = JSON.stringify([source, model, size]), place = el("div");
  panel.replaceChildren(place);
  if (kept.key === key) return draw(place, kept.sentence);
  place.append(el("p", { class: "wait" }, t("Searching")));
  try {
    const { sentences } = await api.decode({ text: source, ...api.named(app.model()), beam_size: size, n_best: size,
      split_sentences: false }, { include: ["beam"] });
    kept = { key, sentence: sentences[0] };
    if (panel.contains(place)) draw(place, sentences[0]);
  } catch (error) {
    if (!panel.contains(place)) return;
    place.replaceChildren(failure(error, () => beamPanel(panel, app)));
  }
}
