/* The npm package against a daemon: node wasm.mjs ALIGND PACKAGE, from the top folder. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startDaemon } from "../clients/daemon.mjs";

const [program, folder] = process.argv.slice(2), MODEL = "weights/en-fr", SENTENCES = 200, TOGETHER = 50;
const { Alignd, AligndError } = await import(pathToFileURL(`${folder}/index.js`));
let daemon, engine;

/* The same model in both, with the same options. */
async function start(options) {
  daemon = await startDaemon(program, [MODEL], options);
  engine = await Alignd.load(MODEL, { options });
}
async function stop() {
  daemon.stop();
  await engine.close();
}

const ask = async (endpoint, request) =>
  (await fetch(`${daemon.url}/${endpoint}`, request && { method: "POST", body: JSON.stringify(request) })).json();

const PLAIN = /(?<=[.] )[A-Z][^.|`<>[\]{}]{20,150}[.](?=\s)/g;
/* Sentences of the documents, which were not chosen for being easy. */
async function sentences() {
  const found = new Set((await readFile("tests/bench/sentences.txt", "utf8")).trim().split("\n"));
  for (const name of ["README.md", "CONTRIBUTING.md", "server/OPERATIONS.md", "server/api/REQUESTS.md", "model/README.md",
    "server/documents/FORMATS.md", "tests/README.md", "weights/README.md"])
    for (const [sentence] of (await readFile(name, "utf8")).matchAll(PLAIN))
      found.add(sentence.replaceAll("\n", " "));
  return [...found].slice(0, SENTENCES);
}

/* Numbers of float32 may differ in their last digits; all else is the same. With int8 these digits decide how some
 * values are rounded, so that scores differ more. */
function compare(own, other, path) {
  if (typeof own === "number" && typeof other === "number")
    assert.ok(Math.abs(own - other) <= 1e-4 * Math.max(1, Math.abs(other)), `${path}: ${own}, ${other}`);
  else if (own && other && typeof own === "object" && typeof other === "object") {
    assert.deepEqual(Object.keys(own), Object.keys(other), path);
    for (const key of Object.keys(own))
      compare(own[key], other[key], `${path}.${key}`);
  } else
    assert.equal(own, other, path);
}

/* most: so many translations may differ, where two words are about as likely. */
const translates = (options, most) => async (context) => {
  await start(options);
  context.after(stop);
  const texts = await sentences();
  assert.equal(texts.length, SENTENCES);
  const differ = [];
  for (let i = 0; i < SENTENCES; i += TOGETHER) {
    const request = { text: texts.slice(i, i + TOGETHER), include: [] };
    const [own, others] = await Promise.all([engine.translate(request), ask("translate", request)]);
    own.translations.forEach(({ text }, j) => {
      if (text !== others.translations[j].text)
        differ.push([texts[i + j], text, others.translations[j].text]);
    });
  }
  context.diagnostic(`${differ.length} of ${SENTENCES} translations differ`);
  assert.ok(differ.length <= most, JSON.stringify(differ, null, 1));
};

test("200 sentences are translated as by the daemon, in float32", translates(["--compute=float32"], 2));
test("200 sentences are translated as by the daemon, in int8", translates(["--compute=int8"], 16));

test("every endpoint answers as the daemon does", async (context) => {
  await start(["--compute=float32"]);
  context.after(stop);
  const text = "The house is small, and its garden costs 3,000 dollars.";
  for (const [name, request] of [
    ["translate", { text, include: ["tokens", "log_probs", "alignment", "offsets", "words", "eos"] }],
    ["translate", { text: "<p>The <b>house</b> is &lt;small&gt;.</p>", format: "html" }],
    ["translate", { text: "twenty-three houses 🙂 {name}", strategy: "beam", n_best: 3 }],
    ["attention", { text }],
    ["align", { text: "The house.", translation: "La maison." }],
    ["detect", { q: "La maison est petite." }],
  ])
    compare(await engine[name](request), await ask(name, request), name);
  for (const name of ["languages", "formats"])
    compare(await engine[name](), await ask(name), name);
  assert.equal((await engine.models()).models[0].name, "en-fr");
  const page = new TextEncoder().encode("<p>The <b>house</b>.</p>"),
    file = await engine.document(page, { filename: "a page.html", target: "fr" });
  assert.match(new TextDecoder().decode(file), /<b>maison<\/b>/);
});

test("what is wrong is said as the daemon says it", async (context) => {
  await start([]);
  context.after(stop);
  await assert.rejects(engine.translate({ text: "x", beam_size: 99 }), (error) => error instanceof AligndError
    && error.status === 400 && error.field === "beam_size" && /between 1 and 32/.test(error.message));
  await assert.rejects(engine.call("translations"), { status: 404 });
  await assert.rejects(Alignd.load("weights/model"), { status: 0 });
  await assert.rejects(Alignd.load(MODEL, { options: ["--modl=1"] }), /did you mean --model/);
});

test("a call that is aborted before its turn is not answered, and those after it are", async (context) => {
  await start([]);
  context.after(stop);
  const first = engine.translate({ text: "I like snow." }), aborts = new AbortController(),
    second = engine.translate({ text: "The house is small." }, aborts), third = engine.languages();
  aborts.abort();
  await assert.rejects(second, { name: "AbortError" });
  assert.equal((await first).translations[0].text, "J'aime la neige.");
  assert.equal((await third)[0].code, "en");
});

test("events come before the result, and a call that is left makes room for others", async (context) => {
  await start([]);
  context.after(stop);
  const request = { text: "The house is small. I like snow.", strategy: "greedy", include: ["tokens"] }, events = [];
  for await (const event of engine.stream("translate", request))
    events.push(event);
  const whole = await engine.translate(request), names = events.map(([name]) => name);
  assert.deepEqual(events.at(-1), ["result", whole]);
  assert.deepEqual(names.filter((name) => name !== "token"), ["sentence", "sentence", "result"]);
  const tokens = whole.translations[0].sentences.flatMap((sentence) => sentence.tokens);
  assert.equal(names.filter((name) => name === "token").length, tokens.length);
  for await (const [name] of engine.stream("translate", request))
    if (name === "token") break;
  await assert.rejects(engine.stream("translate", { text: 3 }).next(), { status: 400, field: "text" });
  /* a document, as the body of a reply; and one in which nothing is to be decoded */
  for (const [page, result] of [["<p>The <b>house</b>.</p>", /<b>maison<\\?\/b>/], ["<p></p>", /<p><\\?\/p>/]]) {
    const stream = await engine.events("document?filename=a.html&target=fr&stream=true", new TextEncoder().encode(page));
    assert.match(await new Response(stream).text(), new RegExp(`event: result\ndata: .*${result.source}.*\n\n$`));
  }
  const aborts = new AbortController();
  const begun = engine.stream("translate", request, { signal: aborts.signal });
  assert.equal((await begun.next()).value[0], "token");
  aborts.abort();
  await assert.rejects(async () => { for await (const event of begun) assert.ok(event); }, { name: "AbortError" });
  assert.equal((await engine.languages())[0].code, "en");
});

test("index.d.ts: the README's example has the right types, and another is refused", () => {
  const modules = resolve("tests/page/node_modules"), place = join(modules, ".cache", "types-alignd");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(join(place, "node_modules"), { recursive: true });
  symlinkSync(resolve(folder), join(place, "node_modules", "alignd"));
  const compilerOptions = { strict: true, noEmit: true, target: "es2022", module: "esnext",
    moduleResolution: "bundler", types: [], lib: ["es2022", "dom"] };
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ include: ["example.ts"], compilerOptions }));
  const check = (text) => {
    writeFileSync(join(place, "example.ts"), text);
    return spawnSync(process.execPath, [join(modules, "typescript/bin/tsc")], { cwd: place, encoding: "utf8" });
  };
  const [, example] = /```js\n([^]*?)```/.exec(readFileSync("server/library/javascript/README.md", "utf8"));
  const calls = "await engine.detect({ q: example }, { signal: AbortSignal.timeout(5000) });\n" +
    "const [{ targets }] = await engine.languages(); export const first: string = targets[0];\n" +
    "export const events: ReadableStream<Uint8Array> = await engine.events(\"translate\", { stream: true });\n" +
    "for await (const [name] of engine.stream(\"translate\", { text: example })) if (name === \"token\") break;\n";
  const right = check(`const example = "The house is small.";\n${example}${calls}`);
  assert.equal(right.status, 0, right.stdout);
  const wrong = check(example.replace("[0].text", "[0].txt"));
  assert.notEqual(wrong.status, 0);
  assert.match(wrong.stdout, /txt/);
});

test("models come from addresses, too, and calls end with their engine", async () => {
  const server = createServer(async ({ url }, response) => {
    const bytes = await readFile(`weights${url}`).catch(() => null);
    response.writeHead(bytes ? 200 : 404).end(bytes);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const address = `http://127.0.0.1:${server.address().port}`;
  try {
    const fetched = await Alignd.load(`${address}/en-fr`);
    const [reply, other] = await Promise.allSettled([fetched.translate({ text: "I like snow." }), fetched.models()]);
    assert.equal(reply.value.translations[0].text, "J'aime la neige.");
    assert.equal(other.status, "fulfilled");
    const call = fetched.models();
    await Promise.all([assert.rejects(call, { status: 0 }), fetched.close()]);
    await assert.rejects(fetched.models(), /closed/);
    await assert.rejects(Alignd.load(`${address}/none`), /404/);
  } finally {
    server.close();
  }
});
