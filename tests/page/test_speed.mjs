/* Large matrices: how fast they are drawn, and whether they stay usable. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { becomes, link, program, text, translated, visit, widen } from "./browser.mjs";
import { wordsOf } from "./lengths.mjs";
import { measureKey, measureMap, randomModel } from "./measure.mjs";

const RUNS = 7, ROUNDS = 4, LIMIT_MS = 100, KEY_MS = 50;
let random, daemon;
before(async () => {
  random = randomModel();
  daemon = await startDaemon(program, [random.model]);
});
after(() => {
  daemon?.stop();
  rmSync(random.folder, { recursive: true });
});

async function measure(page) {
  const result = await measureMap(page, RUNS);
  console.log(
    `# ${result.cells}: drawn ${result.ms.toFixed(0)} ms after the click, beyond the API's own ${result.api_ms.toFixed(0)} ms (median of ${RUNS})`);
  return result;
}

test("9: 40 x 40 is drawn within 100 ms beyond the API's own time", () => visit(random.square(40), async (page) => {
  await translated(page);
  let { cells, ms } = await measure(page);
  /* Retry, because other programs may have used the processor. */
  for (let round = 1; ms >= LIMIT_MS && round < ROUNDS; round++) ({ ms } = await measure(page));
  assert.equal(cells, "40 x 40");
  assert.ok(ms < LIMIT_MS, `${ms} ms`);
}, { daemon }));

test("9: a key press in a text of 300 words is seen within 50 ms",
  () => visit(link({ t: wordsOf(300) }), async (page) => {
  await translated(page);
  await page.locator("#result[aria-busy=false]").waitFor();
  let ms = await measureKey(page, RUNS);
  for (let round = 1; ms >= KEY_MS && round < ROUNDS; round++) ms = await measureKey(page, RUNS);
  console.log(`# a key press at 300 words: ${ms.toFixed(0)} ms`);
  assert.ok(ms < KEY_MS, `${ms} ms`);
}));

for (const width of [390, 1024]) {
  test(`9: 80 x 80 at ${width} px: a window of it, a small picture of all, and nothing that scrolls by itself`,
    () => visit(random.square(80), async (page) => {
    await translated(page);
    await measure(page);
    const map = page.locator("#panel .map"), mini = page.locator("#panel .mini"),
      cells = async () => (await map.getAttribute("data-cells")).split(" x ").map(Number);
    const [rows, columns] = await cells();
    assert.ok(rows < 80 && columns < 80, `${rows} x ${columns}`);
    const first = await text(page.locator("#panel .tops text").first());
    await mini.focus();
    await page.keyboard.press("End");
    assert.equal(await mini.getAttribute("aria-valuenow"), String(81 - rows));
    assert.notEqual(await text(page.locator("#panel .tops text").first()), first);
    await map.focus(); /* a step over the edge moves the window */
    await page.keyboard.press("Home");
    const before = await mini.getAttribute("aria-valuetext");
    await page.keyboard.press("ArrowLeft");
    assert.notEqual(await mini.getAttribute("aria-valuetext"), before);
    assert.match(await text(page.locator("#panel .read")), /is aligned with/);
    await scrollsAlone(page);
    /* The column names stay in view while the page scrolls. */
    const tops = page.locator("#panel .tops"), head = await tops.boundingBox();
    await page.setViewportSize({ width, height: 400 }); /* so that the page can scroll far enough */
    await page.evaluate((y) => scrollTo(0, scrollY + y), head.y + 200);
    await becomes(async () => assert.ok(Math.abs((await tops.boundingBox()).y) < 2,
      JSON.stringify(await tops.boundingBox())));
  }, { daemon, width, hasTouch: width === 390 }));
}

/* No part of these views scrolls by itself, is wider than the page, or has a label that is cut off at its edge. */
const scrollsAlone = async (page) => assert.deepEqual(await page.evaluate(() => {
  const wrong = window.deep("#panel *").filter((node) => node.checkVisibility()
    && !node.matches("textarea, select, input, .sr, .sr *")
    && /auto|scroll/.test(getComputedStyle(node).overflowX + getComputedStyle(node).overflowY)
    && (node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1))
    .map((node) => node.outerHTML.slice(0, 80));
  const cut = window.deep("#panel svg text").filter((node) => node.checkVisibility()).filter((node) => {
    const { left, right, top } = node.getBoundingClientRect(), box = node.ownerSVGElement.getBoundingClientRect();
    return left < box.left - 1 || right > box.right + 1 || top < box.top - 1;
  }).map((node) => node.textContent);
  return [...wrong, ...cut, ...(document.documentElement.scrollWidth > innerWidth ? ["the page"] : [])];
}), []);

const LONG =
  "The transportation infrastructure responsibilities of the administration and the extraordinary telecommunication " +
    "organisation were discussed with representatives of our international communities, because nobody understood them.";
const FILE =
  "The administration's transportation infrastructure responsibilities were discussed.\tLes responsabilités ont été " +
    "discutées.\nWho wrote this letter?\n";
const give = (page) => page.locator("#corpus-file")
  .setInputFiles({ name: "a.tsv", mimeType: "text/plain", buffer: Buffer.from(FILE) });
/* name: [fields of the link, what is there when all is drawn, action before that]. */
const VIEWS = { beam: [{ v: "beam" }, ".tree"], corpus: [{ v: "corpus" }, "#row-2", give],
  confidence: [{ v: "confidence" }, ".step"], diagnostics: [{ v: "diagnostics" }, ".cover:not([aria-busy])"],
  "source or before": [{ v: "why", w: "from" }, ".cover"], export: [{ v: "export" }, "pre"],
  map: [{}, ".map"], lines: [{ lines: 1 }, ".map"], table: [{ asTable: 1 }, "table"],
    compare: [{ v: "compare" }, ".map >> nth=1"], why: [{ v: "why" }, "#loss-map"],
    "why not": [{ v: "why", w: "not", i: 3, not: "la" }, "table"], links: [{ v: "links" }, "#links-map"] };
for (const [name, [fields, mark, act]] of Object.entries(VIEWS)) {
  test(`9: ${name}: whole at 320, 390 and 1,440 px, without a scroller, no name cut off`,
    () => visit(link({ t: LONG, ...fields }), async (page) => {
    await act?.(page);
    await page.locator(`#panel ${mark}`).first().waitFor();
    for (const width of [320, 390, 1440]) {
      await widen(page, width);
      await page.locator(`#panel ${mark}`).first().waitFor();
      await becomes(() => scrollsAlone(page));
    }
  }));
}
