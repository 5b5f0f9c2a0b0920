/* Heads of a transformer: the page draws what the daemon returns, by mouse, keyboard and link, and fast enough. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { hashOf, link, openTab, program, text, translated, violations, visit } from "./browser.mjs";
import { measureHeads } from "./measure.mjs";

/* Three layers of four heads; the third head of the first layer is shown as attention. */
const MODEL = "transformer-alignment-layer", TEXT = "The man sees the dog in the house.";
const RUNS = 7, ROUNDS = 4, LIMIT_MS = 200;

let daemon;
before(async () => { daemon = await startDaemon(program, [`tests/golden/${MODEL}`]); });
after(() => daemon?.stop());

const heads = (fields) => `#${new URLSearchParams({ t: TEXT, m: MODEL, v: "heads", ...fields })}`;
const ask = async (body) =>
  (await (await fetch(`${daemon.url}/attention`,
  { method: "POST", body: JSON.stringify({ text: TEXT, model: MODEL, include: ["tokens", "attention", "heads", "eos"],
  ...body }) })).json()).results[0].sentences[0];
const drawn = (page) => page.locator("#heads-view .grid").waitFor();
const large = (page) => text(page.locator("#heads-view figcaption b"));

/* Weights of each thumbnail, to the precision of 256 shades: {"cross.0.1": [rows][columns]}. */
const pictures = (page) => page.evaluate(async () => {
  const { colours } = await import("/page/colour.js"), { scale } = colours(),
    shades = new Map(Array.from({ length: 256 }, (_, k) => [scale(k / 255), k / 255]));
  return Object.fromEntries(window.deep(".grid button").map((button) => {
    const canvas = button.querySelector("canvas"), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width,
      canvas.height);
    const at = (i, j) =>
      shades.get("#" + [0, 1, 2].map((c) => data[4 * (i * canvas.width + j) + c].toString(16).padStart(2, "0"))
      .join(""));
    return [button.id.slice(5),
      Array.from({ length: canvas.height }, (_, i) => Array.from({ length: canvas.width }, (_, j) => at(i, j)))];
  }));
});

function near(found, kind, layers, within) {
  assert.equal(Object.keys(found).length, layers.length * layers[0].length, kind);
  layers.forEach((list, layer) => list.forEach((rows, head) => rows.forEach((row, i) => row.forEach((w, j) => {
    assert.ok(Math.abs(found[`${kind}.${layer}.${head}`][i][j] - w) <= within, `${kind} ${layer} ${head}: ${i}, ${j}`);
  }))));
}

test("heads: every head of every layer, as the daemon says; the one that attention shows is marked",
  () => visit(heads(), async (page) => {
  await drawn(page);
  const s = await ask({});
  for (const kind of ["cross", "encoder", "decoder"]) {
    await page.locator(`#heads-${kind}`).click();
    await page.locator(`[id="head.${kind}.0.0"]`).waitFor();
    near(await pictures(page), kind, s.heads[kind], 0.006);
  }
  await page.locator("#heads-cross").click();
  assert.deepEqual(await page.locator(".grid .shown").evaluateAll((list) => list.map((button) => button.id)),
    ["head.cross.0.2"]);
  assert.match(await page.locator(".grid .shown").getAttribute("aria-label"),
    /^Layer 1, head 3: .*; shown as attention$/);
  await page.locator('[id="head.cross.1.3"]').click();
  assert.equal(await large(page), "Cross-attention, layer 2, head 4");
  const map = page.locator("#heads-view svg.map"), said = [];
  await map.focus();
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press("ArrowDown");
    said.push(Number(/\((\d\.\d{4})\)/.exec(await text(page.locator("#heads-view .read")))[1]));
  }
  said.forEach((value, i) => assert.ok(Math.abs(value - s.heads.cross[1][3][i + 1][0]) < 0.0002, `row ${i + 1}`));
  await page.locator("#heads-decoder").click();
  assert.equal((await page.locator("#heads-view .tops text").allTextContents())[0], "(start)");
}, { daemon }));

