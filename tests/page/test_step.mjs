/* The step view: one decoding step with its numbers, walked through, linked to, and in the element. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { link, text, violations, visit } from "./browser.mjs";

const rows = (page) => page.locator(".attended tr:has(td)").evaluateAll((list) =>
  list.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)));
const value = (shown) => Number(shown.replace("\u2212", "-").replace("%", ""));

test("step: scores, their softmax and the tokens of a step are shown on one screen, with formulas that have names",
  () => visit(link({ v: "step", n: "2" }), async (page) => {
  await page.locator(".walk").waitFor();
  assert.equal(await text(page.locator(".walk output")), "Step 3 of 12");
  const shown = await rows(page), scores = shown.map(([, e]) => value(e)),
    z = scores.reduce((sum, e) => sum + Math.exp(e), 0);
  assert.equal(shown.length, 11);
  for (const [k, [name, , weight]] of shown.entries())
    assert.ok(Math.abs(100 * Math.exp(scores[k]) / z - value(weight)) < 1.5, `${name} ${weight}`);
  assert.equal(await page.locator(".stepped .likely li").count(), 5);
  for (const name of await page.locator(".formula").evaluateAll((list) => list.map((one) => one.ariaLabel)))
    assert.match(name, /^[\w ,;]+$/);
  await page.locator(".what-if .likely").nth(2).waitFor();
  assert.ok(await page.locator(".walk").evaluate((node) => node.getBoundingClientRect().height) <= 768);
  assert.deepEqual(await violations(page), []);
}, { width: 1366, height: 768, bypassCSP: true }));

test("step: buttons, tokens and Play walk through the sentence; the link holds the step", () =>
  visit(link({ v: "step" }), async (page) => {
  const said = page.locator(".walk output");
  const at = (k) => page.locator(".walk output", { hasText: `Step ${k} of` }).waitFor();
  await at(1);
  assert.ok(await page.getByRole("button", { name: "Previous step" }).isDisabled());
  await page.getByRole("button", { name: "Next step" }).click();
  await at(2);
  assert.match(page.url(), /[&#]n=1(&|$)/);
  await page.locator(".walked button").nth(10).click();
  await at(11);
  await page.getByRole("button", { name: "Play", exact: true }).click(); /* stops at the last step */
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await at(12);
  await page.getByRole("button", { name: "Play", exact: true }).waitFor();
  await page.reload();
  await at(12);
  assert.equal(await text(said), "Step 12 of 12");
}));

test("step: with other weights the model says something else, or says it less surely", () =>
  visit(link({ v: "step", n: "4" }), async (page) => {
  const chosen = (list) => list.locator(".chosen small").textContent().then(value),
    own = page.locator(".stepped .likely"), equal = page.locator(".what-if > div").first().locator(".likely");
  await equal.waitFor();
  const left = await equal.locator(".chosen").count() ? await chosen(equal) : 0;
  assert.ok(left < await chosen(own));
  const third = page.locator(".what-if > div").nth(2);
  await third.locator(".likely").waitFor();
  const before = await text(third.locator(".likely"));
  await third.locator("select").selectOption("9");
  for (let now = before; now === before;) now = await text(third.locator(".likely"));
}));

test("step: the element has the view, with a step of its own", () => visit(link({}), async (page) => {
  await page.locator(".tabs").waitFor();
  await page.evaluate(() => {
    const own = document.createElement("alignd-attention");
    own.id = "own";
    own.view = "step";
    own.setAttribute("step", "1");
    own.addEventListener("stepselect", ({ detail }) => { own.dataset.at = detail.step; });
    own.result = document.getElementById("view").result;
    document.body.append(own);
  });
  const own = page.locator("#own");
  await own.locator(".walk output", { hasText: "Step 2 of" }).waitFor();
  await own.getByRole("button", { name: "Next step" }).click();
  await page.locator("#own[data-at='2']").waitFor();
}));
