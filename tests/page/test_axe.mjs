/* Accessibility: axe finds no violations in any state of the page, on a phone and on a wide screen, nor of colours in
 * dark and forced ones, and no state is wider than the page. One page goes through all states of a server that answers,
 * another through those of one that does not. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { renamedFolder } from "./folders.mjs";
import { COLOURS, fits, link, program, sentence, shipped, startAxe, translated, violations, visit,
  widen } from "./browser.mjs";

const HEADS = "transformer-alignment-layer", WIDTHS = [390, 1440], WIDER = [1024, 1600], MIDDLE = 820;
const LIGHT = { colorScheme: "light", forcedColors: "none" };
const OTHERS = [{ colorScheme: "dark", forcedColors: "none" }, { colorScheme: "light", forcedColors: "active" }];

let folder, daemon;
before(async () => {
  folder = renamedFolder("weights/fr-en", "de-en", { source: "de" }); /* for a pair that needs two models */
  daemon = await startDaemon(program, [...shipped, folder, `tests/golden/${HEADS}`]);
});
after(() => {
  daemon?.stop();
  rmSync(dirname(folder), { recursive: true });
});

/* The page has one layout up to 640 px and one beyond, and neither it nor what is read aloud depends on colours. */
async function check(page, state) {
  const look = async (width, media, rules) => {
    await page.emulateMedia(media);
    await widen(page, width);
    assert.deepEqual(await violations(page, rules), [], `${state}, ${width} px, ${JSON.stringify(media)}`);
    await fits(page, `${state}, ${width} px`);
  };
  for (const width of WIDTHS) await look(width, LIGHT);
  for (const width of WIDER) {
    await widen(page, width);
    await fits(page, `${state}, ${width} px`);
  }
  for (const media of OTHERS) await look(MIDDLE, media, COLOURS);
}

const see = (selector, nth = 0) => (page) => page.locator(selector).nth(nth).waitFor();
const press = (name) => (page) => page.getByRole("button", { name }).first().click();
const click = (selector) => (page) => page.locator(selector).first().click();
const question = async (page) => {
  await page.locator(".target .unit").nth(4).click();
  await page.locator(".source .unit").nth(2).click();
};
const score = async (page) => {
  await page.locator("#reference").fill("Elle lui a rendu son livre.");
  await page.getByRole("button", { name: "Score it" }).click();
};
const corpus = (page) => page.locator("#corpus-file")
  .setInputFiles({ name: "one.tsv", mimeType: "text/plain", buffer: Buffer.from("Yes.\tOui.\n") });
const heads = (h) => ({ m: HEADS, t: "The man sees the dog.", v: "heads", h });

/* name: [fields of the link, steps that act or wait...]. */
const ANSWERED = {
  "a translation": [{}, see("#panel .map")],
  "a word is pinned": [{}, click(".target .unit"), see("#see")],
  alternatives: [{ words: 0 }, click(".target .unit"), click("#see"), see("#popover li")],
  "a question": [{ v: "ask" }, question, see("#undo")],
  help: [{}, click("#show-help"), see("#help dt")],
  subwords: [{ words: 0, eos: 1 }, see("#panel .map")],
  lines: [{ lines: 1 }, see("#panel .lines")],
  "alternatives in lines": [{ lines: 1 }, click(".target .unit"), click("#see"), see("#popover li")],
  table: [{ asTable: 1 }, see("#panel table")],
  attention: [{ look: "attention" }, see("#panel .map")],
  confidence: [{ v: "confidence" }, see("#panel .step")],
  "alternatives of a token": [{ v: "confidence", words: 0 }, click("#panel .step"), see("#popover li")],
  "an own translation": [{ v: "ask", words: 0 }, score, see("#panel .map")],
  beam: [{ v: "beam" }, see(".tree")],
  compare: [{ v: "compare" }, see("#panel .map", 1)],
  "two sentences compared": [{ v: "compare", t: "She is late. He waits for her." }, see("#panel .map", 3)],
  diagnostics: [{ v: "diagnostics" }, see(".cover:not([aria-busy])")],
  "a logical form": [{ m: "geoquery", t: "What is the population of Zurich?", v: "diagnostics" }, see(".cover")],
  export: [{ v: "export" }, see("#panel pre")],
  "source words left out": [{ v: "why" }, see("#loss-map")],
  "another word": [{ v: "why", w: "not", i: 3, not: "la" }, see("#panel table")],
  "source or before": [{ v: "why", w: "from" }, see("#panel .cover")],
  links: [{ v: "links", g: "0-0 1p0" }, see("#links-map")],
  corpus: [{ v: "corpus" }, corpus, see("#row-1")],
  "several sentences": [{ t: `${sentence} Where is the train station?` }, see("#next")],
  "a pair": [{ m: "de \u2192 fr", t: "Un garçon joue dans la neige." }, see("#through")],
  "another language": [{ t: "Un garçon joue dans la neige avec son chien." }, see("#language button")],
  "heads, cross": [heads("cross.0.1"), see("#heads-view .grid")],
  "heads, encoder": [heads("encoder.0.1"), see("#heads-view .arcs")],
  "heads, decoder": [heads("decoder.0.1"), see("#heads-view .grid")],
  history: [{}, press("A boy plays in the snow."), click("#history summary"), see("#history li")],
  "too long": [{}, (page) => page.locator("#text").fill("a ".repeat(110000)), see("#as-file")],
  "a pair that is missing": [{}, (page) => page.locator("#to").selectOption("ja"), see("#missing")],
  "how it decodes": [{}, click("#how summary"), see("#strategy")],
  "no text": [{ t: "" }, see(".state")],
};

