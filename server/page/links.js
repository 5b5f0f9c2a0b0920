/* Editor of a gold alignment: links are drawn into the map, and kept in Pharaoh's notation. `j-i` is a sure link of
 * source word j and target word i, `jpi` a possible one, both counted from 0. */
import { button, el, group, note, number, svg, toggle } from "./dom.js";
import { colours } from "./colour.js";
import { largeMap } from "./heatmap.js";
import { legend } from "./map.js";
import { save } from "./save.js";
import { matrix } from "./sentence.js";
import { t } from "./say.js";

const LINK = /^(\d+)([-p])(\d+)$/;
const NEXT = { undefined: "-", "-": "p", p: undefined },
  SAYS = { undefined: "no link", "-": "a sure link", p: "a possible link" };

/* Parse a line of links into {"j i": "-" or "p"}. Links outside the sentence are dropped. */
export function parse(line, { rows, columns }) {
  const found = line.split(/\s+/).map((one) => LINK.exec(one)).filter((one) => one && one[1] < columns.length
    && one[3] < rows.length);
  return Object.fromEntries(found.map(([, j, kind, i]) => [`${Number(j)} ${Number(i)}`, kind]));
}
const placeOf = (key) => key.split(" ").map(Number);
export const format = (links) => Object.entries(links).map(([key, kind]) => [...placeOf(key), kind])
  .sort(([a, b], [c, d]) => a - c || b - d).map(([j, i, kind]) => `${j}${kind}${i}`).join(" ");

/* The model's links. Aligned words are linked by the server's rule "several" (server/decode/outcome.c); for subwords
 * and attention, each target unit is linked with the source unit of most weight, unless that is </s>. */
function modelLinks({ most, columns, weights, look }, words) {
  const best = (list) => list.indexOf(Math.max(...list)),
    tops = columns.map((_, j) => best(weights.map((row) => row[j])));
  const linked = words && look === "alignment" ? (row, i, j) => (row[j] >= 0.5 && most[i] === j)
    || (row[j] >= 0.2 && tops[j] === i) : (row, i, j) => most[i] === j;
  return Object.fromEntries(weights.flatMap((row, i) =>
    row.flatMap((_, j) => (linked(row, i, j) ? [[`${j} ${i}`, "-"]] : []))));
}

/* Agreement of links with gold links (Och and Ney 2003, A Systematic Comparison of Various Statistical Alignment
 * Models, section 6): {precision, recall, error: the alignment error rate}, each 0 to 1; null if there is nothing to
 * compare. */
export function agreement(links, gold) {
  const keys = Object.keys(links), sure = Object.values(gold).filter((kind) => kind === "-").length;
  const inSure = keys.filter((key) => gold[key] === "-").length, inPossible = keys.filter((key) => gold[key]).length;
  return keys.length && sure ? { precision: inPossible / keys.length, recall: inSure / sure,
    error: 1 - (inSure + inPossible) / (keys.length + sure) } : null;
}

/* Draw the links as frames over the cells of a map. Return a function that redraws them. */
function frames(map, links, palette, [top, left]) {
  const { cell, x, y } = map.layout,
    layer = svg("g", { fill: "none", stroke: palette.warn, "stroke-width": cell > 20 ? 3 : 2,
    "pointer-events": "none" });
  map.append(layer);
  const draw = () => layer.replaceChildren(...Object.entries(links).map(([key, kind]) => {
    const [j, i] = placeOf(key), [, columns] = map.layout.count, inside = i >= top && i < top + map.layout.count[0]
      && j >= left && j < left + columns;
    return inside ? svg("rect", { "data-link": `${j}${kind}${i}`, x: x(j - left), y: y(i - top), width: cell,
      height: cell, rx: 4, "stroke-dasharray": kind === "p" ? "4 3" : null }) : "";
  }));
  draw();
  return draw;
}

/* The view without </s>, which has no links. */
function wordsOf(view) {
  const columns = view.columns.filter((column) => !column.end);
  return { ...view, columns, weights: view.weights.map((row) => row.slice(0, columns.length)) };
}

function editor(panel, app, view) {
  const { state } = app, palette = colours(), links = parse(state.links, view),
    read = el("output", { class: "read", "aria-live": "polite" }),
    agreed = el("p", { class: "note", id: "agreement", role: "status" });
  const line = el("textarea", { id: "pharaoh", rows: 1, dir: "ltr", spellcheck: "false", autocomplete: "off",
    onchange: () => replace(parse(line.value, view)) });
  let draw = () => {};
  const map = largeMap(view, { id: "links-map", room: panel.clientWidth, colours: palette, name: t("Links"),
    of: ({ from: [top, left] }) => ({ onPick: (i, j) => pick(i + top, j + left),
    onSay: (cell) => read.replaceChildren(...(cell ? [el("b", { dir: "auto" }, view.columns[cell.j + left].label),
      t(" and "), el("b", { dir: "auto" }, view.rows[cell.i + top].label),
      `: ${t(SAYS[links[`${cell.j + left} ${cell.i + top}`]])}`] : [])) }),
  drawn: (one, { from }) => { draw = frames(one, links, palette, from); } });
  function changed() {
    state.links = line.value = format(links);
    app.remember();
    draw();
    const found = agreement(modelLinks(view, app.how().words), links);
    agreed.textContent = found
      ? t("The model's links against these: precision {0}, recall {1}, alignment error rate {2}.",
      number(found.precision), number(found.recall), number(found.error)) : "";
  }
  function pick(i, j) {
    const key = `${j} ${i}`, kind = NEXT[links[key]];
    if (kind) links[key] = kind;
    else delete links[key];
    changed();
  }
  function replace(others) {
    for (const key of Object.keys(links)) delete links[key];
    Object.assign(links, others);
    changed();
  }
  /* A file has one line per sentence. */
  const load = async ({ target }) => {
    const lines = (await target.files[0].text()).split("\n");
    target.value = "";
    replace(parse(lines[state.active] ?? lines[0], view));
  };
  panel.append(
    note(
    t(
    "Choose a cell to link its words: once for a sure link (a frame), again for a possible one (dashed), again for " +
      "none. The shades are the model's.")), map, read, legend(view.look, palette),
    el("form", { class: "links", onsubmit: (event) => event.preventDefault() },
      el("label", {}, t("Links, in Pharaoh's notation: sure 0-1, possible 0p1, source before target, counted from 0"),
      line)),
    el("div", { class: "buttons" },
      button(t("Save"), () => save("links.txt", new Blob([`${format(links)}\n`], { type: "text/plain" }))),
      el("label", { class: "file" }, t("Load"),
      el("input", { type: "file", class: "sr", id: "load-links", accept: ".txt,.pharaoh,.align,text/plain",
      onchange: load })),
      button(t("Take the model's"), () => replace(modelLinks(view, app.how().words))),
        button(t("Clear"), () => replace({}))), agreed);
  changed();
}

export function linksPanel(panel, app) {
  const { state } = app, own = app.questions.reference, s = state.ofOwn && own ? own : app.sentence(),
    view = matrix(s, { ...app.how(), eos: false });
  const choose = (says, ofOwn, id) => toggle(says, !!(own && state.ofOwn) === ofOwn, () => {
    Object.assign(state, { ofOwn, links: "" });
    app.remember();
    app.showPanel();
  }, { id });
  if (own) panel.append(el("div", { class: "bar" },
    group(t("Whose"), choose(t("The model's translation"), false, "of-model"), choose(t("Yours"), true, "of-own"))));
  if (!view) return panel.append(note(t("This model has no attention to show.")));
  editor(panel, app, wordsOf(view));
}
