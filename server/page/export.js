/* Export of the picture and of the numbers. */
import { button, copy, el, note } from "./dom.js";
import * as api from "./api.js";
import { visible } from "./sentence.js";
import { heatMap } from "./heatmap.js";
import { lineMap } from "./linemap.js";
import { save } from "./save.js";
import { toHtml } from "./standalone.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

function picture(app) {
  const view = visible(app.sentence(), app.how());
  const node = (app.state.lines ? lineMap : heatMap)(view,
    { cell: app.state.lines ? undefined : 36, threshold: app.state.threshold || undefined, room: 720 });
  for (const name of ["class", "tabindex", "role", "id", "data-force", "data-cells"]) node.removeAttribute(name);
  node.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  node.setAttribute("font-family", "system-ui, sans-serif");
  return node;
}
export const toSvg = (app) => new XMLSerializer().serializeToString(picture(app));

async function toPng(app, scale = 2) {
  const node = picture(app), image = new Image(), w = Number(node.getAttribute("width")),
    h = Number(node.getAttribute("height"));
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(node))}`;
  await image.decode();
  const canvas = el("canvas", { width: Math.ceil(w * scale), height: Math.ceil(h * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/* The sentence with its threads and its map as a standalone HTML page. */
function pageOf(app) {
  const { state, answer } = app, s = app.sentence(), { model, source, target } = answer;
  const how = { look: state.look, units: state.words ? "words" : "tokens", eos: state.eos && "",
    label: t(app.task().result) }, view = state.asTable ? "table" : state.lines ? "lines" : "map";
  return toHtml({ title: `${s.source_text.slice(0, 60)} \u2013 alignd`, svg: toSvg(app),
    views: [{ view: "threads", ...how }, { view, threshold: state.threshold, ...how }],
    /* A standalone page cannot request alternatives. */
    result: { model, source, target, sentences: [{ ...s, top_k: undefined }] } });
}

const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
export function toCsv(view) {
  const lines = [["", ...view.columns.map((c) => c.label)],
    ...view.rows.map((r, i) => [r.label, ...view.weights[i].map((w) => w.toFixed(4))])];
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}
export const toPharaoh = (s) => s.alignment.map(([j, i]) => `${j}-${i}`).join(" ") + "\n";

export function toCurl(app) {
  const body = JSON.stringify({ text: app.base().source_text, ...app.search() });
  const key = api.hasKey() ? ' -H "X-Api-Key: $KEY"' : "";
  return `curl -s ${location.origin}${api.pathOf(app.search())}${key} -d '${body.replaceAll("'", "'\\''")}'`;
}

export function exportPanel(panel, app) {
  const s = app.sentence(), view = visible(s, app.how()), said = el("span", { class: "hint", role: "status" });
  const text = (name, type, make) => () => save(name, new Blob([make()], { type }));
  const copied = (label, make) => button(label, async () => { await copy(make()); said.textContent = t("Copied."); }),
    needs = { disabled: !view };
  const saveHtml = async ({ currentTarget: opener }) => {
    try {
      save(`${view.look}.html`, new Blob([await pageOf(app)], { type: "text/html" }));
    } catch {
      opener.parentNode.after(failure(new api.ApiError(0)));
    }
  };
  panel.append(el("h2", {}, t("Picture")),
    note(t("HTML: one file to point at, that opens without a server and without a network.")),
    el("div", { class: "buttons" }, button("PNG", async () => save(`${view.look}.png`, await toPng(app)), needs),
    button("SVG", text(`${view?.look}.svg`, "image/svg+xml", () => toSvg(app)), needs),
      button("HTML", saveHtml, needs)),
    el("h2", {}, t("Numbers")),
    note(t("CSV: the matrix as shown. JSON: what the server sent. Pharaoh: pairs of aligned tokens.")),
    el("div", { class: "buttons" }, button("CSV", text(`${view?.look}.csv`, "text/csv", () => toCsv(view)), needs),
      button("JSON", text("sentence.json", "application/json", () => JSON.stringify(s, null, 1))),
      button("Pharaoh", text("alignment.txt", "text/plain", () => toPharaoh(s)), needs)),
    el("h2", {}, t("Repeat")),
    el("div", { class: "buttons" }, api.hasServer() && copied(t("Copy as curl"), () => toCurl(app)),
      copied(t("Copy link"), () => app.link()), said));
  if (api.hasServer()) panel.append(el("pre", { tabindex: 0, "aria-label": t("The request as curl") }, toCurl(app)));
}
