/* The two boxes: languages, texts that are typed, dropped or pasted, and the translation as selectable text. */
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { ask, hashOf, holds, link, point, program, sentence, shipped, sourceWords, target, text, translated,
  visit } from "./browser.mjs";
import { renamedFolder } from "./folders.mjs";
import { wordsOf } from "./lengths.mjs";

let folder, daemon;
before(async () => {
  folder = renamedFolder("weights/fr-en", "de-en", { source: "de" }); /* for a pair that needs two models */
  daemon = await startDaemon(program, [...shipped, folder]);
});
after(() => {
  daemon?.stop();
  rmSync(dirname(folder), { recursive: true });
});

const result = (page) => text(page.locator("#result"));
const labels = (page, id) => page.locator(`#${id} > option`).allTextContents();
const chosen = (page) => Promise.all(["from", "to"].map((id) => page.locator(`#${id}`).inputValue()));
const copied = (page) => page.evaluate(() => navigator.clipboard.readText());
const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };

test("boxes: languages by name, of every pair that is served, by two models, too; logical forms by what they are",
  () => visit(link({}), async (page) => {
  await translated(page);
  assert.deepEqual(await labels(page, "from"), ["Detect language", "English", "French", "German"]);
  assert.deepEqual(await labels(page, "to"), ["French", "Logical form (geoquery)"]);
  await page.locator("#from").selectOption("de");
  await holds(page, () => location.hash.includes("m=de"));
  assert.deepEqual(await labels(page, "to"), ["English", "French"]);
  await page.locator("#text").fill("Un garçon joue dans la neige.");
  await target(page, "neige").waitFor();
  assert.match(await text(page.locator("#through")), /^By way of English/);
  await page.locator("#from").selectOption("en");
  await page.locator("#to").selectOption("model:geoquery");
  await holds(page, () => location.hash.includes("m=geoquery"));
  assert.equal(await text(page.locator("#go")), "Parse");
}, { daemon }));

test("boxes: the language that is detected is shown, and chooses the model",
  () => visit(link({ auto: 1, t: "" }), async (page) => {
  await page.locator("#text").fill("Where is the train station?");
  await target(page, "gare").waitFor();
  assert.equal(await text(page.locator("#from option:checked")), "Detected: English");
  await page.locator("#to").selectOption("en");
  await page.locator("#text").fill("Un garçon joue dans la neige avec son chien.");
  await target(page, "snow").waitFor();
  assert.equal(await text(page.locator("#from option:checked")), "Detected: French");
  assert.match(await hashOf(page), /m=fr-en.*auto=1/);
}));

test("boxes: a pair without a model says how to get one", () => visit(link({}), async (page) => {
  await translated(page);
  await page.locator("#to").selectOption("ja");
  await page.locator("#missing").waitFor();
  assert.match(await text(page.locator("#missing")),
    /^No model here translates English to Japanese\.[^]*alignd get en-ja/);
  assert.equal(await page.locator("#take").isVisible(), false);
  await page.locator("#to").selectOption("fr");
  await target(page, "livre").waitFor();
  assert.equal(await page.locator("#missing").count(), 0);
  await page.locator("#text").fill("Der Hund schläft seit gestern Abend im Garten.");
  await page.locator("#language", { hasText: "This looks like German, not English." }).waitFor();
  await page.getByRole("button", { name: "How to get a model" }).click();
  /* English to French is here */
  await page.locator("#missing", { hasText: "alignd get de-en" }).waitFor();
}));

