/* Large matrices: how long they take, and whether they stay usable. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startDaemon } from "../clients/daemon.mjs";
import { program, text, translated, visit } from "./browser.mjs";

const RUNS = 7, ROUNDS = 4, LIMIT_MS = 100;
let folder, daemon, words;

/* A model of random weights, whose translations are as long as their source. */
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "alignd-page-"));
  const sizes = ["embedding", "hidden", "attention", "readout"].flatMap((name) => [`--${name}`, "16"]), model = join(folder, "random");
  execFileSync(join(dirname(program), "tests/bench/random_model"), [...sizes, "--vocabulary", "200", model]);
  words = readFileSync(join(model, "source.txt"), "utf8").split(/\s+/);
  daemon = await startDaemon(program, [model]);
});
after(() => {
  daemon?.stop();
  rmSync(folder, { recursive: true });
});

/* A link to n - 1 words, which with their </s> have an n x n matrix. */
const square = (n) => "#" + new URLSearchParams({ t: words.slice(0, n - 1).join(" "), words: 0, eos: 1 });

/* A click on Translate, until the frame after the new map has been painted; less what the browser measured for the API's answer. */
const clickToDrawn = (page) => page.evaluate(() => new Promise((resolve) => {
  const find = () => document.querySelector("#map-view")?.shadowRoot.querySelector(".map"), old = find(), began = performance.now();
  const watch = () => {
    const map = find();
    if (!map || map === old) return setTimeout(watch);
    requestAnimationFrame(() => setTimeout(async () => {
      const drawn = performance.now(), answer = () => performance.getEntriesByType("resource").find((entry) => entry.startTime >= began && entry.name.endsWith("/translate"));
      while (!answer()) await new Promise((next) => setTimeout(next, 5)); /* the browser may note it later */
      resolve({ cells: map.dataset.cells, api: answer().duration, ms: drawn - began - answer().duration });
    }));
  };
  document.getElementById("go").click();
  watch();
}));

async function measure(page) {
  const runs = [];
  for (let run = 0; run < RUNS; run++) runs.push(await clickToDrawn(page));
  const median = (name) => runs.map((one) => one[name]).sort((a, b) => a - b)[RUNS >> 1];
  const result = { cells: runs[0].cells, ms: median("ms") };
  console.log(`# ${result.cells}: drawn ${result.ms.toFixed(0)} ms after the click, beyond the API's own ${median("api").toFixed(0)} ms (median of ${RUNS})`);
  return result;
}

test("9: 40 x 40 is drawn within 100 ms beyond the API's own time", () => visit(square(40), async (page) => {
  await translated(page);
  let { cells, ms } = await measure(page);
  for (let round = 1; ms >= LIMIT_MS && round < ROUNDS; round++) ({ ms } = await measure(page)); /* other programs may have had the processor */
  assert.equal(cells, "40 x 40");
  assert.ok(ms < LIMIT_MS, `${ms} ms`);
}, { daemon }));

/* Where a row's and a column's name are, and the box that they scroll in. */
const places = (page) => page.evaluate(() => {
  const box = (selector) => { const { left, top, right, bottom } = window.deep(selector)[0].getBoundingClientRect(); return { left, top, right, bottom }; };
  return { scroll: box(".scroll"), tops: box(".tops"), sides: box(".sides"), map: box("svg.map") };
});

for (const width of [390, 1024]) {
  test(`9: 80 x 80 stays usable at ${width} px: the names of rows and columns stay in view`, () => visit(square(80), async (page) => {
    await translated(page);
    const { cells } = await measure(page);
    assert.equal(cells, "80 x 80");
    const before = await places(page);
    await page.locator("#panel .scroll").evaluate((node) => node.scrollTo(500, 400));
    const after = await places(page);
    assert.ok(after.map.left < before.map.left - 100 && after.map.top < before.map.top - 100, "it scrolls");
    assert.ok(Math.abs(after.tops.top - after.scroll.top) < 5 && Math.abs(after.sides.left - after.scroll.left) < 5, JSON.stringify(after));
    assert.ok(Math.abs(after.tops.left - after.map.left) < 1 && Math.abs(after.sides.top - after.map.top) < 1, "names move with their cells");

    await page.locator("#panel .map").focus();
    for (const key of ["Home", "ArrowDown", "End"]) await page.keyboard.press(key); /* the keyboard scrolls, too, and not beneath the names */
    const [spot, now] = [await page.locator("#panel .map rect[stroke-width='3']").boundingBox(), await places(page)];
    assert.ok(spot.x + spot.width <= now.scroll.right && spot.y >= now.tops.bottom - 4, `${JSON.stringify(spot)} ${JSON.stringify(now)}`);
    assert.match(await text(page.locator("#panel .read")), /^\u2581\w+ is aligned with the end of the sentence: /);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }, { daemon, width, hasTouch: width === 390 }));
}
