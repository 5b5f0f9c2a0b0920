/* Screenshots of each view and state, at three widths in both themes: node shots.mjs ALIGND FOLDER [NAME...], from the
 * top folder. With README as the name, those of tests/page/screenshots (make pictures). TRANSFORMER in the environment:
 * a model folder, for the screenshots of heads. */
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { startDaemon } from "../clients/daemon.mjs";
import { begin, end, link, program, sentence, target, translated, views, visit } from "./browser.mjs";
import { arabic, chinese, hebrew, japanese, scriptFolder } from "./folders.mjs";

const folder = process.argv[3] ?? "shots", only = process.argv.slice(4);
const wait = (ms) => (page) => page.waitForTimeout(ms);
const fulfil = (pattern, reply) => (page) => page.route(pattern,
  (route) => (reply ? route.fulfill(reply) : route.abort()));
const busy = { status: 429, headers: { "Retry-After": "7" }, json: { error: "the queue is full", code: "queue_full" } };
const loading = { status: 503, headers: { "Retry-After": "2" },
  json: { error: "the models are still loading", code: "unavailable" } };
const failed = { status: 500, json: { error: "internal error, see the log for request 4f1c", code: "internal" } };

const folders = [scriptFolder("he-ar", "tokenizer-words", [hebrew, arabic]),
  scriptFolder("zh-ja", "tokenizer-characters", [chinese, japanese])];
const scripts = await startDaemon(program, folders);
const transformer = process.env.TRANSFORMER && (await startDaemon(program, [process.env.TRANSFORMER]));
const heads =
  `#${new URLSearchParams({ v: "heads", t: "a man in a blue shirt is standing on a ladder cleaning a window ." })}`;
const right = { t: "הילד משחק בשלג והילדה קוראת ספר.", m: "he-ar", s: "sample", seed: 1 };

/* name: [hash, action before the screenshot, action before the page is loaded, daemon] */
const shots = {
  ...Object.fromEntries(views.map((view) => [view, [link({ v: view }), async (page) => {
    await translated(page);
    await wait(["beam", "compare"].includes(view) ? 900 : 150)(page);
  }]])),
  first: ["", translated],
  hover: [link({}), async (page) => { await translated(page); await target(page, "perdu").hover(); }],
  pinned: [link({}), async (page) => { await translated(page); await target(page, "livre").click(); }],
  subwords: [link({ words: 0, eos: 1 }), translated],
  lines: [link({ lines: 1 }), translated],
  table: [link({}), async (page) => {
    await translated(page);
    await page.getByRole("button", { name: "Table" }).click();
  }],
  popover: [link({ v: "confidence" }), async (page) => {
    await translated(page);
    await page.locator(".step").nth(2).click();
  }],
  question: [link({}), async (page) => {
    await translated(page);
    await page.locator(".target .unit").nth(4).click();
    await page.locator(".source .unit").nth(2).click();
    await page.locator("#undo").waitFor();
  }],
  reference: [link({ v: "ask" }), async (page) => {
    await translated(page);
    await page.locator("#reference").fill("Elle lui a rendu son livre.");
    await page.getByRole("button", { name: "Score it" }).click();
    await page.locator("#panel .map").waitFor();
  }],
  sentences: [link({ v: "compare", t: "She is late. He waits for her." }), async (page) => {
    await page.locator("#panel .map").nth(1).waitFor();
    await page.locator("#text-b").fill("He is late. She waits for him at home.");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await wait(900)(page);
  }],
  several: [link({ t: `${sentence} Where is the train station? I have never been so happy in my life.` }), translated],
  geoquery: [link({ m: "geoquery", t: "What is the population of Zurich?", v: "diagnostics" }), translated],
  right: [link(right), translated, null, scripts],
  rightlines: [link({ ...right, lines: 1 }), translated, null, scripts],
  rightconfidence: [link({ ...right, v: "confidence" }), translated, null, scripts],
  rightbeam: [link({ ...right, v: "beam" }), wait(800), null, scripts],
  ...(transformer && {
    heads: [heads, (page) => page.locator("#heads-view .grid").waitFor(), null, transformer],
    arcs: [heads, async (page) => {
      await page.locator("#heads-encoder").click();
      await page.locator('[id="head.encoder.0.3"]').click();
    }, null, transformer],
  }),
  wide: [link({ t: "我喜欢雪你在哪里", m: "zh-ja", s: "sample", seed: 1 }), translated, null, scripts],
  empty: [link({ t: "" }), wait(300)],
  loading: [link({}), wait(300), fulfil("**/models", loading)],
  overload: [link({}), wait(600), fulfil("**/translate", busy)],
  failed: [link({}), wait(600), fulfil("**/translate", failed)],
  key: [link({}), wait(300),
    fulfil("**/translate", { status: 401, json: { error: "an API key is required", code: "unauthorized" } })],
  offline: [link({}), wait(300), fulfil("**/models")],
  long: [link({ t: Array.from({ length: 80 }, (_, k) => "I have never been so happy in my life and".split(" ")[k % 10])
    .join(" "), words: 0 }), translated],
};

/* Screenshots of the README, [shot, file, width, height, theme]: what is visible without scrolling. */
const readme = [["hover", "attention", 1000, 656, "light"], ["question", "question", 1000, 860, "light"],
  ...(transformer ? [["heads", "heads", 1280, 1390, "light"], ["arcs", "arcs", 1280, 1640, "light"]] : [])];

async function shoot(name, path, { width, height = width === 390 ? 844 : 900, theme, fullPage }) {
  const [hash, act, before, daemon] = shots[name];
  await visit(hash, async (page) => {
    await act(page);
    await page.screenshot({ path, fullPage });
  }, { theme, width, height, hasTouch: width === 390, expected: /./, before, ...(daemon && { daemon }) });
}

mkdirSync(folder, { recursive: true });
await begin();
if (only[0] === "README") {
  for (const [name, file, width, height, theme] of readme)
    await shoot(name, `${folder}/${file}.png`, { width, height, theme, fullPage: false });
} else {
  for (const name of only.length ? only : Object.keys(shots)) {
    for (const theme of ["light", "dark"]) {
      for (const width of [390, 1024, 1600])
        await shoot(name, `${folder}/${name}-${theme}-${width}.png`, { width, theme, fullPage: name !== "popover" });
    }
  }
}
await end();
scripts.stop();
transformer?.stop();
for (const model of folders) rmSync(dirname(model), { recursive: true });
