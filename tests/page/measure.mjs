/* Measures how long the page takes to draw, for its tests and for `make bench-page`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { program } from "./browser.mjs";

const SIZE = 16;

/* A model with random weights, whose translations are as long as their source: {folder, model, square(n)}. square(n) is
 * a link to n - 1 words, which with their </s> have an n x n matrix. */
export function randomModel() {
  const folder = mkdtempSync(join(tmpdir(), "alignd-page-")), model = join(folder, "random");
  const sizes = ["embedding", "hidden", "attention", "readout"].flatMap((name) => [`--${name}`, String(SIZE)]);
  execFileSync(join(dirname(program), "tests/bench/random_model"), [...sizes, "--vocabulary", "200", model]);
  const words = readFileSync(join(model, "source.txt"), "utf8").split(/\s+/);
  return { folder, model,
    square: (n) => "#" + new URLSearchParams({ t: words.slice(0, n - 1).join(" "), words: 0, eos: 1 }) };
}

export const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

/* Time from a click on Translate to the frame after the new map has been painted, less the browser's measurement of the
 * API's reply. */
const clickToDrawn = (page) => page.evaluate(() => new Promise((resolve) => {
  const find = () => document.querySelector("#map-view")?.shadowRoot.querySelector(".map"), old = find(),
    began = performance.now();
  const watch = () => {
    const map = find();
    if (!map || map === old) return setTimeout(watch);
    requestAnimationFrame(() => setTimeout(async () => {
      const drawn = performance.now(), answer = () => performance.getEntriesByType("resource")
        .find((entry) => entry.startTime >= began && entry.name.endsWith("/translate"));
      while (!answer()) await new Promise((next) => setTimeout(next, 5)); /* the browser may record it later */
      resolve({ cells: map.dataset.cells, api: answer().duration, ms: drawn - began - answer().duration });
    }));
  };
  document.getElementById("go").click();
  watch();
}));

/* Medians: {cells, ms, api_ms}. */
export async function measureMap(page, runs) {
  const found = [];
  for (let run = 0; run < runs; run++) found.push(await clickToDrawn(page));
  return { cells: found[0].cells, ms: median(found.map(({ ms }) => ms)), api_ms: median(found.map(({ api }) => api)) };
}

/* Median time in ms from a key press in a translated text to the frame that shows it. */
export const measureKey = (page, runs) => page.evaluate(async (count) => {
  const box = document.getElementById("text"), times = [];
  box.focus();
  box.setSelectionRange(box.value.length, box.value.length);
  for (let run = 0; run < count; run++) {
    const began = performance.now();
    document.execCommand("insertText", false, "a");
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}, runs);

/* Median time in ms from the pointer entering a cell of the map to the frame that says what the cell holds. */
export const measurePointer = (page, runs) => page.evaluate(async (count) => {
  const { shadowRoot } = document.querySelector("#map-view"), map = shadowRoot.querySelector(".map"),
    box = map.getBoundingClientRect(), { layout } = map, times = [];
  for (let run = 0; run < count; run++) {
    const began = performance.now(), cell = { clientX: box.x + layout.x(run) + layout.cell / 2,
      clientY: box.y + layout.y(run) + layout.cell / 2 };
    map.dispatchEvent(new PointerEvent("pointermove", cell));
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}, runs);

/* Give the heads view 6 layers of 8 heads over 60 tokens, and click on each kind of head: {pictures, marked, ms}, ms
 * being the median time from a click to the next frame. */
export const measureHeads = (page, runs) => page.evaluate(async (count) => {
  const N = 60, tokens = Array.from({ length: N }, (_, k) => `\u2581w${k}`),
    places = tokens.map((_, k) => ({ start_utf16: 4 * k, end_utf16: 4 * k + 3 })),
    words = tokens.map((_, k) => `w${k}`.padEnd(3)).join(" ");
  const matrix = () => Array.from({ length: N }, () => {
    const row = Array.from({ length: N }, () => Math.random() ** 8), sum = row.reduce((a, b) => a + b);
    return row.map((w) => w / sum);
  });
  const all = () => Array.from({ length: 6 }, () => Array.from({ length: 8 }, matrix)), cross = all(), times = [];
  const view = document.getElementById("heads-view");
  view.result = { sentences: [{ source_text: words, text: words, source_tokens: tokens, tokens,
    log_probs: tokens.map(() => -1), offsets: { source: places, target: places }, attention: cross[3][5],
    heads: { cross, encoder: all(), decoder: all() } }] };
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await frame();
  for (let run = 0; run < count; run++) {
    for (const kind of ["encoder", "decoder", "cross"]) {
      const began = performance.now();
      view.shadowRoot.getElementById(`heads-${kind}`).click();
      await frame();
      times.push(performance.now() - began);
    }
  }
  return { pictures: view.shadowRoot.querySelectorAll(".grid canvas").length,
    marked: view.shadowRoot.querySelector(".shown").id, ms: times.sort((a, b) => a - b)[times.length >> 1] };
}, runs);