async function rests(page) {
  await page.locator(".reading:not(.busy)").waitFor({ state: "attached" });
  await page.locator("#result:not(.busy)").waitFor({ state: "attached" });
}

test("axe: every state of a server that answers", () => visit("", async (page) => {
  await translated(page);
  await startAxe(page);
  await check(page, "the first visit");
  for (const [name, [fields, ...steps]] of Object.entries(ANSWERED)) {
    await page.keyboard.press("Escape");
    await page.evaluate((hash) => { location.hash = hash; }, link({ v: "map", ...fields }));
    await rests(page);
    for (const step of steps) await step(page);
    await rests(page); /* while it asks, what it had before is faint */
    await check(page, name);
  }
}, { daemon, bypassCSP: true, expected: /400|413/ }));

const refusal = (status, code, error, seconds) =>
  ({ status, json: { error, code }, ...(seconds && { headers: { "Retry-After": String(seconds) } }) });
/* name: [message of the page, reply of the server]; without a reply the server cannot be reached. */
const REFUSED = {
  "no server": ["The server cannot be reached."],
  loading: ["The models are still loading.", refusal(503, "unavailable", "the models are still loading", 600)],
  "a key is asked for": ["This server requires an API key.", refusal(401, "unauthorized", "an API key is required")],
};
const REFUSED_LATER = {
  busy: ["The server is busy.", refusal(429, "queue_full", "the queue is full", 600)],
  "too slow": ["That took longer than the server allows.", refusal(504, "deadline_exceeded", "the deadline passed")],
  "an error": ["Internal error, see the log for request 4f1c.",
    refusal(500, "internal", "internal error, see the log for request 4f1c")],
  "the wrong key": ["The server does not accept this key.", refusal(403, "forbidden", "no such key")],
};

test("axe: every state of a server that does not answer", () => {
  let reply;
  const answer = (route) => (reply ? route.fulfill(reply) : route.abort());
  const refused = async (page, [name, [says]]) => {
    await page.locator(".state", { hasText: says }).waitFor();
    await check(page, name);
  };
  return visit(link({}), async (page) => {
    await startAxe(page);
    for (const state of Object.entries(REFUSED)) {
      [, [, reply]] = state;
      if (reply) await page.getByRole("button", { name: "Try again" }).click();
      await refused(page, state);
    }
    await page.unroute("**/models");
    await page.route("**/translate", answer);
    for (const state of Object.entries(REFUSED_LATER)) {
      [, [, reply]] = state;
      if (state[0] === "busy") {
        await page.locator("#key").fill("any");
        await page.keyboard.press("Enter");
      } else await page.getByRole("button", { name: "Try again" }).click();
      await refused(page, state);
    }
  }, { bypassCSP: true, expected: /ERR_FAILED|503|401|429|504|500|403/,
    before: (page) => page.route("**/models", answer) });
});
