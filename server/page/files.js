/* Translation of a file: progress, warnings, and the result to save or to read. */
import { button, el, find } from "./dom.js";
import * as api from "./api.js";
import { save } from "./save.js";
import { t } from "./say.js";
import { count } from "./speak.js";
import { fail } from "./trouble.js";

const LINES = ["srt", "vtt", "txt"], SHOWN = 200; /* formats shown side by side by line; the most lines shown */
let running = null;

/* Table of the lines that differ between source and translation, for formats whose lines correspond. */
function bilingual(source, made) {
  const lines = [source, made].map((text) => text.replace(/^\ufeff/, "").split(/\r?\n/)), rows = [];
  for (let k = 0; k < Math.max(lines[0].length, lines[1].length) && rows.length < SHOWN; k++) {
    const [a = "", b = ""] = [lines[0][k], lines[1][k]];
    if (a !== b) rows.push(el("tr", {}, el("th", { scope: "row" }, k + 1), el("td", { dir: "auto" }, a),
      el("td", { dir: "auto" }, b)));
  }
  return el("table", { class: "both" }, el("caption", { class: "sr" }, t("Both languages")),
    el("thead", {}, el("tr", {}, [t("Line"), t("Source"), t("Translation")]
    .map((says) => el("th", { scope: "col" }, says)))), el("tbody", {}, rows));
}

/* Translate files one after the other, each with a place of its own. app: see app.js. */
export async function translateFiles(app, files) {
  running?.abort();
  const place = find("files"), many = files.map((_, k) => el("div", { id: `file-${k}` }));
  place.hidden = false;
  place.replaceChildren(...many);
  files.forEach((file, k) => {
    if (k) many[k].append(el("h2", {}, el("bdi", {}, file.name)));
  });
  for (const [k, file] of files.entries()) {
    if (many[k].isConnected) await translateFile(app, file, many[k], { alone: files.length === 1 });
  }
}

/* below: request both languages in one file. alone: there is no other file. */
async function translateFile(app, file, place, { below = false, alone = true } = {}) {
  const mine = (running = new AbortController()), id = (name) => (alone ? name : `${name}-${place.id}`),
    bar = el("progress", { max: 1, value: 0, "aria-label": t("Progress") }), said = el("span", { role: "status" }),
    warnings = el("ul", { class: "notes" }), made = el("div");
  const close = button(t("Close"), () => {
    mine.abort();
    place.remove();
    find("files").hidden = !find("files").childElementCount;
    find("file").focus();
  }, { id: id("close-file"), class: "quiet" }),
    cancel = button(t("Cancel"), () => mine.abort(), { id: id("cancel-file") });
  const both = (format) => app.formats.find(({ name }) => name === format)?.bilingual.includes("below");
  const row = el("div", { class: "again" }, bar, said, cancel);
  place.replaceChildren(el("div", { class: "again" }, el("h2", {}, el("bdi", {}, file.name)), close), row,
    warnings, made);
  said.textContent = t("Sending");
  const { source, target } = app.pair(), again = () => translateFile(app, file, place, { below, alone });
  let done = 0;
  try {
    for await (const [name, data] of api.translateFile(file, { source, target, ...(below && { bilingual: "below" }) },
      { signal: mine.signal })) {
      if (name === "sentence") {
        done++;
        Object.assign(bar, { max: done + data.left, value: done });
        said.textContent = t("{0} of {1} sentences", count(done), count(done + data.left));
      } else if (name === "warning") {
        warnings.append(el("li", {}, data.line ? t("Line {0}: {1}", data.line, data.message) : data.message));
      } else if (name === "result") {
        const { format, text, base64, file_name: title } = data;
        bar.remove();
        cancel.remove();
        said.textContent = t("{0} sentences translated, format {1}.", count(done), format);
        const saves = button(t("Save {0}", title),
          () => save(title, new Blob([base64 ? Uint8Array.from(atob(base64), (c) => c.charCodeAt()) : text])),
          { id: id("save-file"), class: "primary" });
        row.append(saves, both(format) && !below ? button(t("Both languages in one file"),
          () => translateFile(app, file, place, { below: true, alone }), { id: id("both-file") }) : "");
        if (alone) saves.focus();
        if (!base64) made.replaceChildren(LINES.includes(format) && !below ? bilingual(await file.text(), text)
          : el("pre", { tabindex: 0, "aria-label": t("Translation") }, text.slice(0, 4000)));
      }
    }
  } catch (error) {
    if (mine.signal.aborted) {
      if (place.contains(row))
        row.replaceChildren(t("Cancelled. "), button(t("Translate it again"), again, { id: id("again-file") }));
      return;
    }
    const wrong = el("p", { class: "error", role: "alert" });
    row.replaceWith(wrong);
    fail(wrong, error, error.status === 400 || error.status === 413 ? undefined : again);
  }
}
