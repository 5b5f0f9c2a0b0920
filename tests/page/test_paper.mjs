/* What is printed, and what is pasted and copied. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { becomes, holds, link, program, saved, sentence, text, translated, visit } from "./browser.mjs";

let more;
before(async () => { more = await startDaemon(program, ["weights/en-fr", "weights/en-de"]); });
after(() => more?.stop());

const THREE = `I like snow. ${sentence} Where is the train station?`;
test("print: all sentences with all their threads, both texts in full, and after it the page as it was",
  () => visit(link({ t: THREE }), async (page) => {
  await translated(page);
  const before = await page.locator("#view .pair").count();
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => {
    window.stages = [];
    for (const name of ["beforeprint", "afterprint"]) addEventListener(name, () => window.stages.push(name));
    dispatchEvent(new Event("beforeprint"));
  });
  assert.equal(await page.locator("#view .pair").count(), 3);
  const pairs = await page.locator("#view .pair").evaluateAll((list) => list.map((one) => {
    const words = [...one.querySelectorAll(".target .unit")].map((word) => word.getBoundingClientRect());
    return [...one.querySelectorAll(".threads path")].map((path) => {
      const { x, width } = path.getBoundingClientRect();
      return words.some((word) => word.left - 30 <= x + width && word.right + 30 >= x);
    });
  }));
  assert.ok(pairs.every((list) => list.length > 3 && list.every(Boolean)), JSON.stringify(pairs));
  /* They stay when the browser looks what is in the window. */
  await page.evaluate(() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen))));
  await page.setViewportSize({ width: 718, height: 300 });
  await page.evaluate(() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen))));
  assert.deepEqual(await page.locator("#view .pair").evaluateAll((list) => list.map((one) =>
    one.querySelectorAll(".threads path").length)), pairs.map((list) => list.length));
  assert.ok((await text(page.locator("#mirror"))).includes("train station?"));
  assert.ok(await page.locator("#mirror").isVisible());
  assert.notEqual(await page.locator("#mirror").evaluate((node) => getComputedStyle(node).color), "rgba(0, 0, 0, 0)");
  assert.ok(await page.locator("#result", { hasText: "gare" }).isVisible());
  for (const hidden of [".top", ".langs", ".foot", ".tabs"])
    assert.equal(await page.locator(hidden).first().isVisible(), false, hidden);
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await becomes(async () => assert.equal(await page.locator("#view .pair").count(), before));
  await page.evaluate(() => { window.stages = []; });
  const paper = await page.pdf({ format: "A4" }); /* the browser sends the same events */
  assert.deepEqual(await page.evaluate(() => window.stages), ["beforeprint", "afterprint"]);
  assert.ok(String(paper.subarray(0, 5)) === "%PDF-" && paper.length > 10000);
}));

test("export: numbers in CSV have four digits", () => visit(link({ v: "export" }), async (page) => {
  const csv = String(await saved(page, "CSV")).trim().split("\r\n").slice(1);
  assert.ok(csv.every((line) => line.split(",").slice(-3).every((cell) => /^[01]\.\d{4}$/.test(cell))), csv[0]);
}));

test("paste: the box has the text, and a copy of the translation has the markup",
  () => visit(link({ t: "" }), async (page) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("#text").focus();
  await page.evaluate(async () => {
    const html = "<p class='x'>I <b>like</b> <a href='https://example.org/'>snow</a>.</p><script>1</script>";
    await navigator.clipboard.write([new ClipboardItem({ "text/html": new Blob([html], { type: "text/html" }),
      "text/plain": new Blob(["I like snow."], { type: "text/plain" }) })]);
  });
  await page.keyboard.press("Control+v");
  await page.locator("#result", { hasText: "neige" }).waitFor();
  assert.equal(await page.locator("#text").inputValue(), "I like snow.");
  await page.locator("#copy").click();
  await page.locator("#said", { hasText: "Copied." }).waitFor();
  const copied = () => page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    return Promise.all(["text/html", "text/plain"].map(async (type) => (item.types.includes(type)
      ? (await item.getType(type)).text() : null)));
  });
  const [html, plain] = await copied();
  assert.match(html, /<a href="https:\/\/example\.org\/">.*neige/);
  assert.match(html, /<b>.*aime.*<\/b>/);
  assert.doesNotMatch(html, /class|script/);
  assert.equal(plain, await text(page.locator("#result")));
  await page.locator("#text").fill("I like snow!"); /* another text has no markup */
  await holds(page, () => document.getElementById("result").getAttribute("aria-busy") === "false");
  await page.locator("#result", { hasText: "!" }).waitFor();
  await page.locator("#copy").click();
  await becomes(async () => assert.equal((await copied())[0], null));
}));

