/* make bench-page: medians of what the page costs. node bench.mjs ALIGND, from the top folder, on an otherwise idle
 * machine. */
import { rmSync } from "node:fs";
import { startDaemon } from "../clients/daemon.mjs";
import { begin, end, link, program, translated, visit } from "./browser.mjs";
import { wordsOf } from "./lengths.mjs";
import { measureHeads, measureKey, measureMap, measurePointer, median, randomModel } from "./measure.mjs";

const RUNS = 15, MODEL = "transformer-alignment-layer";
const say = (what, value, unit) => console.log(`${what.padEnd(64)} ${value.toFixed(0).padStart(8)} ${unit}`);

/* A first visit: time to the first paint, time to the translation, and bytes loaded. */
async function arrive() {
  let found;
  await visit("", async (page) => {
    await translated(page);
    found = await page.evaluate(() => {
      const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
      const all = [...new Map(entries.map((entry) => [new URL(entry.name).pathname, entry])).values()]
        .filter(({ name }) => /^\/(page\/.*)?$/.test(new URL(name).pathname));
      const sum = (name) => all.reduce((bytes, entry) => bytes + entry[name], 0);
      return { paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, ready: performance.now(),
        files: all.length, plain: sum("decodedBodySize"), sent: sum("transferSize") };
    });
  });
  return found;
}

await begin();
const visits = [];
for (let run = 0; run < RUNS; run++) visits.push(await arrive());
say("first paint", median(visits.map(({ paint }) => paint)), "ms");
say("first translation drawn, the API's time included", median(visits.map(({ ready }) => ready)), "ms");
say(`the page's ${visits[0].files} files`, visits[0].plain, "bytes");
say("the same as sent, with headers", visits[0].sent, "bytes");

await visit(`#${new URLSearchParams({ t: wordsOf(300), m: "en-fr" })}`, async (page) => {
  await translated(page);
  await page.locator("#result[aria-busy=false]").waitFor();
  say("300 words: a key pressed, until it is seen", await measureKey(page, RUNS), "ms");
});

const random = randomModel(), daemon = await startDaemon(program, [random.model, `tests/golden/${MODEL}`]);
for (const n of [40, 80]) {
  await visit(random.square(n), async (page) => {
    await translated(page);
    const { cells, ms, api_ms } = await measureMap(page, RUNS);
    say(`${cells}: drawn after a click, beyond the API's ${api_ms.toFixed(0)} ms`, ms, "ms");
    say(`${cells}: a cell pointed at, until it is read out`, await measurePointer(page, n / 2), "ms");
  }, { daemon });
}
await visit(link({ t: "The man sees the dog.", m: MODEL, v: "heads" }), async (page) => {
  await page.locator("#heads-view .grid").waitFor();
  say("6 x 8 heads of 60 x 60: drawn after a click", (await measureHeads(page, RUNS)).ms, "ms");
}, { daemon });
daemon.stop();
rmSync(random.folder, { recursive: true });
await end();
