/* The page in other languages: every text has a translation, and the page opens in the reader's language. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { link, program, sentence, shipped, text, translated, violations, visit } from "./browser.mjs";

const LANGUAGE = /^[a-z]{2}\.js$/, FOLDER = "server/page", STRING = '"((?:[^"\\\\]|\\\\.)*)"';

/* Texts that modules pass to t(), and those of index.html and models.html. */
function said() {
  const found = new Set();
  for (const name of readdirSync(FOLDER).filter((one) => /\.js$/.test(one) && !LANGUAGE.test(one))) {
    for (const [, ...texts] of readFileSync(join(FOLDER, name), "utf8")
      .matchAll(new RegExp(`\\bt\\((?:[^"()]*"?[^"()]*"? \\? )?${STRING}(?: : ${STRING})?`, "g")))
      for (const one of texts) if (one !== undefined) found.add(JSON.parse(`"${one}"`));
  }
  const html = ["index.html", "models.html"].map((name) => readFileSync(join(FOLDER, name), "utf8")).join("\n");
  for (const [, one] of html.matchAll(/data-say[^>]*>([^<]+)</g)) found.add(one);
  for (const [, one] of html.matchAll(/(?:aria-label|placeholder|title)="([^"]+)"/g)) found.add(one);
  return [...found];
}

/* Everything that modules and pages write, with the strings that are put together. */
const written = readdirSync(FOLDER).filter((name) => /\.(js|html)$/.test(name) && !LANGUAGE.test(name))
  .map((name) => readFileSync(join(FOLDER, name), "utf8")).join("\n").replace(/" \+\s*"/g, "")
  .replace(/\\u([0-9a-f]{4})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16))).replaceAll("&gt;", ">");
/* Texts that are made from a task's name, and states that the server names. */
const COMPUTED = /^(Your .* of \u201c\{0\}\u201d|installed|failed)$/;
const ENGLISH = { de: "Englisch", fr: "anglais", es: "ingl\u00e9s", nl: "Engels", zh: "\u82f1\u8bed",
  ja: "\u82f1\u8a9e", ar: "\u0627\u0644\u0625\u0646\u062c\u0644\u064a\u0632\u064a\u0629" };
const CODES = readdirSync(FOLDER).filter((name) => LANGUAGE.test(name)).map((name) => name.slice(0, 2));

for (const code of CODES) {
  test(`speech: ${code}: no text is missing or unused, all have the same places for values, and the page opens in it`,
    async () => {
    const words = (await import(`../../${FOLDER}/${code}.js`)).default, texts = said(),
      holes = (one) => (one.match(/\{\d\}/g) ?? []).sort().join();
    assert.ok(texts.length > 100, `${texts.length}`);
    assert.deepEqual(texts.filter((one) => !words[one]), []);
    assert.deepEqual(Object.keys(words).filter((one) => !written.includes(one) && !COMPUTED.test(one)), []);
    assert.deepEqual(Object.entries(words).filter(([from, to]) => holes(from) !== holes(to)), []);
    await visit(link({}), async (page) => {
      await translated(page);
      assert.deepEqual(await page.evaluate(() => [document.documentElement.lang, document.documentElement.dir]),
        [code, code === "ar" ? "rtl" : "ltr"]);
      assert.equal(await text(page.locator("#go")), words.Translate);
      assert.equal(await text(page.locator("#tab-why")), words.Why);
      if (ENGLISH[code]) assert.equal(await page.locator("#from option[value=en]").textContent(), ENGLISH[code]);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.locator("#show-help").click();
      await page.locator("#help dt").first().waitFor();
      assert.ok((await text(page.locator("#help"))).includes(words["The lines under the words"]));
      if (["ar", "de"].includes(code)) assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      await page.locator("#speak").selectOption("en"); /* the choice is remembered */
      await page.locator("#go", { hasText: "Translate" }).waitFor();
      await page.reload();
      await page.locator("#go", { hasText: "Translate" }).waitFor();
    }, { locale: code, bypassCSP: true });
  });
}

/* What a reader sees or hears: visible texts, and names of controls. */
const visible = (page) => page.evaluate(() => {
  const found = new Set(), add = (one) => { if (/\p{L}{2}/u.test(one ?? "")) found.add(one.trim()); };
  for (const node of window.deep("body *")) {
    if (!node.checkVisibility()
      || node.matches("script, pre, kbd, #speak *, #examples *, #history *, .passage, .passage *")) continue;
    for (const name of ["aria-label", "aria-valuetext", "title", "placeholder"]) add(node.getAttribute(name));
    for (const child of node.childNodes) if (child.nodeType === Node.TEXT_NODE) add(child.data);
  }
  return [...found];
});

const HEADS = "transformer-alignment-layer", SENTENCES = `${sentence} Where is the train station?`,
  FILE = "She gave him the book.\tElle lui donna le livre.\nWho wrote this letter?\n";
