/* What a screen reader gets: the accessibility tree as the browser computes it. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { address, becomes, link, translated, visit } from "./browser.mjs";

/* [role, name, description of more] of the nodes that are not ignored. */
async function tree(page) {
  const session = await page.context().newCDPSession(page),
    { nodes } = await session.send("Accessibility.getFullAXTree");
  return nodes.filter(({ ignored }) => !ignored).map(({ role, name, properties = [] }) => ({ role: role?.value,
    name: name?.value ?? "", ...Object.fromEntries(properties.map((one) => [one.name, one.value.value])) }));
}
const named = (nodes, ...roles) => nodes.filter(({ role }) => roles.includes(role)).map(({ name }) => name);

test("tree: landmarks, headings, words with what they are aligned with, and a status that has the translation",
  () => visit(link({ t: "I have 12 red apples." }), async (page) => {
  await translated(page);
  const nodes = await tree(page);
  assert.deepEqual(named(nodes, "banner", "main", "contentinfo").length, 3);
  for (const name of ["Translator", "The sentence and its threads", "Details"]) {
    assert.ok(named(nodes, "region").includes(name), name);
    assert.ok(named(nodes, "heading").includes(name === "Translator" ? "Text" : name), name);
  }
  assert.ok(named(nodes, "navigation").includes("Pages"));
  const words = named(nodes, "button");
  /* in the box, and in the picture below it */
  assert.equal(words.filter((name) => /^pommes is aligned with .*apples/.test(name)).length, 2, `${words}`);
  assert.equal(words.filter((name) => /^apples is aligned with .*pommes/.test(name)).length, 1, `${words}`);
  const dialogs = nodes.filter(({ hasPopup, role }) => hasPopup === "dialog" && role === "button");
  assert.ok(dialogs.some(({ name }) => name.startsWith("pommes")));
  assert.ok(nodes.some(({ role, live }) => role === "status" && live === "polite"));
  const said = async () => named(await tree(page), "StaticText").filter((name) => name.startsWith("Translation: "));
  await becomes(async () => assert.match((await said())[0], /^Translation: J'ai 12 pommes rouges\.$/));
  await page.locator("#text").fill("Where is the train station?");
  await becomes(async () => assert.match((await said())[0], /^Translation: Où est la gare \?$/));
}));

test("tree: a status has the warnings", () => visit(link({ t: "I have 12 red apples.", e: "J'ai 15 pommes." }),
  async (page) => {
  await page.locator("#warnings button, #warnings li").first().waitFor();
  await becomes(async () => assert.ok(named(await tree(page), "StaticText")
    .some((name) => /^Translation: J'ai 15 pommes\. Warnings: Check the numbers: 12 became 15\./.test(name))));
}));

test("tree: the attention of a word is in its name, too, and the end of the sentence has one",
  () => visit(link({ look: "attention", words: 0 }), async (page) => {
  await translated(page);
  const words = named(await tree(page), "button");
  assert.ok(words.some((name) => /^\S+ looks at \S+/.test(name)), `${words}`);
  assert.ok(words.some((name) => /^End of the sentence/.test(name)), `${words}`);
}));

test("tree: the element is the same: words, and a status with the translation", async () => {
  const site = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(
    `<!doctype html><html lang="en"><title>Site</title><main><h1>Site</h1><alignd-attention server="${address()}" ` +
    `model="en-fr" text="Where is the train station?"></alignd-attention></main><script type="module" ` +
    `src="${address()}/embed.js"></script>`));
  await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${site.address().port}`;
  try {
    await visit("", async (page) => {
      await page.locator("alignd-attention .target .unit").first().waitFor();
      const nodes = await tree(page);
      assert.ok(named(nodes, "button").some((name) => /^gare is aligned with .*station/.test(name)));
      assert.ok(named(nodes, "StaticText").includes("Result: Où est la gare ?"));
      assert.ok(nodes.some(({ role, live }) => role === "status" && live === "polite"));
    }, { daemon: { url }, also: [address()], expected: /favicon|404/ });
  } finally {
    site.close();
  }
});

test("tree: forced colours keep the legends and the marks of quality", () => visit(link({ v: "confidence" }),
  async (page) => {
  await page.locator("#panel .keys").waitFor();
  const shown = await page.evaluate(() => {
    const paint = (node, part) => {
      const { backgroundColor: colour, backgroundImage: image } = getComputedStyle(node, part);
      return image !== "none" || (colour !== getComputedStyle(document.body).backgroundColor
        && colour !== "rgba(0, 0, 0, 0)");
    };
    return { keys: [...document.querySelectorAll(".keys span")].map((node) => paint(node, "::before")),
      samples: window.deep(".sample").map((node) => paint(node)),
      bars: window.deep(".step i").map((node) => paint(node)),
      quality: window.deep(".target .unit.rated").map((node) => paint(node)) };
  });
  for (const [name, list] of Object.entries(shown)) assert.ok(list.length && list.every(Boolean), `${name}: ${list}`);
}, { forcedColors: "active" }));
