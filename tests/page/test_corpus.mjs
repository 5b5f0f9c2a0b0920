/* Corpus view: the texts of a file are scored, sorted and opened. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, hashOf, holds, link, openTab, saved, text, translated, violations, visit } from "./browser.mjs";

const PAIRS = [["She gave him the book.", "Elle lui donna le livre."], ["Where is the train station?",
  "Où est le chien ?"], ["A boy plays in the snow.", "Un garçon joue."], ["Who wrote this letter?", ""]];
const FILE =
  `\ufeff${PAIRS.slice(0, 2).map((pair) => pair.join("\t")).join("\r\n")}\r\n\r\n${PAIRS[2].join("\t")}\n${PAIRS[3][0]}\n${"snow ".repeat(200)}\n`;
const REFUSED = { expected: /413/ }; /* the last line is too long */
const LINES = [1, 2, 4, 5, 6]; /* the third line is blank */
const give = (page, content, name = "pairs.tsv") => page.locator("#corpus-file")
  .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
const table = (page) => page.locator("#panel tbody tr")
  .evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
const whole = async (page) => {
  await page.locator("#panel tbody tr").first().waitFor();
  await page.locator("#cancel").waitFor({ state: "detached" });
};
const order = async (page) => (await table(page)).map(([line]) => Number(line));

test("corpus: pairs and texts alone, as the server scores them; a line that it refuses is refused alone",
  () => visit(link({ v: "corpus" }), async (page) => {
  await page.locator("#corpus-file").waitFor({ state: "attached" });
  await give(page, FILE);
  await whole(page);
  const rows = await table(page);
  assert.deepEqual(rows.map(([line]) => Number(line)), LINES);
  const include = ["quality", "words"];
  for (const [k, [source, translation]] of PAIRS.entries()) {
    const s = (await ask("/attention", { model: "en-fr", text: source, include, ...(translation && { translation }) }))
      .results[0].sentences[0];
    const quality = s.quality.sentence, percent = quality >= 0.1 ? `${Math.round(100 * quality)}%`
      : `${(100 * quality).toFixed(1)}%`;
    assert.deepEqual(rows[k].slice(1, 5), [source, translation || s.text, s.score.toFixed(2).replace("-", "\u2212"),
      percent]);
    assert.equal(Number(rows[k][6]), source.split(" ").length);
  }
  assert.match(rows[4][2], /more than 128 tokens/);
  assert.equal(rows[4][3], "");
  assert.equal(parseInt(rows[2][5], 10) < parseInt(rows[0][5], 10), true, "less of the boy in the snow is covered");
  await openTab(page, "map"); /* the table survives switching views */
  await openTab(page, "corpus");
  assert.deepEqual(await table(page), rows);
}, REFUSED));

test("corpus: sorted both ways, saved as it is sorted; a line is opened, drawn and asked about",
  () => visit(link({ v: "corpus" }), async (page) => {
  await page.locator("#corpus-file").waitFor({ state: "attached" });
  await give(page, FILE);
  await whole(page);
  const value = async (column) => (await table(page)).map((row) => parseFloat(row[column].replace("\u2212", "-")));
  for (const [column, name] of [[3, "Score"], [4, "Quality"], [5, "Coverage"], [6, "Length"]]) {
    await page.locator(`#sort-${name}`).click();
    const up = (await value(column)).slice(0, 4);
    assert.deepEqual(up, [...up].sort((a, b) => a - b), name);
    assert.equal(await page.locator("th[aria-sort=ascending]").textContent(), `${name} \u2191`);
    await page.keyboard.press("Enter"); /* the heading keeps the focus */
    const down = (await value(column)).slice(0, 4);
    assert.deepEqual(down, [...down].sort((a, b) => b - a), name);
    assert.equal((await order(page)).at(-1), 6); /* rows without a value come last in both directions */
  }
  await page.keyboard.press("Enter");
  assert.deepEqual(await order(page), LINES);
  await page.locator("#sort-Score").click();
  const file = String(await saved(page, "Save")).trim().split("\n").map((line) => line.split("\t"));
  assert.deepEqual(file[0], ["line", "source", "translation", "score", "quality", "coverage", "length"]);
  assert.deepEqual(file.slice(1).map(([line]) => Number(line)), await order(page));

  await page.locator("#row-2").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "pair");
  assert.equal(await text(page.locator(".chosen .line.target")), PAIRS[1][1]);
  await page.locator(".chosen svg.map").waitFor();
  await page.locator("#close-pair").click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "row-2");
  await page.locator("#row-2").click();
  await page.getByRole("button", { name: "Ask about it" }).click();
  await page.locator("#panel .card .line", { hasText: PAIRS[1][1] }).waitFor();
  assert.equal(await page.locator("#text").inputValue(), PAIRS[1][0]);
  await page.goBack();
  await page.locator("#tab-corpus[aria-selected=true]").waitFor();
  await page.locator("#row-2").waitFor();
}, REFUSED));