test("heads: the encoder's as arcs between the tokens of the source",
  () => visit(heads({ h: "encoder.0.1" }), async (page) => {
  await drawn(page);
  const { heads: { encoder }, source_tokens } = await ask({}), rows = encoder[0][1];
  assert.equal(await page.locator(".arcs path, .arcs circle").count(), rows.flat().filter((w) => w >= 0.05).length);
  await page.locator(".arcs").focus();
  await page.keyboard.press("ArrowDown");
  const most = rows[0].indexOf(Math.max(...rows[0]));
  assert.ok((await text(page.locator("#heads-view .read")))
    .startsWith(`${source_tokens[0]} looks at ${source_tokens[most]}: `));
  assert.equal(await page.locator(".arcs path:not([opacity='0.04']), .arcs circle:not([opacity='0.04'])").count(),
    rows[0].filter((w) => w >= 0.05).length);
}, { daemon }));

test("heads: by keyboard, in the link, and back", () => visit(heads(), async (page) => {
  await drawn(page);
  const focused = () => page.evaluate(() => window.deepFocus().id);
  await page.locator("#tab-heads").focus();
  for (let presses = 0; presses < 9 && !(await focused()).startsWith("head."); presses++)
    await page.keyboard.press("Tab");
  assert.equal(await focused(), "head.cross.0.2"); /* the head that is drawn large */
  for (const key of ["ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  assert.equal(await large(page), "Cross-attention, layer 2, head 4");
  assert.equal(await focused(), "head.cross.1.3");
  const shared = await hashOf(page);
  await visit(shared, async (other) => {
    await drawn(other);
    assert.equal(await large(other), "Cross-attention, layer 2, head 4");
  }, { daemon });
  await page.goBack();
  await page.locator('[id="head.cross.0.2"][aria-pressed=true]').waitFor();
}, { daemon }));

test("heads: what is forced, all of them look at", () => visit(heads(), async (page) => {
  await drawn(page);
  await page.locator(".target .unit").first().click();
  await page.locator(".source .unit").nth(1).click();
  await page.locator("#undo").waitFor();
  await drawn(page);
  const found = await pictures(page), { source_tokens } = await ask({}),
    at = source_tokens.findIndex((token) => token.startsWith("\u2581man"));
  for (const [name, rows] of Object.entries(found))
    assert.ok(rows[0][at] > 0.99 || rows[0][at] === Math.max(...rows[0]), `${name}: ${rows[0]}`);
}, { daemon }));

test("heads: a model without any says so, and has no tab for them", async () => {
  await visit(link({}), async (page) => {
    await translated(page);
    assert.equal(await page.locator("#tab-heads").isVisible(), false);
    await openTab(page, "diagnostics");
    await page.locator("#tab-diagnostics").press("ArrowRight");
    assert.equal(await page.evaluate(() => window.deepFocus().id), "tab-step");
  });
  await visit(link({ v: "heads" }), async (page) => {
    await translated(page);
    assert.match(await text(page.locator("#panel .note")), /^This model has no heads/);
  });
});

test("heads: no violations that axe finds, not wider than the page, and seen in forced colours", async () => {
  for (const [theme, width] of [["light", 1024], ["dark", 390]]) {
    for (const h of ["", "encoder.0.0", "decoder.1.2"]) {
      await visit(heads({ h }), async (page) => {
        await drawn(page);
        assert.deepEqual(await violations(page), [], `${theme} ${h}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
          `${h} is wider than ${width}`);
        const small = await page.locator(".grid button")
          .evaluateAll((list) => list.filter((button) => button.getBoundingClientRect().width < 40
          || button.getBoundingClientRect().height < 40).length);
        assert.equal(small, 0);
      }, { daemon, theme, width, bypassCSP: true });
    }
  }
  await visit(heads(), async (page) => {
    await drawn(page);
    const [chosen, other] = await page.locator(".grid button").evaluateAll((list) => ["true", "false"]
      .map((on) => getComputedStyle(list.find((button) => button.getAttribute("aria-pressed") === on)).borderTopWidth));
    assert.deepEqual([chosen, other], ["3px", "1px"]);
  }, { daemon, forcedColors: "active" });
});

test("heads: 6 layers of 8 heads over 60 tokens are drawn within 200 ms", () => visit(heads(), async (page) => {
  await drawn(page);
  const measure = () => measureHeads(page, RUNS);
  let found = await measure();
  /* Retry, because other programs may have used the processor. */
  for (let round = 1; found.ms >= LIMIT_MS && round < ROUNDS; round++) found = await measure();
  console.log(`# 6 x 8 x 60 x 60: drawn ${found.ms.toFixed(0)} ms after the click (median of ${3 * RUNS})`);
  assert.deepEqual([found.pictures, found.marked], [48, "head.cross.3.5"]);
  assert.ok(found.ms < LIMIT_MS, `${found.ms} ms`);
}, { daemon }));