test("files: several are translated one after the other, each with its own place",
  () => visit(link({}), async (page) => {
  await translated(page);
  await page.locator("#file").setInputFiles(["Good morning.", "Where is the train station?"].map((says, k) =>
    ({ name: `${k}.txt`, mimeType: "text/plain", buffer: Buffer.from(says) })));
  await page.locator("#save-file-file-1").waitFor();
  assert.deepEqual(await page.locator("#files h2").allTextContents(), ["0.txt", "1.txt"]);
  assert.match(await text(page.locator("#file-1")), /gare/);
  await page.locator("#close-file-file-0").click();
  assert.deepEqual(await page.locator("#files h2").allTextContents(), ["1.txt"]);
  await page.locator("#close-file-file-1").click();
  assert.equal(await page.locator("#files").isVisible(), false);
}));

test("help: a list of keys, and a theme that stays", () => visit(link({}), async (page) => {
  await translated(page);
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor), light = await paper();
  await page.locator("#show-help").click();
  await page.locator("#help dt", { hasText: "Ctrl Enter" }).waitFor();
  await page.locator("#theme-dark").focus();
  await page.keyboard.press("Enter");
  await becomes(async () => assert.notEqual(await paper(), light));
  assert.equal(await page.evaluate(() => document.activeElement.id), "theme-dark");
  assert.equal(await page.locator("#view").getAttribute("data-scheme"), "dark");
  const dark = await paper();
  await page.reload();
  await translated(page);
  assert.equal(await paper(), dark);
  await page.goto(`${new URL(page.url()).origin}/page/models.html`);
  await page.locator(".card").first().waitFor();
  assert.equal(await paper(), dark);
  await page.goBack();
  await page.locator("#show-help").click();
  await page.locator("#theme-").click();
  await becomes(async () => assert.equal(await paper(), light));
}));

test("warnings: of a text in two scripts, the part that is not translated is underlined, and no other",
  () => visit(link({
    t: "I like snow. \u041c\u043d\u0435 \u043d\u0440\u0430\u0432\u0438\u0442\u0441\u044f \u0441\u043d\u0435\u0433."
  }), async (page) => {
  await translated(page);
  await page.locator("#warnings button").waitFor();
  const warned = (await page.locator("#result .warned").allTextContents()).join(" ");
  assert.match(warned, /^[\u0400-\u04ff .]+$/);
  assert.match(warned, /\u041c\u043d\u0435 .*\u0441\u043d\u0435\u0433/);
}));

test("also: the sentence at hand in a further language, in rows below the first; the link keeps it",
  () => visit(link({ t: "I like snow. Where is the train station?", m: "en-fr" }), async (page) => {
  await translated(page);
  await page.locator("#also-open").focus();
  await page.keyboard.press("Enter");
  await page.locator("#also-into").selectOption("de");
  const words = () => page.locator("#also alignd-attention .target .unit").allTextContents();
  await becomes(async () => assert.ok((await words()).includes("Schnee"), `${await words()}`));
  assert.deepEqual(await page.locator("#also h3").allTextContents(), ["German"]);
  await page.locator("#next").click();
  await becomes(async () => assert.ok((await words()).includes("Bahnhof"), `${await words()}`));
  await page.reload();
  await becomes(async () => assert.ok((await words()).includes("Bahnhof"), `${await words()}`));
  await page.getByRole("button", { name: "Remove: German" }).click();
  await page.locator("#also alignd-attention").waitFor({ state: "detached" });
  assert.doesNotMatch(await page.evaluate(() => location.hash), /al=/);
}, { daemon: more }));