test("boxes: counter, limit, clear", () => visit(link({}), async (page) => {
  await translated(page);
  assert.equal(await text(page.locator("#counter")), "39 / 200,000");
  await page.locator("#text").fill("a".repeat(200001));
  await page.locator("#counter.over").waitFor();
  await page.locator("#text-error", { hasText: "The text has 200,001 characters; the box takes 200,000." }).waitFor();
  let sent = 0;
  await page.route("**/documents", (route) => {
    sent = route.request().postDataBuffer().length;
    return route.abort();
  });
  await page.locator("#as-file").click();
  await page.locator("#files .error").waitFor();
  assert.ok(sent > 200001, `${sent}`);
  await page.locator("#clear").click();
  await page.locator("#text-error").waitFor({ state: "hidden" });
  assert.equal(await page.locator("#text").inputValue(), "");
  assert.equal(await page.evaluate(() => document.activeElement.id), "text");
  assert.equal(await page.locator("#take").isVisible(), false);
}, { expected: /ERR_FAILED/ }));

test("boxes: a long paste is translated paragraph by paragraph as results arrive, and whole in the end",
  () => visit(link({ t: "" }), async (page) => {
  const long = Array.from({ length: 20 }, (_, k) => `${k + 1}. ${wordsOf(60 + 5 * k)}\n`).join("\n").slice(0, 9900),
    asked = [];
  let go;
  const later = new Promise((resolve) => { go = resolve; });
  await page.route("**/translate", async (route) => {
    asked.push(route.request().postDataJSON().text);
    if (asked.length === 3) await later;
    await route.continue();
  });
  await page.locator("#text").fill(long);
  await page.locator("#result .word").nth(40).waitFor();
  assert.equal(await page.locator("#result").getAttribute("aria-busy"), "true");
  const part = (await result(page)).replace(/\s*\u2026$/, "");
  go();
  await page.locator("#result[aria-busy=false]").waitFor();
  const whole = await result(page);
  assert.ok(whole.startsWith(part) && whole.length > 3 * part.length, `${part.length} of ${whole.length}`);
  assert.equal(asked.join("").replace(/\s/g, ""), long.replace(/\s/g, "")); /* nothing is missing or sent twice */
  assert.equal(whole.split("\n").length, long.split("\n").length);
  const sentences = Number(/of (\d+)/.exec(await text(page.locator("#which")))[1]);
  assert.ok(sentences > 50, `${sentences}`);

  const before = asked.length; /* only an edited paragraph is requested again, the others are cached */
  await page.locator("#text").evaluate((box) => {
    box.value = box.value.replace("3. The old man", "3. The young man");
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.locator("#result", { hasText: "jeune" }).waitFor();
  await page.locator("#result[aria-busy=false]").waitFor();
  assert.equal(asked.length, before + 1);
}));

test(
  "boxes: the result is a text: it is selected by dragging, copied with its line breaks, and clicks and selecting do " +
    "not interfere", () => visit(link({ t: "The boy is late.\n\nWhere is the train station?" }), async (page) => {
  await page.locator("#result .word", { hasText: "gare" }).waitFor();
  const expected = (await ask("/translate", { text: "The boy is late.\n\nWhere is the train station?",
    model: "en-fr" })).translations[0].text;
  assert.equal(await result(page), expected);
  const which = await page.locator("#which").innerText(), first = await page.locator("#result .word").first()
    .boundingBox(), last = await page.locator("#result .word").last().boundingBox();
  await page.mouse.move(first.x + 1, first.y + first.height / 2);
  await page.mouse.down();
  await page.mouse.move(last.x + last.width + 3, last.y + last.height / 2, { steps: 5 });
  await page.mouse.up();
  assert.equal((await page.evaluate(() => getSelection().toString())).trim(), expected);
  assert.equal(await page.locator("#which").innerText(), which); /* the active sentence stays */
  assert.equal(await page.locator(".unit.pinned").count(), 0);
  await page.keyboard.press("Control+c");
  assert.equal((await copied(page)).trim(), expected);
  await page.locator("#copy").click();
  await page.locator("#said", { hasText: "Copied." }).waitFor();
  assert.equal(await copied(page), expected);
  await page.locator("#result .word", { hasText: "gare" }).click();
  await page.locator(".unit.pinned", { hasText: "gare" }).waitFor();
  assert.match(await text(page.locator("#which")), /Sentence 2 of 2/);

  /* Selecting also works in the sentence below. */
  const line = page.locator("#reading .line.target"), whole = await text(line),
    box = await line.locator(".unit").first().boundingBox();
  await page.mouse.move(box.x + 1, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 90, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  const selected = await page.evaluate(() => String(document.getElementById("view").shadowRoot.getSelection?.()
    ?? getSelection()));
  assert.ok(selected.length > 2 && whole.includes(selected), selected);
  assert.equal(await text(page.locator(".unit.pinned")), "gare");
}, CLIPBOARD));

test("boxes: a screen reader has one text; its words are buttons, reached with the arrow keys from one stop",
  () => visit(link({}), async (page) => {
  await page.locator("#result .word").first().waitFor();
  assert.equal(await page.locator("#result [tabindex='0']").count(), 1);
  assert.equal(await page.locator("#result button, #result [role]:not(.word[role=button])").count(), 0);
  await page.locator("#result [tabindex='0']").focus();
  for (const key of ["End", "Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"])
    await page.keyboard.press(key);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "livre");
  assert.equal(await page.locator("#mirror .lit").evaluateAll((list) => list.map((word) => word.textContent).join(" ")),
    "book");
  await page.keyboard.press("Enter");
  await page.locator(".unit.pinned", { hasText: "livre" }).waitFor();
}));

test(
  "boxes: pointing at a word of either box shades its partners in the other; at one of another sentence shows that " +
    "sentence", () => visit(link({ t: `${sentence} Where is the train station?` }), async (page) => {
  await page.locator("#result .word", { hasText: "gare" }).waitFor();
  await point(page.locator("#result .word", { hasText: "gare" }));
  await page.locator("#mirror .lit", { hasText: "station" }).waitFor();
  await target(page, "gare").waitFor();
  assert.match(await text(page.locator("#hint")), /^gare is aligned with/);
  const book = await page.locator("#mirror .word", { hasText: "book" }).boundingBox();
  await page.mouse.move(book.x + book.width / 2, book.y + book.height / 2);
  await page.locator("#result .lit", { hasText: "livre" }).waitFor();
  await target(page, "livre").waitFor(); /* the active sentence is back */
}));

test("boxes: a word that is held stays so while a word of another sentence is pointed at, and looks elsewhere",
  () => visit(link({ t: `${sentence} Where is the train station?` }), async (page) => {
  await target(page, "livre").click();
  await page.locator(".unit.pinned", { hasText: "livre" }).waitFor();
  await point(page.locator("#result .word", { hasText: "gare" }));
  await target(page, "gare").waitFor();
  await point(page.locator("#show-help"));
  await page.locator(".unit.pinned", { hasText: "livre" }).waitFor();
  await page.locator("#hint button", { hasText: "Unpin" }).waitFor();
  await sourceWords(page).nth(2).click();
  await page.locator("#undo").waitFor();
}));

test("boxes: on a phone, touching a word highlights its partners in both texts", () => visit(link({}), async (page) => {
  await page.locator("#result .word", { hasText: "livre" }).tap();
  await page.locator("#mirror .lit", { hasText: "book" }).waitFor();
  await page.locator(".unit.pinned", { hasText: "livre" }).waitFor();
  await page.locator(".source .unit.lit", { hasText: "book" }).waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
}, { width: 390, height: 844, hasTouch: true, isMobile: true }));

/* Replace the warnings of a reply, because these models seldom give any. */
const warned = (...warnings) => (page) => page.route("**/translate", async (route) => {
  const reply = await route.fetch(), body = await reply.json();
  body.translations[0].warnings = warnings;
  await route.fulfill({ response: reply, json: body });
});
test("boxes: warnings stand at the words that they are about",
  () => visit(link({ t: "Where is the train station? I have 341 books." }), async (page) => {
  await page.locator("#warnings li").nth(1).waitFor();
  assert.equal(await text(page.locator("#warnings li").first()), "Check the numbers: 341 became 341.");
  assert.deepEqual(await page.locator("#result .warned").evaluateAll((list) => list.map((word) => word.textContent))
    .then((list) => list.includes("341")), true);
  await page.locator("#warnings button").first().click();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "341");
  assert.match(await page.evaluate(() => document.activeElement.title), /^Check the numbers/);
  assert.equal(await text(page.locator("#warnings li").nth(1)), "Some of the text may be missing here.");
}, { before: warned({ code: "numbers", message: "", source: ["341"], target: ["341"] },
  { code: "shortened", message: "" }) }));

/* ---- files ---- */

const SRT =
  "1\n00:00:01,000 --> 00:00:02,500\nWhere is the train station?\n\n2\n00:00:03,000 --> 00:00:05,000\nShe gave him " +
    "the book.\n";
const drop = (page, name, content) => page.locator("#text").evaluate((box, [title, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], title, { type: "text/plain" }));
  for (const type of ["dragover", "drop"])
    box.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
}, [name, content]);

