/* The page in German and French: every text that it says has one, and the reader's language is what it opens in. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { link, text, translated, violations, visit } from "./browser.mjs";

const FOLDER = "server/page", STRING = '"((?:[^"\\\\]|\\\\.)*)"';

/* The texts that modules give to t(), and those of index.html and models.html. */
function said() {
  const found = new Set();
  for (const name of readdirSync(FOLDER).filter((one) => /\.js$/.test(one) && !["de.js", "fr.js"].includes(one))) {
    for (const [, ...texts] of readFileSync(join(FOLDER, name), "utf8").matchAll(new RegExp(`\\bt\\((?:[^"()]*"?[^"()]*"? \\? )?${STRING}(?: : ${STRING})?`, "g")))
      for (const one of texts) if (one !== undefined) found.add(JSON.parse(`"${one}"`));
  }
  const html = ["index.html", "models.html"].map((name) => readFileSync(join(FOLDER, name), "utf8")).join("\n");
  for (const [, one] of html.matchAll(/data-say[^>]*>([^<]+)</g)) found.add(one);
  for (const [, one] of html.matchAll(/(?:aria-label|placeholder|title)="([^"]+)"/g)) found.add(one);
  return [...found];
}

for (const code of ["de", "fr"]) {
  test(`speech: ${code}: every text has a translation, with the same places for values, and the page opens in it`, async () => {
    const words = (await import(`../../${FOLDER}/${code}.js`)).default, texts = said(), holes = (one) => (one.match(/\{\d\}/g) ?? []).sort().join();
    assert.ok(texts.length > 100, `${texts.length}`);
    assert.deepEqual(texts.filter((one) => !words[one]), []);
    assert.deepEqual(Object.entries(words).filter(([from, to]) => holes(from) !== holes(to)), []);
    await visit(link({}), async (page) => {
      await translated(page);
      assert.equal(await page.evaluate(() => document.documentElement.lang), code);
      assert.equal(await text(page.locator("#go")), words.Translate);
      assert.equal(await text(page.locator("#tab-why")), words.Why);
      assert.equal(await page.locator("#from option[value=en]").textContent(), { de: "Englisch", fr: "anglais" }[code]);
      await page.locator("#show-help").click();
      await page.locator("#help dt").first().waitFor();
      assert.ok((await text(page.locator("#help"))).includes(words["The lines under the words"]));
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      await page.locator("#speak").selectOption("en"); /* another one is kept */
      await page.locator("#go", { hasText: "Translate" }).waitFor();
      await page.reload();
      await page.locator("#go", { hasText: "Translate" }).waitFor();
    }, { locale: code, bypassCSP: true });
  });
}

test("speech: what the help lets one try is tried with a model that has it, or is not offered", () => visit(link({ m: "geoquery", t: "What is the population of Zurich?" }), async (page) => {
  await translated(page);
  await page.locator("#show-help").click();
  await page.locator("#help dt").first().waitFor();
  const offers = await page.locator("#help dd").evaluateAll((list) => list.map((one) => [one.previousElementSibling.textContent, one.querySelector("a")?.hash ?? ""]));
  assert.equal(offers.find(([name]) => name === "Heads")[1], ""); /* none of these models has heads */
  assert.match(offers.find(([name]) => name === "Compare")[1], /m=en-fr/);
}));
