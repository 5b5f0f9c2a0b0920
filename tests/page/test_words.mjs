/* A word's panel: what could stand in its place, and what of the sentence stays. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, becomes, hashOf, holds, link, sentence, text, translated, visit } from "./browser.mjs";

const result = (page) => text(page.locator("#result"));
const found = (page) => page.locator("#word .read", { hasText: /alternatives/ }).waitFor();
const rows = (page) => page.locator("#word-list button").evaluateAll((list) => list.map((row) => row.textContent));
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);

test("word: by keyboard alone: whole words with how the sentence goes on, one is taken, and taken back",
  () => visit(link({}), async (page) => {
  await translated(page);
  await page.locator("#result [tabindex='0']").focus();
  for (let k = 0; k < 4; k++) await page.keyboard.press("ArrowRight");
  assert.equal(await focused(page), "livre");
  await page.keyboard.press("Enter");
  await found(page);
  const panel = page.locator("#word"), word = await page.locator("#result .word", { hasText: /^livre$/ }).boundingBox();
  assert.equal(await text(page.locator("#made-from")), "book");
  assert.equal(await panel.getAttribute("role"), "dialog");
  assert.equal(await panel.getAttribute("aria-label"), "Instead of livre");
  const box = await panel.boundingBox();
  assert.ok(Math.abs(box.y - word.y - word.height) < 40, `${box.y}, ${word.y}: beside the word`);
  const all = await rows(page);
  assert.ok(all.length >= 4 && all.every((row) => /^\p{L}+ .*perdu\.$/u.test(row)), JSON.stringify(all));
  assert.equal(new Set(all.map((row) => row.split(" ")[0])).size, all.length); /* each word once */
  await page.keyboard.press("ArrowDown"); /* from the first to the second alternative */
  const chosen = await focused(page);
  assert.ok(all.includes(chosen), chosen);
  await page.keyboard.press("Enter");
  await holds(page, (end) => document.getElementById("result").textContent === `Elle lui donna le ${end}`, chosen);
  assert.match(await hashOf(page), /q=w4/);
  const taken = await result(page);
  await page.reload(); /* the link has it */
  await holds(page, (whole) => document.getElementById("result").textContent === whole, taken);
  await page.locator("#undo").click();
  await page.locator("#result", { hasText: "le livre qu" }).waitFor();
}));

test("word: from here, and both ends: the rest stays, and what is decoded is what the server says; Escape goes back",
  () => visit(link({}), async (page) => {
  await translated(page);
  const before = await result(page);
  await page.locator("#result .word", { hasText: /^livre$/ }).click();
  await found(page);
  await page.locator("#keep-after").focus();
  await page.keyboard.press("Enter");
  await becomes(async () => assert.equal(await page.locator("#keep-after").getAttribute("aria-pressed"), "true"));
  await found(page);
  const after = await rows(page);
  assert.ok(after.length && after.every((row) => row.endsWith(" qu'il avait perdu.")), JSON.stringify(after));
  await page.locator("#keep-both").click();
  await found(page);
  const both = await rows(page);
  assert.ok(both.length >= 3 && both.every((row) => row.endsWith(" qu'il avait perdu.")), JSON.stringify(both));
  const { results: [{ text: own }] } = await ask("/attention", { text: sentence, model: "en-fr",
    prefix: "Elle lui donna le ", suffix: " qu'il avait perdu." });
  assert.equal(own, before);
  await page.keyboard.press("Escape");
  await page.locator("#word").waitFor({ state: "hidden" });
  assert.equal(await focused(page), "livre");
  assert.equal(await result(page), before);
}));

test("word: a search that fails says so, and can be repeated", () => visit(link({}), async (page) => {
  await translated(page);
  await page.route("**/attention", (route) => route.abort());
  await page.locator("#result .word", { hasText: /^livre$/ }).click();
  await page.locator("#word .error", { hasText: "The server cannot be reached." }).waitFor();
  await page.unroute("**/attention");
  await page.locator("#word .error button").click();
  await found(page);
}, { expected: /ERR_FAILED/ }));
