/* What users make and take away: links made by hand, and a standalone page. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ask, hashOf, holds, link, point, saved, sentence, sourceWords, text, translated, violations,
  visit } from "./browser.mjs";

const line = (page) => page.locator("#pharaoh").inputValue();
const drawn = (page) => page.locator("#links-map [data-link]")
  .evaluateAll((list) => list.map((frame) => frame.dataset.link).sort());

test("links by hand: made with the mouse and the keyboard, sure and possible, drawn, saved, in the link",
  () => visit(link({ v: "links" }), async (page) => {
  const map = page.locator("#links-map");
  await map.waitFor();
  const spot = await map.evaluate((svg) => {
    svg.scrollIntoView({ block: "center" });
    const { layout } = svg, box = svg.getBoundingClientRect();
    return { x: box.x + layout.x(4) + layout.cell / 2, y: box.y + layout.y(4) + layout.cell / 2 };
  });
  await page.mouse.click(spot.x, spot.y);
  assert.equal(await line(page), "4-4");
  assert.equal(await text(page.locator("#panel .read")), "book and livre: a sure link");
  await map.focus();
  await page.keyboard.press("Home"); /* in the row that was chosen with the mouse */
  for (let row = 0; row < 4; row++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Space");
  await page.keyboard.press("Space");
  assert.equal(await text(page.locator("#panel .read")), "gave and Elle: a possible link");
  assert.equal(await line(page), "0-0 1p0 4-4");
  assert.deepEqual(await drawn(page), ["0-0", "1p0", "4-4"]);
  assert.equal(String(await saved(page, "Save")), "0-0 1p0 4-4\n");
  await visit(await hashOf(page), async (other) => {
    await other.locator("#links-map").waitFor();
    assert.equal(await line(other), "0-0 1p0 4-4");
    assert.deepEqual(await drawn(other), ["0-0", "1p0", "4-4"]);
  });
  await map.focus();
  await page.keyboard.press("Space"); /* sure, possible, none */
  assert.equal(await line(page), "0-0 4-4");
  await page.locator("#text").fill("A boy plays in the snow."); /* a new text has no links */
  await page.keyboard.press("Control+Enter");
  await sourceWords(page).filter({ hasText: "boy" }).waitFor();
  await holds(page, () => document.getElementById("pharaoh")?.value === "");
}));

test("links by hand: loaded from a file, taken from the model, compared with it; what is no link is left out",
  () => visit(link({ v: "links" }), async (page) => {
  await page.locator("#links-map").waitFor();
  await page.locator("#load-links")
    .setInputFiles({ name: "gold.txt", mimeType: "text/plain", buffer: Buffer.from("1-2 0-0 4p4 99-0 x 0-99\n7-7\n") });
  await holds(page, () => document.getElementById("pharaoh").value === "0-0 1-2 4p4");
  assert.deepEqual(await drawn(page), ["0-0", "1-2", "4p4"]);
  const { links, model, found } = await page.evaluate(async () => {
    const { parse, agreement } = await import("/page/links.js"), size = { rows: Array(10), columns: Array(10) };
    const links = parse("0-0 1-2 4p4", size), model = parse("0-0 1-1 4-4", size);
    return { links, model, found: agreement(model, links) };
  });
  assert.deepEqual([links, model], [{ "0 0": "-", "1 2": "-", "4 4": "p" }, { "0 0": "-", "1 1": "-", "4 4": "-" }]);
  assert.deepEqual(found, { precision: 2 / 3, recall: 1 / 2, error: 1 - 3 / 5 });
  await page.getByRole("button", { name: "Take the model's" }).click();
  assert.match(await text(page.locator("#agreement")), /precision 1\.00, recall 1\.00, alignment error rate 0\.00/);
  assert.match(await line(page), /^0-0 .*4-4/);
  await page.locator("#pharaoh").fill("3-3");
  await page.locator("#pharaoh").blur();
  assert.deepEqual(await drawn(page), ["3-3"]);
  await page.locator("#panel").getByRole("button", { name: "Clear" }).click();
  assert.deepEqual(await drawn(page), []);
}));

