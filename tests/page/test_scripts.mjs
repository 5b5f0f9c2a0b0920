/* Hebrew, Arabic, Chinese and Japanese with a daemon that has such models, and a model that copies words. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { startDaemon } from "../clients/daemon.mjs";
import { link, openTab, point, program, saved, sourceWords, target, text, translated, views,
  visit } from "./browser.mjs";
import { arabic, chinese, hebrew, japanese, scriptFolder } from "./folders.mjs";

let folders, daemon;
before(async () => {
  folders = [scriptFolder("he-ar", "tokenizer-words", [hebrew, arabic]),
    scriptFolder("zh-ja", "tokenizer-characters", [chinese, japanese])];
  daemon = await startDaemon(program, [...folders, "tests/golden/fixed-gru"]);
});
after(() => {
  daemon?.stop();
  for (const folder of folders) rmSync(dirname(folder), { recursive: true });
});

const HEBREW = "הילד משחק בשלג והילדה קוראת ספר.", ARABIC = "الولد يلعب بالثلج والبنت تقرأ الكتاب.";
const CHINESE = "我喜欢雪你在哪里", JAPANESE = "私は雪が好きです";
const he = (fields) => link({ t: HEBREW, m: "he-ar", s: "sample", seed: 1, ...fields }),
  zh = (fields) => link({ t: CHINESE, m: "zh-ja", s: "sample", seed: 1, ...fields });
/* Words of a text as the daemon segments it, with its dictionary. */
async function chineseWords(text) {
  const reply = await (await fetch(`${daemon.url}/attention`,
    { method: "POST", body: JSON.stringify({ text, model: "zh-ja", strategy: "greedy", include: ["words"] }) })).json();
  return reply.results[0].sentences[0].words.source;
}
const there = (hash, body, options) => visit(hash, body, { daemon, ...options });

/* Bounding boxes of elements, in document order, once there is one. */
async function boxes(locator) {
  await locator.first().waitFor();
  return locator.evaluateAll((list) => list.map((node) => {
    const { left, right, top } = node.getBoundingClientRect();
    return { left, right, top };
  }));
}
const lefts = async (locator) => (await boxes(locator)).map((box) => box.left);
const falls = (list) => list.length > 1 && list.every((x, k) => !k || x < list[k - 1]);
const rises = (list) => list.length > 1 && list.every((x, k) => !k || x > list[k - 1]);
const words = (line) => line.match(/[\p{L}\p{N}]+|\p{P}/gu);

test("9: right to left: words, offsets and threads run from the right", () => there(he({}), async (page) => {
  await translated(page);
  assert.deepEqual(await sourceWords(page).allTextContents(), words(HEBREW));
  assert.equal(await text(page.locator(".line.source")), HEBREW);
  assert.ok(falls(await lefts(page.locator(".source .unit"))));
  assert.ok((await page.locator(".target .unit").allTextContents()).filter((word) => /\p{Script=Arabic}/u.test(word))
    .length > 3);
  assert.ok(falls(await lefts(page.locator(".target .unit"))));
  assert.deepEqual(await page.locator(".line")
    .evaluateAll((list) => list.map((line) => [line.lang, getComputedStyle(line).direction])),
    [["he", "rtl"], ["ar", "rtl"]]);

  await page.locator(".source .unit").first().focus(); /* from right to left, the left arrow moves on */
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.evaluate(() => window.deepFocus().textContent), words(HEBREW)[1]);
}));

test("9: offsets count UTF-16 units, as the page's text does", async () => {
  const [first, ...others] = words(HEBREW); // a symbol before the first word belongs to no sentence
  await there(he({ t: HEBREW.replace(first, `${first} \u{1F600}`) }), async (page) => {
    await translated(page);
    assert.deepEqual(await sourceWords(page).allTextContents(), [first, "\u{1F600}", ...others]);
  });
  await there(zh({ t: `\u{20BB7}${CHINESE}` }), async (page) => {
    await translated(page);
    assert.deepEqual(await sourceWords(page).allTextContents(), await chineseWords(`\u{20BB7}${CHINESE}`));
    assert.equal((await sourceWords(page).allTextContents())[0], "\u{20BB7}");
  });
});

