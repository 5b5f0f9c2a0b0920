/* The client of the npm package, and its types against those of /openapi.json: node client.mjs ALIGND, from the top
 * folder. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { test, before, after } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startDaemon } from "./daemon.mjs";
import { AligndError, Client } from "../../server/page/client.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url)), text = "A boy plays in the snow.",
  ask = { text, model: "en-fr" };
let daemon, client;

before(async () => {
  daemon = await startDaemon(process.argv[2] ?? "build/alignd", ["weights/en-fr"]);
  client = new Client(`${daemon.url}/`);
});
after(() => daemon.stop());

/* A server that is busy a few times, and then answers: {url, asked, stop}. */
async function busy(times, status = 429) {
  const state = { asked: 0 }, server = createServer((request, response) => {
    const free = ++state.asked > times;
    response.writeHead(free ? 200 : status,
      { "Content-Type": "application/json", ...(!free && { "Retry-After": "1" }) });
    response.end(JSON.stringify(free ? { models: [] } : { error: "the queue is full", code: "queue_full" }));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return Object.assign(state, { url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() });
}

test("translates, tells models and attention, refuses with the field's name", async () => {
  const { translations: [{ text: whole }] } = await client.translate(ask);
  assert.equal((await client.attention({ ...ask, translation: whole, include: ["tokens", "eos"] })).results[0].text,
    whole);
  assert.equal((await client.models())[0].name, "en-fr");
  await assert.rejects(client.translate({ ...ask, beam_size: 99 }), (error) => error instanceof AligndError
    && error.status === 400 && error.field === "beam_size" && error.code === "invalid_request");
  await assert.rejects(new Client("http://127.0.0.1:1").models(), { status: 0 });
});

test("streams: the tokens' texts are the translation", async () => {
  const parts = [];
  let result;
  for await (const [name, data] of client.stream("/translate", { ...ask, strategy: "greedy" }))
    name === "token" ? parts.push(data.text) : (result = data);
  assert.ok(parts.length > 3);
  assert.equal(parts.join(""), result.translations[0].text);
  /* Leaving is allowed. */
  for await (const [name] of client.stream("/translate", { ...ask, strategy: "greedy" })) {
    assert.equal(name, "token");
    break;
  }
});

test("a busy server is asked again after its Retry-After, so often and not more, and not after an abort", async () => {
  for (const status of [429, 503]) {
    const server = await busy(1, status);
    assert.deepEqual(await new Client(server.url).models(), []);
    assert.equal(server.asked, 2);
    server.stop();
  }
  const server = await busy(9), control = new AbortController();
  await assert.rejects(new Client(server.url, { retries: 0 }).models(), { status: 429, retryAfter: 1 });
  assert.equal(server.asked, 1);
  const asked = new Client(server.url).models({ signal: control.signal });
  while (server.asked < 2) await new Promise((next) => setTimeout(next, 5));
  control.abort();
  await assert.rejects(asked, { name: "AbortError" });
  assert.equal(server.asked, 2);
  server.stop();
});

test("its types are those of /openapi.json", async () => {
  await mkdir(here("node_modules/.cache"), { recursive: true });
  const folder = await mkdtemp(here("node_modules/.cache/client-"));
  const tool = (name, ...args) => promisify(execFile)(process.execPath, [here(`node_modules/${name}`), ...args],
    { cwd: folder }).catch((error) => assert.fail(`${error.stdout}${error.stderr}`));
  try {
    await writeFile(`${folder}/openapi.json`, await (await fetch(`${daemon.url}/openapi.json`)).text());
    for (const name of ["index.d.ts", "client.d.ts"]) await copyFile(`server/page/npm/${name}`, `${folder}/${name}`);
    await copyFile(here("client_types.mts"), `${folder}/client_types.mts`);
    await tool("openapi-typescript/bin/cli.js", "openapi.json", "--output", "api.d.ts");
    await tool("typescript/bin/tsc", "--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--lib",
      "es2022,dom,dom.iterable", "client_types.mts");
  } finally {
    await rm(folder, { recursive: true });
  }
});