test("links by hand: the model's of an own translation are several of a word, as the server's",
  () => visit(link({ t: "The potatoes in the washing machine are clean.", v: "links",
  own: "Les pommes de terre dans la machine à laver sont propres.", ofOwn: 1 }), async (page) => {
  await page.locator("#of-own[aria-pressed=true]").waitFor();
  const { words } = (await ask("/attention", { text: "The potatoes in the washing machine are clean.",
    translation: "Les pommes de terre dans la machine à laver sont propres.", model: "en-fr", include: ["words"],
    links: "several" })).results[0].sentences[0];
  await page.getByRole("button", { name: "Take the model's" }).click();
  const wanted = words.alignment.map(([j, i]) => `${j}-${i}`);
  assert.deepEqual((await line(page)).split(" ").toSorted(), wanted.toSorted());
  /* "potatoes" is linked with "pommes", and with "terre" or "de". */
  assert.ok(wanted.filter((one) => one.startsWith("1-")).length > 1, wanted.join(" "));
}));

test("links by hand: of an own translation; no violations that axe finds, at 390 px",
  () => visit(link({ v: "links", own: "Elle lui a rendu son livre.", ofOwn: 1, g: "4-5" }), async (page) => {
  await page.locator("#of-own[aria-pressed=true]").waitFor();
  assert.deepEqual(await drawn(page), ["4-5"]);
  assert.deepEqual(await violations(page), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.locator("#of-model").click();
  await page.locator("#of-model[aria-pressed=true]").waitFor();
  assert.deepEqual(await drawn(page), []);
}, { width: 390, bypassCSP: true }));

test("export: one HTML file that opens without a server, and can be pointed at",
  () => visit(link({ v: "export", lines: 1 }), async (page) => {
  await page.getByRole("button", { name: "HTML", exact: true }).waitFor();
  const html = String(await saved(page, "HTML")), folder = mkdtempSync(join(tmpdir(), "alignd-page-")),
    file = join(folder, "lines.html");
  writeFileSync(file, html);
  const alone = await page.context().newPage(), asked = [], wrong = [];
  alone.on("request", (request) => { if (!/^(data|file):/.test(request.url())) asked.push(request.url()); });
  alone.on("console", (message) => wrong.push(message.text()));
  alone.on("pageerror", (error) => wrong.push(String(error)));
  try {
    await alone.goto(pathToFileURL(file).href);
    await point(alone.locator(".target .unit", { hasText: /^livre$/ }),
      async () => assert.match(await text(alone.locator("#hint")), /^livre is aligned with book, \d+%/));
    assert.equal(await text(alone.locator(".line.target")), await text(page.locator("#reading .line.target")));
    assert.equal(await alone.locator("svg.lines").count(), 1);
    assert.equal(await alone.title(), `${sentence} \u2013 alignd`);
    await alone.locator(".target .unit", { hasText: /^livre$/ }).click();
    assert.equal(await alone.locator("#see").count(), 0); /* there is no server to ask for alternatives */
    assert.deepEqual([asked, wrong], [[], []]);
    assert.deepEqual([...html.matchAll(/https?:\/\/[^\s"'%<)]+/g)].map(([address]) => address)
      .filter((address) => !address.startsWith("http://www.w3.org/")), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
}));

test("export: a text with markup is text in the file, too",
  () => visit(link({ v: "export", t: "</script><img src=x onerror=alert(1)> snow" }), async (page) => {
  await page.getByRole("button", { name: "HTML", exact: true }).waitFor();
  const html = String(await saved(page, "HTML")), shown = await text(page.locator("#reading .line.source"));
  const alone = await page.context().newPage();
  await alone.setContent(html);
  await translated(alone);
  assert.equal(await text(alone.locator(".line.source")), shown);
  assert.equal(await alone.locator("img").count(), 0);
}));
