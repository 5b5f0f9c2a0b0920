/* How fast the npm package translates the first 64 lines of a file, greedily, in sentences and tokens a second:
 *
 *   node tests/bench/wasm.mjs [--chromium] PACKAGE MODEL FILE [BERGAMOT MODEL.bin SHORTLIST.bin VOCABULARY.spm]
 *
 * --chromium: in a page of Debian's chromium (with tests/page's modules of npm), not in Node. BERGAMOT: a copy of the
 * folder worker/ of npm's @browsermt/bergamot-translator, whose package.json says wrongly that its files are modules.
 * It then translates the same lines in turn, with the files that MODEL was imported from. Of five calls each, after
 * five others: the median, the least and the greatest, by the time of processors. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as engines from "./wasm_engines.mjs";

const CALLS = 5, MOST_TEXTS = 64;
const given = process.argv.slice(2), inChromium = given[0] === "--chromium";
const [folder, model, file, bergamot, ...files] = given.slice(inChromium ? 1 : 0).map((path) => resolve(path));
const lines = (await readFile(file, "utf8")).trim().split("\n").slice(0, MOST_TEXTS);

/* Where engines run: place(path): what names a file there; open(name, ...) of wasm_engines.mjs; seconds(): processor
 * time so far. */
const node = () => ({
  place: (path) => path,
  index: pathToFileURL(`${folder}/index.js`).href,
  open: (name, ...rest) => engines[name](lines, ...rest),
  seconds: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },
  close: () => {},
});

const chromium = async () => {
  const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
  const server = createServer(async ({ url }, response) => {
    const bytes = url === "/" ? "<!doctype html>" : await readFile(url).catch(() => null);
    response.writeHead(bytes === null ? 404 : 200, { "Content-Type": types[extname(url)] ?? "text/html" }).end(bytes);
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
      await page.evaluate(async ([module, one, lines, rest]) => {
        globalThis[one] = await (await import(module))[one](lines, ...rest);
      }, [place(resolve("tests/bench/wasm_engines.mjs")), name, lines, rest]);
      return {
        translate: () => page.evaluate((one) => globalThis[one].translate(), name),
        close: () => page.evaluate((one) => { globalThis[one].close(); }, name),
      };
    },
    seconds: async () => (await session.send("SystemInfo.getProcessInfo")).processInfo
      .filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0),
    close: () => Promise.all([browser.close(), server.close()]),
  };
};

const median = (numbers) => [...numbers].sort((a, b) => a - b)[CALLS >> 1];
const whole = (number) => number.toFixed(0);
const spread = (rates) => `${whole(median(rates))} (${whole(Math.min(...rates))} - ${whole(Math.max(...rates))})`;

const host = inChromium ? await chromium() : node();
const opened = [{ name: "alignd", ...await host.open("alignd", host.index, host.place(model)) }];
if (bergamot)
  opened.push({ name: "bergamot", ...await host.open("bergamot", host.place(bergamot), ...files.map(host.place)) });
for (const engine of opened) {
  engine.seconds = [];
  for (let i = 0; i < CALLS; i++) /* the first ones compile */
    engine.tokens = await engine.translate();
}
for (let i = 0; i < CALLS; i++)
  for (const engine of opened) {
    const before = await host.seconds();
    await engine.translate();
    engine.seconds.push(await host.seconds() - before);
  }
for (const { name, seconds, tokens, close } of opened) {
  const counted = tokens ? `, ${spread(seconds.map((s) => tokens / s))} tokens/s` : "";
  console.log(`${name}: ${spread(seconds.map((s) => lines.length / s))} sentences/s${counted}`);
  await close();
}
await host.close();
