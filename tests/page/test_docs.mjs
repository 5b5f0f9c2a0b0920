/* /docs: navigation, a form that sends each request, and examples that work. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { text, violations, visit } from "./browser.mjs";

test("docs: one operation at a time, found by its name; its request is sent and answered; low, and axe finds nothing",
  () => visit("docs", async (page) => {
  await page.locator("section:visible#translate form").waitFor();
  assert.equal(await page.locator("section:visible").count(), 1);
  await page.locator("#translate").getByRole("button", { name: "Send" }).click();
  await page.locator("#translate .reply", { hasText: /^200 [^]*"translations"/ }).waitFor();
  await page.locator("#filter").fill("/languages");
  await page.locator("nav a:visible", { hasText: "get /languages" }).first().click();
  await page.locator("section:visible#languages").waitFor();
  await page.locator("#languages").getByRole("button", { name: "Send" }).click();
  await page.locator("#languages .reply", { hasText: /^200 [^]*"code": "en"/ }).waitFor();
  /* Hidden sections leave gaps in the order of headings. */
  assert.deepEqual((await violations(page)).filter((one) => !one.startsWith("heading-order")), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollHeight) < 6000);
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
    assert.ok(await page.locator("nav").evaluate((nav) => nav.getBoundingClientRect().height <= innerHeight),
      `${width}: the list is higher than the window`);
  }
}, { bypassCSP: true, expected: /404/ })); /* the browser requests an icon */

/* What moves after it was drawn, as a browser adds it up: a phone shows the text before the script has run. */
const shifts = () => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
    .observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => setTimeout(() => done(sum)));
});
test("docs: nothing moves while it loads, on phones either; operations are in groups; examples name this server",
  async () => {
  for (const width of [390, 1366])
    for (const hash of ["docs", "docs#v2_glossaries"]) {
      await visit(hash, async (page) => {
        await page.locator("section:visible form").waitFor();
        const moved = await page.evaluate(shifts);
        assert.ok(moved < 0.01, `${width} ${hash}: ${moved}`);
        assert.equal(await page.locator("section:visible").count(), 1);
        assert.deepEqual(await page.locator("nav h2").allTextContents(), ["Translation", "Models", "Server", "DeepL",
          "DeepLX", "Google", "LibreTranslate", "Lingva", "Microsoft", "MTranServer", "NLLB", "Browser extensions",
          "Objects"]);
        assert.match(await page.locator("#translate pre").first().textContent(),
          new RegExp(`^curl ${page.url().replace(/docs.*/, "")}translate `));
        await page.locator("#filter").fill("/glossaries");
        assert.deepEqual(await page.locator("nav h2:visible").allTextContents(), ["DeepL"]);
      }, { width });
    }
});

/* Examples that change the server, or need what this one lacks, get an API error. */
test("docs: every example in JSON is answered by 200, or by an error that names what is missing",
  () => visit("docs", async (page) => {
  await page.locator("section:visible#translate form").waitFor();
  const found = await page.evaluate(async () => {
    const replies = [];
    for (const section of document.querySelectorAll("section[data-method=post]")) {
      for (const pre of section.querySelectorAll("pre:not(.reply)")) {
        const [, address, body] = /^curl '?https?:\/\/[^/]+(\S+?)'? -d '([^]*)'$/.exec(pre.textContent) ?? [];
        if (body === undefined) continue;
        const reply = await fetch(address,
          { method: "POST", body: body.replaceAll("'\\''", "'"), headers: { "Content-Type": "application/json" } });
        replies.push([section.id, reply.status, (await reply.text()).slice(0, 120)]);
      }
    }
    return replies;
  });
  assert.ok(found.length > 5, `${found.length}`);
  assert.deepEqual(found.filter(([, status]) => status !== 200 && ![400, 403, 404, 405].includes(status)), []);
  assert.deepEqual(found.filter(([id, status]) => ["translate", "attention", "detect"].includes(id) && status !== 200),
    []);
}, { expected: /40[0345]/ }));

/* Send each operation's form as it is prefilled: with the example or the required fields, and a file where one is asked
 * for. */
test("docs: a form sends each request", () => visit("docs", async (page) => {
  await page.locator("section:visible#translate form").waitFor();
  const sections = await page.locator("section[data-method]")
    .evaluateAll((list) => list.map(({ id, dataset }) => ({ id, ...dataset }))), wrong = [];
  assert.ok(sections.length > 40, `${sections.length}`);
  for (const { id, method, path } of sections) {
    if (path === "/models/reload") continue; /* the other tests share this server */
    await page.evaluate((one) => { location.hash = one; }, `#${id}`);
    const form = page.locator(`section:visible[id="${id}"] form`), file = form.locator("input[type=file]");
    await form.waitFor();
    if (await file.count())
      await file.setInputFiles({ name: "a.txt", mimeType: "text/plain",
      buffer: Buffer.from("Where is the train station?\n") });
    await form.getByRole("button", { name: "Send" }).click();
    if (path.includes("{")) {
      await form.locator(".reply", { hasText: /^Write a value in place of \{/ }).waitFor();
      continue;
    }
    await form.locator(".reply", { hasText: /^\d{3} / }).waitFor();
    const said = await text(form.locator(".reply")), status = Number(said.slice(0, 3));
    if (status !== 200 && !(/glossar|models|languages|usage/.test(path) && status < 500))
      wrong.push(`${method} ${path}: ${said.slice(0, 200)}`);
    if (["documents", "translate_file"].includes(id))
      assert.match(said, id === "documents" ? /gare/ : /translatedFileUrl/);
  }
  assert.deepEqual(wrong, []);
}, { expected: /40[0-9]|41[0-9]/ }));