test("9: right to left: the matrix's columns and labels", () => there(he({}), async (page) => {
  await translated(page);
  const tops = page.locator("#panel .tops text:not([data-end])"), sides = page.locator("#panel .sides text");
  assert.deepEqual(await tops.allTextContents(), words(HEBREW));
  assert.ok(falls(await lefts(tops)), "the first word's column is the rightmost");
  const map = await page.locator("#panel .map").boundingBox(), head = (await page.locator("#panel .tops").boundingBox())
    .height;
  for (const box of await boxes(tops)) assert.ok(box.top >= map.y - 1 && box.right <= map.x + map.width + 1,
    "column names lie within the picture");
  const cell = await page.locator("#panel .map rect").nth(1).boundingBox(); /* row 0, column 0 */
  assert.ok(Math.abs(cell.y - map.y - head) < 4 && cell.x > map.x + map.width / 2);
  for (const box of await boxes(sides))
    assert.ok(box.left >= map.x - 1 && box.right <= map.x
    + (await page.locator("#panel .map").evaluate((svg) => svg.layout.left)), "row names lie left of the cells");

  await page.locator("#panel .map").focus();
  await page.keyboard.press("ArrowLeft");
  assert.ok((await text(page.locator("#panel .read"))).includes(`is aligned with ${words(HEBREW)[1]}:`));
  await page.mouse.move(cell.x + cell.width / 2, cell.y + cell.height / 2);
  await page.locator("#panel .read", { hasText: `is aligned with ${words(HEBREW)[0]}:` }).waitFor();
}));

test("9: right to left: lines, table, confidence, tree, picture", async () => {
  await there(he({ lines: 1 }), async (page) => {
    await translated(page);
    const map = await page.locator("#panel .map").boundingBox(),
      labels = await boxes(page.locator("#panel .map text:not([data-end])")), count = words(HEBREW).length;
    for (const [k, box] of labels.entries()) assert.ok(box.left >= map.x - 1 && box.right <= map.x + map.width + 1
      && (k < count) === (box.left < map.x + map.width / 2), `label ${k}`);
    await page.getByRole("button", { name: "Table" }).click();
    assert.ok(falls(await lefts(page.locator("#panel thead th"))));
    await openTab(page, "confidence");
    const steps = await boxes(page.locator(".step")), top = steps[0].top;
    assert.ok(falls(steps.filter((box) => box.top === top).map((box) => box.left)));
    await page.locator(".step").first().click();
    await page.locator("#popover li").nth(4).waitFor();
    assert.equal(await page.locator("#popover li").count(), 5);
    await page.keyboard.press("Escape");
    await openTab(page, "beam");
    await page.locator(".tree").waitFor();
    assert.ok(await page.locator(".tree").evaluate((tree) => [...tree.querySelectorAll("text[direction=rtl]")]
      .every((node) => node.getBBox().x > Number(node.previousElementSibling.getAttribute("cx")))));
  });
  await there(he({ v: "export" }), async (page) => {
    await translated(page);
    const picture = String(await saved(page, "SVG"));
    for (const word of words(HEBREW)) assert.ok(picture.includes(`>${word}</text>`), word);
    assert.match(picture, /direction="rtl"/);
  });
});