test("corpus: a line of two sentences is asked about as a whole, until its text is translated anew",
  () => visit(link({ v: "corpus" }), async (page) => {
  const [source, translation] = ["She left. He stayed.", "Elle s'en est all\u00e9e. Lui est rest\u00e9."];
  await page.locator("#corpus-file").waitFor({ state: "attached" });
  await give(page, `${source}\t${translation}\n`);
  await whole(page);
  await page.locator("#row-1").click();
  await page.getByRole("button", { name: "Ask about it" }).click();
  await page.locator("#panel .card .line", { hasText: translation }).waitFor();
  assert.equal(await page.locator("#panel label").first().textContent(), `Your translation of \u201c${source}\u201d`);
  assert.match(await hashOf(page), /whole=1/);
  await page.reload();
  await page.locator("#panel .card .line", { hasText: translation }).waitFor();
  await page.locator("#text").press("Control+Enter");
  await holds(page, () => !location.hash.includes("whole"));
  await page.locator("#which", { hasText: "Sentence 1 of 2" }).waitFor();
}));

test("corpus: a file that is dropped; of a long one the first 1,000 lines, in batches; stopped, and asked again",
  () => visit(link({ v: "corpus" }), async (page) => {
  await page.locator("#corpus-file").waitFor({ state: "attached" });
  const sizes = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/attention")) sizes.push(request.postDataJSON().text.length);
  });
  let count = 0;
  /* The third batch is never answered. */
  await page.route("**/attention", async (route) => { if (++count <= 2) await route.continue(); });
  await page.locator(".drop").evaluate((zone) => {
    const data = new DataTransfer();
    data.items.add(new File(["Yes.\tOui.\n".repeat(1200)], "long.tsv"));
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await page.locator("#panel .note", { hasText: "long.tsv: the first 1,000 of 1,200 lines, by en-fr." }).waitFor();
  await page.locator("#row-48").waitFor();
  assert.equal(await page.locator("#panel progress").evaluate((bar) => `${bar.value} of ${bar.max}`), "48 of 1000");
  await page.locator("#cancel").click();
  await page.locator("#ask-again").waitFor();
  assert.equal((await table(page)).length, 1000);
  await page.unroute("**/attention");
  await page.locator("#ask-again").click();
  await page.locator("#row-1000").waitFor();
  await whole(page);
  assert.ok(sizes.every((size) => size <= 24), `${sizes}`);
  assert.equal(sizes.reduce((sum, size) => sum + size) - 24, 1000); /* the cancelled batch was requested twice */
}, { expected: /ERR_FAILED|aborted/ }));

test("corpus: no violations that axe finds, at 390 px, with a line opened",
  () => visit(link({ v: "corpus" }), async (page) => {
  await translated(page);
  await page.locator("#corpus-file").waitFor({ state: "attached" });
  assert.deepEqual(await violations(page), []);
  await give(page, FILE);
  await whole(page);
  await page.locator("#row-1").click();
  await page.locator(".chosen svg.map").waitFor();
  assert.deepEqual(await violations(page), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
}, { width: 390, bypassCSP: true, ...REFUSED }));

/* "book" is "livre" in two lines and "bouquin" in none; each line of the word is shown, and opens. */
test("corpus: a word of a line shows its concordance: every line that has it, by what it is aligned with", () =>
  visit(link({ v: "corpus" }), async (page) => {
  await page.locator("#corpus-file").waitFor({ state: "attached" });
  await give(page, "She gave him the book.\tElle lui donna le livre.\nThe book is here.\tLe livre est ici.\n"
    + "He reads.\tIl lit.\n");
  await whole(page);
  await page.locator("#row-1").click();
  await page.locator(".chosen .source .unit", { hasText: /^book$/ }).first().click();
  await page.locator(".concordance details").first().waitFor();
  assert.match(await text(page.locator(".concordance summary").first()), /^livre 2$/);
  assert.equal(await page.locator(".concordance li").count(), 2);
  await page.locator(".concordance li button", { hasText: "The book is here." }).click();
  await page.locator("#pair", { hasText: "Line 2" }).waitFor();
}));
