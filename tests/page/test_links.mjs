/* Shared links: the link holds everything that is shown, Back reverts single steps, and the title is the sentence. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, becomes, hashOf, holds, link, openTab, sentence, source, target, text, translated, violations,
  visit } from "./browser.mjs";

const reading = (page) => text(page.locator("#reading .line.target"));
const showing = (page, words) => page.locator("#reading .line.target")
  .filter({ hasText: new RegExp(`^${words.replace(/[.?]/g, "\\$&")}$`) }).waitFor();
/* Open the current link in a new page. */
const shared = async (page, body) => visit(await hashOf(page), body);

test("links: another token and a forced look are in the link; Back takes them back one by one, undo as well",
  () => visit(link({ v: "confidence" }), async (page) => {
  await translated(page);
  const first = await reading(page);
  const { top_k } = (await ask("/attention", { text: sentence, model: "en-fr", include: ["top_k", "eos"] })).results[0]
    .sentences[0];
  await page.locator(".step").nth(2).click();
  await page.locator("#popover li button", { hasText: top_k[2][1].token }).first().click();
  await page.locator("#answer .card").nth(1).waitFor();
  const second = await reading(page);
  await openTab(page, "map");
  await page.locator(".target .unit").nth(4).click();
  await page.locator(".source .unit").nth(2).click();
  await page.getByRole("button", { name: "Back to the beginning (2)" }).waitFor();
  const third = await reading(page), title = await text(page.locator("#answer h2"));
  await shared(page, async (other) => {
    await other.getByRole("button", { name: "Back to the beginning (2)" }).waitFor();
    assert.equal(await reading(other), third);
    assert.equal(await text(other.locator("#answer h2")), title);
    await other.locator("#undo").click();
    await other.locator("#answer .card").nth(1).waitFor();
    assert.equal(await reading(other), second);
    assert.equal((await hashOf(other)).match(/q=/g).length, 1);
  });
  await page.goBack();
  await page.getByRole("button", { name: /Back to the beginning/ }).waitFor({ state: "detached" });
  await showing(page, second);
  assert.equal(await page.locator("#tab-map").getAttribute("aria-selected"), "true");
  await page.goBack();
  await page.locator("#tab-confidence[aria-selected=true]").waitFor();
  await page.goBack();
  await page.locator("#answer .card").first().waitFor({ state: "detached" });
  assert.equal(await reading(page), first);
}));

test("links: a sentence of several, its own translation, a comparison",
  () => visit(link({ t: "She is late. He waits for her.", v: "ask" }), async (page) => {
  await translated(page);
  await page.locator("#next").click();
  await target(page, "attend").waitFor();
  await page.locator("#reference").fill("Il attend.");
  await page.getByRole("button", { name: "Score it" }).click();
  await page.locator("#panel .card").nth(1).waitFor();
  await holds(page, () => location.hash.includes("own="));
  await shared(page, async (other) => {
    await other.locator("#panel .card").nth(1).waitFor();
    assert.equal(await text(other.locator("#panel .card").nth(1).locator(".line")), "Il attend.");
    assert.match(await text(other.locator(".pair.active .line.source")), /^He waits/);
    assert.equal(await other.locator("#reference").inputValue(), "Il attend.");
  });
  await openTab(page, "compare");
  await page.locator("#panel .map").first().waitFor();
  await page.locator("#strategy-b").selectOption("exact");
  await page.locator("#text-b").fill("He is late.");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator("#panel .none").waitFor();
  await shared(page, async (other) => {
    await other.locator("#panel .none").waitFor();
    assert.equal(await other.locator("#text-b").inputValue(), "He is late.");
    assert.equal(await other.locator("#strategy-b").inputValue(), "exact");
  });
}));

/* Hold back requests for which asks(body) is true until they are released: {waiting: how many are held, release()}. */
async function hold(page, path, asks) {
  const held = [];
  await page.route(path, (route) => (asks(route.request().postDataJSON())
    ? held.push(() => route.continue().catch(() => {})) : route.continue()));
  return { get waiting() { return held.length; }, release: () => Promise.all(held.splice(0).map((go) => go())) };
}

