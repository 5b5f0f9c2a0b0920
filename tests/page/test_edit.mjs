/* The translation, edited in place: its drawing, quality and warnings follow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, becomes, hashOf, holds, link, text, translated, visit } from "./browser.mjs";

const result = (page) => text(page.locator("#result"));
const units = (page) => page.locator("#view .target .unit").allTextContents();
const open = async (page) => {
  await page.locator("#edit").click();
  await page.locator("#edited").waitFor();
};
/* Put the cursor after a part of the box's text. */
const after = (page, part) => page.locator("#edited").evaluate((box, says) => {
  box.selectionStart = box.selectionEnd = box.value.indexOf(says) + says.length;
}, part);

test("edit: by keyboard alone: words, quality and warnings follow, the link keeps it, and the model's own comes back",
  () => visit(link({ t: "I have 12 red apples." }), async (page) => {
  await translated(page);
  const own = await result(page);
  await page.locator("#edit").focus();
  await page.keyboard.press("Enter");
  await page.locator("#edited").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "edited");
  /* The box lies on the text as its mirror: the same place, and nothing of it is seen twice. */
  assert.deepEqual(await page.evaluate(() => {
    const [box, below] = ["edited", "result"].map((id) => document.getElementById(id)),
      { border } = getComputedStyle(box);
    const [a, b] = [box, below].map((one) => one.getBoundingClientRect());
    return [border.startsWith("0px"), Math.abs(a.top - b.top) < 1, Math.abs(a.width - b.width) < 1,
      getComputedStyle(below).color];
  }), [true, true, true, "rgba(0, 0, 0, 0)"]);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("J'ai 15 pommes vertes.");
  await page.locator("#warnings", { hasText: "Check the numbers: 12 became 15." }).waitFor();
  const { results: [{ sentences: [said] }] } = await ask("/attention", { text: "I have 12 red apples.", model: "en-fr",
    translation: "J'ai 15 pommes vertes.", include: ["words", "quality"] });
  await becomes(async () => assert.deepEqual(await units(page), said.words.target));
  assert.deepEqual(await page.locator("#view .target .unit").evaluateAll((list) =>
    list.map((unit) => unit.style.getPropertyValue("--q"))), said.quality.words.map((q) => q.toFixed(2)));
  assert.match(await text(page.locator("#told")), /15 pommes vertes\. Warnings: Check the numbers: 12 became 15\./);
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "edit");
  assert.equal(await result(page), "J'ai 15 pommes vertes.");
  assert.match(await hashOf(page), /[&#]e=J%27ai\+15/);
  await page.reload();
  await page.locator("#warnings", { hasText: "12 became 15" }).waitFor();
  await page.locator("#own-text").focus();
  await page.keyboard.press("Enter");
  await holds(page, (before) => document.getElementById("result").textContent === before, own);
  await page.locator("#warnings").waitFor({ state: "hidden" });
  await page.locator("#own-text").waitFor({ state: "hidden" });
  assert.doesNotMatch(await hashOf(page), /[&#]e=/);
}));

const TWO = "I like snow. She gave him the book.";
test("edit: of several sentences only the edited one is asked for, and it is drawn; what is joined is one sentence",
  () => visit(link({ t: TWO }), async (page) => {
  await translated(page);
  const asked = [];
  page.on("request", (request) => { if (request.method() === "POST") asked.push(request.postDataJSON().text); });
  await open(page);
  await after(page, "Elle lui a");
  const whole = await page.locator("#edited").inputValue(), parts = whole.split(". ");
  await page.locator("#edited").fill(`${parts[0]}. Elle lui prêta le livre.`);
  await becomes(async () => assert.ok((await units(page)).includes("prêta"), `${await units(page)}`));
  assert.deepEqual(asked, [["She gave him the book."]]);
  assert.match(await text(page.locator("#which")), /Sentence 2 of 2/);
  await page.locator("#edited").fill(`${parts[0]}, et elle lui prêta le livre.`);
  await becomes(async () => assert.deepEqual((await units(page)).slice(-6),
    ["et", "elle", "lui", "prêta", "le", "livre", "."].slice(-6)));
  assert.deepEqual(asked.at(-1), [TWO]);
  await page.locator("#which").waitFor({ state: "hidden" });
  await page.locator("#edit").click(); /* Done */
  await page.locator("#text").fill("Where is the train station?"); /* a new text has a translation of its own */
  await page.locator("#result", { hasText: "gare" }).waitFor();
  assert.equal(await page.locator("#own-text").isVisible(), false);
  await page.goBack();
  await page.locator("#result", { hasText: "prêta" }).waitFor();
}));

test("edit: typing goes on while it is aligned; Back takes an edit back; an error can be repeated",
  () => visit(link({ t: TWO }), async (page) => {
  await translated(page);
  const own = await result(page);
  await open(page);
  await page.keyboard.press("Control+End");
  await page.route("**/attention", (route) => route.abort());
  await page.keyboard.type(" Oui");
  await page.locator("#edit-error", { hasText: "The server cannot be reached." }).waitFor();
  await page.unroute("**/attention");
  await page.locator("#edit-error button").click();
  await becomes(async () => assert.equal((await units(page)).at(-1), "Oui"));
  await page.locator("#edited").focus();
  await page.keyboard.type(" non");
  await becomes(async () => assert.equal((await units(page)).at(-1), "non"));
  assert.equal(await page.locator("#edited").inputValue(), `${own} Oui non`);
  await page.keyboard.press("Escape");
  assert.equal(await result(page), `${own} Oui non`);
}, { expected: /ERR_FAILED/ }));
