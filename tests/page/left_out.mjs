/* Lists the words that the page reports as omitted, to be judged by eye: node left_out.mjs ALIGND MODEL COUNT < TEXTS,
 * one text per line, from the top folder. Stops after COUNT texts with omissions. Prints, separated by tabs, the word,
 * its coverage, the text and its translation. The verdicts come from the page's own modules, which run here. */
import { readFileSync } from "node:fs";
import { startDaemon } from "../clients/daemon.mjs";

const [program, model, count] = process.argv.slice(2), texts = readFileSync(0, "utf8").trim().split("\n");
globalThis.matchMedia = () => ({ matches: false });
const { leftOut, usualOf } = await import("../../server/page/diagnostics.js");
const { decode } = await import("../../server/page/api.js");

const { url, stop } = await startDaemon(program, [model]), ask = globalThis.fetch;
globalThis.fetch = (path, ...more) => ask(new URL(path, url), ...more);
const name = (await (await ask(`${url}/models`)).json()).models[0].name;
let found = 0;
for (const text of texts) {
  const { sentences } = await decode({ text, model: name }), verdicts = [];
  for (const s of sentences)
    verdicts.push(...(await leftOut(s, name, usualOf(s))).map(({ label, sum }) => [label, sum.toFixed(2), s.source_text,
    s.text].join("\t")));
  if (verdicts.length) console.log(verdicts.join("\n"));
  found += verdicts.length > 0;
  if (found >= Number(count)) break;
}
stop();