const head = (h) => ({ m: HEADS, t: "The man sees the dog.", v: "heads", h });
const see = (selector) => (page) => page.locator(selector).first().waitFor();
const click = (selector) => (page) => page.locator(selector).first().click();
/* name: [fields of the link, steps that act or wait...]. */
const STATES = {
  map: [{ look: "attention" }, click("#how summary"), see("#panel .map")], lines: [{ lines: 1 }, see("#panel .lines")],
  table: [{ asTable: 1 }, see("#panel table")],
  "a word pinned": [{}, click(".target .unit"), see("#see")], alternatives: [{ v: "confidence" }, click("#panel .step"),
    see("#popover li")],
  "a question": [{}, (page) => page.locator(".target .unit").nth(2).click(),
    (page) => page.locator(".source .unit").nth(2).click(), see("#undo")],
  "an own translation": [{ v: "ask", own: "Elle lui a rendu son livre." }, see("#panel .map")],
  beam: [{ v: "beam" }, see(".tree")],
  compare: [{ v: "compare" }, see("#panel .map >> nth=1")],
  diagnostics: [{ v: "diagnostics" }, see(".cover:not([aria-busy])")],
  why: [{ v: "why" }, see("#loss-map")], "why not": [{ v: "why", w: "not", i: 3, not: "la" }, see("#panel table")],
  "source or before": [{ v: "why", w: "from" }, see("#panel .cover")],
  links: [{ v: "links", g: "0-0 1p0" }, see("#links-map")],
  "links of one's own": [{ v: "links", own: "Elle lui a rendu son livre.", ofOwn: 1, g: "4-5" }, see("#links-map")],
  corpus: [{ v: "corpus" }, see("#panel .drop"), (page) => page.locator("#corpus-file")
    .setInputFiles({ name: "a.tsv", mimeType: "text/plain", buffer: Buffer.from(FILE) }), see("#row-2")],
  export: [{ v: "export" }, see("#panel pre")], "several sentences": [{ t: SENTENCES }, see("#next")],
    help: [{}, click("#show-help"), see("#help dt")],
  "another language": [{ t: "Un garçon joue dans la neige avec son chien." }, see("#language button")],
  "a pair that is missing": [{}, (page) => page.locator("#to").selectOption("ja"), see("#missing")],
  "a logical form": [{ m: "geoquery", t: "What is the population of Zurich?", v: "ask" }, see("#reference")],
  "no text": [{ t: "" }, see(".state")], "too long": [{}, (page) => page.locator("#text").fill("a ".repeat(110000)), see("#as-file")],
  ...Object.fromEntries(["cross.0.1", "encoder.0.1", "decoder.0.1"]
    .map((h) => [h, [head(h), see("#heads-view .grid")]])),
};

let daemon;
before(async () => { daemon = await startDaemon(program, [...shipped, `tests/golden/${HEADS}`]); });
after(() => daemon?.stop());

/* What is the same in every language: words of the texts and of their translations, model names, formats. */
async function ownWords() {
  const words = new Set("alignd PNG SVG CSV JSON HTML Pharaoh curl tsv txt Zurich".split(" "));
  const add = (one) => { for (const [word] of one.matchAll(/\p{L}+/gu)) words.add(word); };
  for (const [fields] of Object.values(STATES)) {
    const t = fields.t ?? sentence;
    add(`${t} ${fields.own ?? ""}`);
    if (t.length > 1000 || !t) continue;
    const { sentences } =
      (await (await fetch(`${daemon.url}/attention`,
      { method: "POST", body: JSON.stringify({ text: t, model: fields.m ?? "en-fr", beam_size: 5, n_best: 5,
      include: ["tokens", "top_k", ...(fields.v === "beam" ? ["beam"] : [])] }) })).json()).results[0];
    for (const s of sentences) add(JSON.stringify(s).replaceAll("\\", " "));
  }
  const { supportedFilesFormat } = await (await fetch(`${daemon.url}/frontend/settings`)).json();
  for (const name of [...shipped, HEADS, "alignd get en-ja", ...supportedFilesFormat]) add(name);
  return words;
}

/* {state: its visible texts}, for a reader of a language. */
async function saidTo(locale) {
  const found = {};
  await visit("", async (page) => {
    await translated(page);
    for (const [name, [fields, ...steps]] of Object.entries(STATES)) {
      await page.keyboard.press("Escape");
      for (const hash of [link({ t: "" }), link({ v: "map", ...fields })]) {
        await page.evaluate((next) => { location.hash = next; }, hash);
        /* Wait until nothing of the previous state is left. */
        if (hash === link({ t: "" })) await page.locator("#status .state").waitFor();
      }
      await page.locator("#result[aria-busy=false]").waitFor({ state: "attached" });
      for (const step of steps) await step(page);
      found[name] = await visible(page);
    }
  }, { daemon, locale, expected: /413/ });
  return found;
}

test("speech: no view says anything in English to a reader of German or French", async () => {
  const own = await ownWords(), english = await saidTo("en-US"), wrong = [];
  for (const code of ["de", "fr"]) {
    const words = (await import(`../../${FOLDER}/${code}.js`)).default, theirs = await saidTo(code),
      same = new Set(Object.entries(words).filter(([from, to]) => from.trim() === to.trim())
      .map(([from]) => from.trim()));
    for (const name of Object.keys(STATES)) {
      for (const one of theirs[name]) {
        if (english[name].includes(one) && !same.has(one) && [...one.matchAll(/\p{L}+/gu)]
          .some(([word]) => !own.has(word))) wrong.push(`${code}, ${name}: ${one}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test("speech: what the help lets one try is tried with a model that has it, or is not offered",
  () => visit(link({ m: "geoquery", t: "What is the population of Zurich?" }), async (page) => {
  await translated(page);
  await page.locator("#show-help").click();
  await page.locator("#help dt").first().waitFor();
  const offers = await page.locator("#help dd")
    .evaluateAll((list) =>
    list.map((one) => [one.previousElementSibling.textContent, one.querySelector("a")?.hash ?? ""]));
  assert.equal(offers.find(([name]) => name === "Heads")[1], ""); /* none of these models has heads */
  assert.match(offers.find(([name]) => name === "Compare")[1], /m=en-fr/);
}));
