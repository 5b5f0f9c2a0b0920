/* Why a word was written: source words left out, another word in its place, source against previous words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, hashOf, link, openTab, sentence, target, text, translated, violations, visit } from "./browser.mjs";

const percent = (logProb) => {
  const p = Math.exp(Math.min(0, logProb));
  return p >= 0.1 ? `${Math.round(100 * p)}%` : `${(100 * p).toFixed(1)}%`;
};
const score = async (source, translation) =>
  (await ask("/attention", { model: "en-fr", text: source, translation, include: ["tokens", "log_probs"] })).results[0]
  .sentences[0];
/* Log-probabilities by token, without its word marker; here each token is a word. */
const byWord = ({ tokens, log_probs }) =>
  new Map(tokens.map((token, i) => [token.replace("\u2581", ""), log_probs[i]]));
/* Bodies of the page's requests to /attention. */
async function watch(page) {
  const bodies = [];
  page.on("request", (request) => { if (request.url().endsWith("/attention")) bodies.push(request.postDataJSON()); });
  return bodies;
}
const rows = (page) => page.locator("#panel .cover > div")
  .evaluateAll((list) => list.map((row) => [row.querySelector(".word").textContent,
  row.querySelector(".say").textContent, row.querySelector(".verdict").textContent]));

test("why: each source word is left out in turn; the word that matters most to the chosen one; the link has it",
  () => visit(link({ v: "why", i: "4" }), async (page) => {
  await page.locator("#loss-map").waitFor();
  const french = await text(page.locator("#reading .line.target")), whole = byWord(await score(sentence, french)),
    without = byWord(await score("She gave him the that he had lost.", french));
  const found = await rows(page);
  assert.deepEqual(found.map(([word]) => word), ["She", "gave", "him", "the", "book", "that", "he", "had",
    "lost", "."]);
  assert.deepEqual(found[4], ["book", percent(without.get("livre")), "matters most"]);
  assert.equal(await text(page.locator("#panel .answer")),
    `livre, ${percent(whole.get("livre"))}, depends most on book: without it, ${percent(without.get("livre"))}.`);
  await page.locator("#word-0").click();
  assert.match(await text(page.locator("#panel .answer")), /^Elle, \d+%, depends most on She:/);
  assert.match(await hashOf(page), /[#&]i=0(&|$)/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "word-0");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.match(await text(page.locator("#panel .answer")), /^lui, /);
  await page.locator("#loss-map").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await text(page.locator("#panel .read")), /^Elle without gave: \d+% instead of \d+%$/);
}));

test("why: 80 words are asked about in a few requests, which can be stopped; more are not", async () => {
  const words = "I have never been so happy in my life and".split(" "),
    long = (count) => Array.from({ length: count }, (_, k) => words[k % 10]).join(" ");
  await visit(link({ t: long(78) }), async (page) => {
    await translated(page);
    const bodies = await watch(page);
    let held = null;
    await page.route("**/attention", (route) => { held = route; });
    await openTab(page, "why");
    await page.locator("#cancel").waitFor();
    assert.equal(await page.locator("#panel progress").getAttribute("aria-label"), "Asked");
    await page.locator("#cancel").click();
    await page.locator("#ask-again").waitFor();
    assert.equal(bodies.length, 1);
    await held.abort().catch(() => {});
    await page.unroute("**/attention");
    await page.locator("#ask-again").click();
    await page.locator("#loss-map").waitFor();
    const asked = bodies.slice(1);
    assert.equal(asked.reduce((sum, { text: list }) => sum + list.length, 0), 79);
    assert.ok(asked.length <= 6, `${asked.length} requests`);
    await page.locator("#word-1").click(); /* cached by now */
    await page.locator("#loss-map").waitFor();
    assert.equal(bodies.length, 1 + asked.length);
  }, { expected: /ERR_FAILED|aborted/ });
  await visit(link({ t: long(90), v: "why" }), async (page) => {
    await page.locator("#panel .note", { hasText: "Of up to 80 each can be left out" }).waitFor();
  });
});

test("why: what leaves the view ends what it asks", () => visit(link({}), async (page) => {
  await translated(page);
  const ended = new Promise((resolve) => page.on("requestfailed", (request) => {
    if (request.url().endsWith("/attention")) resolve(request.failure().errorText);
  }));
  await page.route("**/attention", () => {}); /* never answered */
  await openTab(page, "why");
  await page.locator("#cancel").waitFor();
  await openTab(page, "map");
  assert.match(await ended, /ABORTED/);
  await page.locator("#panel .map").waitFor();
}));

test("why: this word and not another, by source words left out and by where the model looks",
  () => visit(link({ v: "why", w: "not", i: "3" }), async (page) => {
  await page.locator("#instead").fill("la");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.locator("#panel table").waitFor();
  assert.equal(await text(page.locator("#panel form label")), "Why le and not");
  const cells = await page.locator("#panel tbody tr")
    .evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
  const scores = async (source) => {
    const [le, la] = await Promise.all(["le", "la"].map((word) => score(source, `Elle lui donna ${word}`)));
    return le.log_probs[3] - la.log_probs[3];
  };
  const whole = await scores(sentence), without = await scores("She gave him the that he had lost."),
    favour = whole - without;
  const book = cells.find(([word]) => word === "book");
  assert.equal(book[1], `${Math.abs(favour).toFixed(2)} ${favour < 0 ? "la" : "le"}`);
  assert.match(await text(page.locator("#panel .answer")),
    new RegExp(`^${whole > 0 ? "le" : "la"} is .* times as likely here as `));
  const look = async (word) => {
    const s = (await ask("/attention", { model: "en-fr", text: sentence, translation: `Elle lui donna ${word}`,
      include: ["words"] })).results[0].sentences[0];
    return s.words.soft_alignment[3][s.words.source.indexOf("book")];
  };
  for (const [k, word] of [[2, "le"], [3, "la"]])
    assert.equal(book[k],
    `${100 * (await look(word)) >= 10 ? Math.round(100 * (await look(word))) : (100 * (await look(word))).toFixed(1)}%`);
  const shared = await hashOf(page), said = await text(page.locator("#panel .answer"));
  await visit(shared, async (other) => {
    await other.locator("#panel table").waitFor();
    assert.equal(await text(other.locator("#panel .answer")), said);
  });
  await page.locator("#instead-0").click(); /* an alternative that the model offers */
  await page.locator("#instead-0[aria-pressed=true]").waitFor();
  await page.locator("#panel table").waitFor();
  assert.equal(await page.locator("#instead").inputValue(), await text(page.locator("#instead-0")));
  await page.locator("#look-attention").click(); /* the decoder looks before it chooses a word */
  await page.locator("#panel .note", { hasText: "it looks before it chooses" }).waitFor();
}));

test("why: how much comes from the source, and how much from what was written before",
  () => visit(link({ v: "why", w: "from" }), async (page) => {
  await page.locator("#panel .cover").waitFor();
  const french = await text(page.locator("#reading .line.target")),
    [whole, before] = (await Promise.all([sentence, "."].map((source) => score(source, french)))).map(byWord);
  const livre = (await rows(page)).find(([word]) => word === "livre"), gain = whole.get("livre") - before.get("livre");
  assert.deepEqual(livre.slice(1), [`${percent(before.get("livre"))} \u2192 ${percent(whole.get("livre"))}`,
    `source +${gain.toFixed(1)} nats`]);
}));

test("why: a logical form", async () => {
  await visit(link({ m: "geoquery", t: "What is the population of Zurich?", v: "why" }), async (page) => {
    await page.locator("#loss-map").waitFor();
    assert.ok((await rows(page)).some(([word]) => word === "population"));
  });
});

test("why: no violations that axe finds, in each question", async () => {
  for (const [fields, see] of [[{}, "#loss-map"], [{ w: "not", i: "3", not: "la" }, "#panel table"],
    [{ w: "from" }, "#panel .cover"]]) {
    await visit(link({ v: "why", ...fields }), async (page) => {
      await translated(page);
      await page.locator(see).waitFor();
      assert.deepEqual(await violations(page), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    }, { width: 390, bypassCSP: true });
  }
});
