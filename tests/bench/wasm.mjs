/* How fast the npm package translates the first 64 lines of a file, greedily, in sentences and tokens a second:
 *
 *   node tests/bench/wasm.mjs [--chromium] PACKAGE MODEL FILE [BERGAMOT MODEL.bin SHORTLIST.bin VOCABULARY.spm]
 *   node tests/bench/wasm.mjs --threads=N PACKAGE MODEL FILE
 *
 * --chromium: in a page of Debian's chromium (with tests/page's modules of npm), not in Node. BERGAMOT: a copy of the
 * folder worker/ of npm's @browsermt/bergamot-translator, whose package.json says wrongly that its files are modules.
 * It then translates the same lines in turn, with the files that MODEL was imported from. --threads: in a page that is
 * isolated, with one thread and with N in turn. Of five calls each, after five others: the median, the least and the
 * greatest, by the time of processors; with --threads by that of the thread that takes most of it, and by the clock. */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as engines from "./wasm_engines.mjs";

const CALLS = 5, MOST_TEXTS = 64;
const given = process.argv.slice(2), [, threads] = /^--threads=(\d+)$/.exec(given[0]) ?? [];
const inChromium = given[0] === "--chromium" || threads;
const [folder, model, file, bergamot, ...files] = given.slice(inChromium ? 1 : 0).map((path) => resolve(path));
const lines = (await readFile(file, "utf8")).trim().split("\n").slice(0, MOST_TEXTS);

/* Where engines run: place(path): what names a file there; open(name, ...) of wasm_engines.mjs; seconds(): processor
 * time so far, by thread or of all together. */
const node = () => ({
  place: (path) => path,
  index: pathToFileURL(`${folder}/index.js`).href,
  open: (name, ...rest) => engines[name](lines, ...rest),
  seconds: () => {
    const { user, system } = process.cpuUsage();
    return { all: (user + system) / 1e6 };
  },
  close: () => {},
});

const chromium = async () => {
  const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
  const server = createServer(async ({ url }, response) => {
    const bytes = url === "/" ? "<!doctype html>" : await readFile(url).catch(() => null);
    const isolating = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
    response.writeHead(bytes === null ? 404 : 200,
      { "Content-Type": types[extname(url)] ?? "text/html", ...threads && isolating }).end(bytes);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const address = `http://127.0.0.1:${server.address().port}`;
  const { chromium: browsers } = createRequire(new URL("../page/", import.meta.url))("playwright-core");
  const browser = await browsers.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
  const page = await browser.newPage(), session = await browser.newBrowserCDPSession();
  await page.goto(address);
  const place = (path) => `${address}${path}`;
  return {
    place,
    index: place(`${folder}/index.js`),
    open: async (name, ...rest) => {
      const engine = await page.evaluateHandle(async ([module, one, lines, rest]) =>
        (await import(module))[one](lines, ...rest),
      [place(resolve("tests/bench/wasm_engines.mjs")), name, lines, rest]);
      return {
        translate: () => engine.evaluate((one) => one.translate()),
        close: () => engine.evaluate((one) => { one.close(); }),
      };
    },
    seconds: async () => {
      const { processInfo } = await session.send("SystemInfo.getProcessInfo");
      const renderers = processInfo.filter(({ type }) => type === "renderer");
      return threads ? Object.fromEntries(renderers.flatMap(({ id }) => readdirSync(`/proc/${id}/task`)
        .map((task) => [task, readFileSync(`/proc/${id}/task/${task}/schedstat`, "utf8").split(" ")[0] / 1e9])))
        : { all: renderers.reduce((sum, { cpuTime }) => sum + cpuTime, 0) };
    },
    close: () => Promise.all([browser.close(), server.close()]),
  };
};

const median = (numbers) => [...numbers].sort((a, b) => a - b)[CALLS >> 1];
const whole = (number) => number.toFixed(0);
const spread = (rates) => `${whole(median(rates))} (${whole(Math.min(...rates))} - ${whole(Math.max(...rates))})`;

const most = (before, after) => Math.max(...Object.entries(after).map(([of, time]) => time - (before[of] ?? 0)));

const host = inChromium ? await chromium() : node();
const open = async (name, ...options) =>
  ({ name, ...await host.open("alignd", host.index, host.place(model), ...options) });
const opened = threads
  ? [await open("one thread", "--threads=false"), await open(`${threads} threads`, `--workers=${threads}`)]
  : [await open("alignd")];
if (bergamot)
  opened.push({ name: "bergamot", ...await host.open("bergamot", host.place(bergamot), ...files.map(host.place)) });
for (const engine of opened) {
  Object.assign(engine, { seconds: [], waited: [] });
  for (let i = 0; i < CALLS; i++) /* the first ones compile */
    engine.tokens = await engine.translate();
}
for (let i = 0; i < CALLS; i++)
  for (const engine of opened) {
    const before = await host.seconds(), began = performance.now();
    await engine.translate();
    engine.waited.push((performance.now() - began) / 1000);
    engine.seconds.push(most(before, await host.seconds()));
  }
for (const { name, seconds, waited, tokens, close } of opened) {
  const counted = tokens ? `, ${spread(seconds.map((s) => tokens / s))} tokens/s` : "";
  const rates = (all) => spread(all.map((s) => lines.length / s));
  console.log(`${name}: ${rates(seconds)} sentences/s${counted}${threads ? `; by the clock ${rates(waited)}` : ""}`);
  await close();
}
await host.close();