test("files: subtitles that are dropped are translated, shown beside the source by line, and saved",
  () => visit(link({}), async (page) => {
  await translated(page);
  await drop(page, "film.srt", SRT);
  await page.locator("#save-file").waitFor();
  const form = new FormData();
  form.set("file", new Blob([SRT]), "film.srt");
  for (const [name, value] of Object.entries({ source: "en", target: "fr" })) form.set(name, value);
  const expected = await (await fetch(`${daemon.url}/documents`, { method: "POST", body: form })).text();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-file").click()]);
  assert.equal(download.suggestedFilename(), "film.fr.srt");
  assert.equal(readFileSync(await download.path(), "utf8"), expected);
  assert.deepEqual(await page.locator("#files tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent).slice(0, 2))),
    [["3", "Where is the train station?"], ["7", "She gave him the book."]]);
  assert.match(await text(page.locator("#files [role=status]")), /^2 sentences translated, format srt/);
  await page.locator("#both-file").click();
  await page.locator("#files pre", { hasText: /train station\?\n.*gare/ }).waitFor();
  await page.locator("#close-file").click();
  assert.equal(await page.locator("#files").isVisible(), false);
  assert.equal(await page.locator("#text").inputValue(), sentence); /* the text is still there */
}));

test(
  "files: how far it is, by the server's events; warnings with their lines; cancelled, and translated again; what " +
    "cannot be read", () => visit(link({}), async (page) => {
  await translated(page);
  let whole = false;
  const event = (name, data) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  /* The first request is never answered. */
  await page.route("**/documents",
    (route) => (whole ? route.fulfill({ contentType: "text/event-stream", body: event("sentence", { left: 1 })
    + event("warning", { code: "numbers", message: "the numbers differ", line: 7 }) + event("sentence", { left: 0 })
    + event("result", { file_name: "a.fr.json", format: "json", text: "{}" }) }) : undefined));
  await page.locator("#file")
    .setInputFiles({ name: "a.json", mimeType: "application/json", buffer: Buffer.from("{}") });
  await page.locator("#cancel-file").click();
  whole = true;
  await page.locator("#again-file").click();
  await page.locator("#save-file").waitFor();
  assert.equal(await text(page.locator("#files .notes li")), "Line 7: the numbers differ");
  assert.match(await text(page.locator("#files [role=status]")), /^2 sentences/);
  await page.unroute("**/documents");
  await page.locator("#file").setInputFiles({ name: "picture.xyz", mimeType: "application/octet-stream",
    buffer: Buffer.from([1, 2, 3]) });
  await page.locator("#files .error").waitFor();
}, { expected: /400|ERR_/ }));

test("files: all formats are offered; an archive is saved byte for byte, and has both languages in one file",
  () => visit(link({}), async (page) => {
  await translated(page);
  const listed = await (await fetch(`${daemon.url}/formats`)).json(),
    formats = listed.flatMap(({ extensions }) => extensions.map((extension) => `.${extension}`));
  assert.equal(await page.locator("#file").getAttribute("accept"), formats.join());
  assert.ok([".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".epub"].every((format) => formats.includes(format)));
  const bytes = Buffer.from([0x50, 0x4b, 3, 4, 0, 0xff, 0x80, 10]),
    result = { file_name: "a.fr.docx", format: "docx", base64: bytes.toString("base64") };
  const sent = [];
  await page.route("**/documents", (route) => {
    sent.push(route.request().postDataBuffer().toString("latin1"));
    route.fulfill({ contentType: "text/event-stream", body: `event: result\ndata: ${JSON.stringify(result)}\n\n` });
  });
  await page.locator("#file").setInputFiles({ name: "a.docx", mimeType: "application/octet-stream", buffer: bytes });
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-file").click()]);
  assert.equal(download.suggestedFilename(), "a.fr.docx");
  assert.deepEqual(readFileSync(await download.path()), bytes);
  await page.locator("#both-file").click();
  await page.locator("#both-file").waitFor({ state: "detached" });
  await page.locator("#save-file").waitFor();
  assert.match(sent[1], /name="bilingual"\r\n\r\nbelow/);
}));

/* ---- a user's first two minutes ---- */

test("first two minutes: a paragraph is pasted, swapped, copied, subtitles are dropped, the link is shared",
  () => visit("", async (page) => {
  await translated(page); /* an example is shown */
  const paragraph =
    "The old man gave the children some bread. The water was cold and clear.\n\nWhere is the train station?";
  await page.evaluate((words) => navigator.clipboard.writeText(words), paragraph);
  await page.locator("#text").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+v");
  await page.locator("#result", { hasText: "gare" }).waitFor();
  const french = await result(page);
  assert.equal(french.split("\n").length, 3);
  await page.locator("#swap").click();
  await page.locator("#result", { hasText: "station" }).waitFor();
  assert.equal(await page.locator("#text").inputValue(), french);
  await page.locator("#copy").click();
  await page.locator("#said", { hasText: "Copied." }).waitFor();
  assert.equal(await copied(page), await result(page));
  await page.locator("#swap").click();
  await page.locator("#result", { hasText: "gare" }).waitFor();
  await drop(page, "film.srt", SRT);
  await page.locator("#save-file").waitFor();
  const now = await result(page);
  await page.locator("#share").click();
  let address = await copied(page);
  while (!URL.canParse(address)) address = await copied(page); // the clipboard still holds the result
  await visit(new URL(address).hash, async (other) => {
    await other.locator("#result", { hasText: "gare" }).waitFor();
    assert.equal(await result(other), now);
    assert.deepEqual(await chosen(other), ["en", "fr"]);
  });
}, CLIPBOARD));

test("boxes: the words that are doubted are marked, and no others",
  () => visit(link({ t: "Where is the train station? Qwxzv brgl plomf vrst glimp." }), async (page) => {
  await page.locator("#warnings li", { hasText: "Probably wrong" }).waitFor();
  assert.equal((await page.locator("#result .warned").allTextContents()).join(" "),
    (await result(page)).slice(0, 6).trim());
}, { before: warned({ code: "doubtful", message: "", quality: 0.001,
  words: [{ start: 0, end: 6, start_utf16: 0, end_utf16: 6 }] }) }));

test("translator: a screen reader hears that a translation has arrived, once it is whole", () =>
  visit(link({}), async (page) => {
  await page.locator("#told", { hasText: /^Translation: Elle lui donna le livre/ }).waitFor({ state: "attached" });
  assert.equal(await page.locator("#told").getAttribute("role"), "status");
}));