test("links: of comparisons and questions that overtake each other, the last one counts",
  () => visit(link({ v: "compare" }), async (page) => {
  await page.locator("#panel .map").nth(1).waitFor();
  const late = await hold(page, "**/attention", (body) => body.strategy === "exact" || body.force_attention?.[0]
    .weights[0] === 1);
  await page.locator("#strategy-b").selectOption("exact");
  await becomes(() => assert.ok(late.waiting));
  await page.locator("#strategy-b").selectOption("sample");
  await page.locator("#panel h3", { hasText: "B: en-fr, sample" }).waitFor();
  await late.release();
  await openTab(page, "ask");
  await openTab(page, "compare");
  assert.match(await page.locator("#panel h3").nth(1).textContent(), /Sample/);

  await target(page, "livre").click(); /* make it look at the first word, and at once at another */
  await source(page, "She").click();
  await becomes(() => assert.ok(late.waiting));
  await source(page, "him").click();
  await page.locator("#undo").waitFor();
  await late.release();
  assert.match(await text(page.locator("#answer h2")), /looks at \u201chim/);

  await page.locator("#undo").click();
  await target(page, "livre").click(); /* a question about a text that is replaced before the answer comes */
  await source(page, "She").click();
  await becomes(() => assert.ok(late.waiting));
  await page.locator("#text").fill("A boy plays in the snow.");
  await target(page, "neige").waitFor();
  await late.release();
  /* Wait for a reply that comes after the late one. */
  await page.evaluate(() => fetch("/languages").then((reply) => reply.text()));
  assert.ok(!(await hashOf(page)).includes("q="));
  assert.equal(await page.locator("#answer .card").count(), 0);
}));

test("links: one that is opened is one step for Back, whatever it asks",
  () => visit(link({ q: "f4:2" }), async (page) => {
  await page.locator("#undo").waitFor();
  await holds(page, () => location.hash.includes("s=beam")); /* a default that the link omitted */
  assert.equal(await page.evaluate(() => history.length), 2);
  await visit(`${await hashOf(page)}&q=f5%3A2`, async (other) => {
    await other.getByRole("button", { name: "Back to the beginning (2)" }).waitFor();
    assert.equal(await other.evaluate(() => location.hash.match(/q=/g).length), 2);
    assert.equal(await other.evaluate(() => history.length), 2);
  });
}));

test("links: Back goes to the text before; the title says the sentence; a question that is no question is left out",
  () => visit(link({}), async (page) => {
  await translated(page);
  assert.equal(await page.title(), `${sentence} \u2013 alignd`);
  await page.getByRole("button", { name: "A boy plays in the snow." }).click();
  await target(page, "neige").waitFor();
  assert.equal(await page.title(), "A boy plays in the snow. \u2013 alignd");
  await page.goBack();
  await source(page, "book").waitFor();
  assert.equal(await page.locator("#text").inputValue(), sentence);
  await page.evaluate((hash) => { location.hash = hash; }, `${link({})}&q=f99%3A0&q=zz`);
  await holds(page, () => !location.hash.includes("q=")); /* the link says what is shown */
  assert.equal(await page.locator("#answer .card").count(), 0);
}));

test("links: the question mark explains each view, with a sentence to try", async () => {
  for (const theme of ["light", "dark"]) {
    await visit(link({}), async (page) => {
      await translated(page);
      await page.locator("#show-help").click();
      await page.locator("#help dt").first().waitFor();
      const tabs = await page.locator(".tabs button").allTextContents();
      assert.deepEqual(await page.locator("#help dt:not(:has(kbd))").allTextContents(),
        [...tabs, "The lines under the words", "Theme"]);
      assert.deepEqual(await violations(page), []);
      await page.locator("#help dd a").nth(5).click();
      await page.locator(".cover").waitFor();
      assert.equal(await page.locator("#tab-diagnostics").getAttribute("aria-selected"), "true");
      assert.equal(await page.locator("#help").isVisible(), false);
    }, { theme, bypassCSP: true });
  }
});