test("9: right to left: why a word was written, links by hand", async () => {
  await there(he({ v: "why" }), async (page) => {
    await page.locator("#loss-map").waitFor();
    assert.ok(falls(await lefts(page.locator("#panel .words button"))), "the words run from the right");
    assert.ok(falls(await lefts(page.locator("#panel .tops text"))), "so do the map's columns");
    await page.locator("#panel .words [tabindex='0']").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.evaluate(() => document.activeElement.id), "word-1");
    await page.locator("#why-not").click();
    await page.locator("#instead-0").click();
    await page.locator("#panel table").waitFor();
    const [first, ...others] = await boxes(page.locator("#panel tbody tr").first().locator("th, td"));
    assert.ok(others.every((box) => box.right <= first.left + 1), "the source word is the rightmost");
  });
  await there(he({ v: "links", g: "0-0" }), async (page) => {
    await page.locator("#links-map").waitFor();
    const { x, middle } = await page.locator("#links-map")
      .evaluate((svg) => ({ x: Number(svg.querySelector("[data-link]").getAttribute("x")),
      middle: svg.getAttribute("width") / 2 }));
    assert.ok(x > middle, "the first word's link is on the right");
    await page.locator("#links-map").focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#pharaoh").inputValue(), "0-0 1-0");
  });
});

test("9: right to left: a translation of one's own, matched by its offsets",
  () => there(he({ v: "ask" }), async (page) => {
  await translated(page);
  await page.locator("#reference").fill(ARABIC);
  await page.getByRole("button", { name: "Score it" }).click();
  await page.locator("#panel .sides text").first().waitFor();
  assert.deepEqual(await page.locator("#panel .sides text").allTextContents(), words(ARABIC));
  assert.equal(await text(page.locator("#panel .card").nth(1).locator(".line")), ARABIC);
}));

test("9: words without spaces: Chinese and Japanese", () => there(zh({}), async (page) => {
  await translated(page);
  assert.deepEqual(await sourceWords(page).allTextContents(), await chineseWords(CHINESE));
  assert.equal(await text(page.locator(".line.source")), CHINESE);
  assert.ok(rises(await lefts(page.locator(".source .unit"))));
  assert.deepEqual(await page.locator(".line").evaluateAll((list) => list.map((line) => line.lang)), ["zh", "ja"]);
  assert.deepEqual(await page.locator("#panel .tops text:not([data-end])").allTextContents(),
    await chineseWords(CHINESE));
  assert.ok(rises(await lefts(page.locator("#panel .tops text:not([data-end])"))));
  await openTab(page, "ask");
  await page.locator("#reference").fill(JAPANESE);
  await page.getByRole("button", { name: "Score it" }).click();
  await page.locator("#panel .sides text").first().waitFor();
  assert.equal((await page.locator("#panel .sides text").allTextContents()).join(""), JAPANESE);
}));

test("9: a model without attention: every view opens",
  () => there(link({ t: "tom is in the house", m: "fixed-gru", s: "greedy" }), async (page) => {
  await translated(page);
  assert.match(await text(page.locator("#hint")), /no attention/);
  for (const line of [".source", ".target"]) await point(page.locator(`${line} .unit`).first());
  for (const view of views) {
    await openTab(page, view);
    await page.locator("#panel > *").first().waitFor();
    assert.equal(await page.locator("#panel .error:visible").count(), 0, view);
  }
  assert.equal(await page.getByRole("button", { name: "PNG" }).isDisabled(), true);
}, { expected: /400/ }));

test("7: a model that parses: its words, what it copies",
  () => visit("#" + new URLSearchParams({ t: "What is the population of Zurich?", m: "geoquery", v: "diagnostics" }),
  async (page) => {
  await target(page, "zurich").waitFor();
  assert.equal(await text(page.locator("#go")), "Parse");
  assert.equal(await page.locator("#result").getAttribute("aria-label"), "Logical form");
  assert.match(await text(page.locator("#panel .card").nth(2)), /^Copied words.*zurich/);
  assert.match(await text(page.locator("#panel .card").nth(0)), /Nothing is repeated/);
  assert.doesNotMatch(await text(page.locator("main")), /translat|left out\?|repeated\?/i);
  for (const view of ["map", "ask", "export"]) {
    await openTab(page, view);
    assert.doesNotMatch(await text(page.locator("main")), /translat/i, view);
  }
  await page.getByRole("button", { name: "Which rivers run through Texas?" }).click();
  await target(page, "river").waitFor();
}));
