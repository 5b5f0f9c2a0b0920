/* What generators make of /openapi.json: openapi-typescript's types, with which tsc --strict compiles ten typical
 * calls (calls.mts) that are then made; the client of @hey-api/openapi-ts, which tsc compiles as well; and redocly
 * lint, which finds no error: node typescript.mjs ALIGND, from the top folder. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { test, before, after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { startDaemon } from "./daemon.mjs";

const run = promisify(execFile);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
let daemon, folder;

before(async () => {
  daemon = await startDaemon(process.argv[2] ?? "build/alignd", ["weights/en-fr", "weights/fr-en"]);
  await mkdir(here("node_modules/.cache"), { recursive: true }); /* where the packages are found */
  folder = await mkdtemp(here("node_modules/.cache/calls-"));
  await copyFile(here("calls.mts"), `${folder}/calls.mts`);
  await writeFile(`${folder}/openapi.json`, await (await fetch(`${daemon.url}/openapi.json`)).text());
});

after(async () => {
  daemon.stop();
  await rm(folder, { recursive: true });
});

const tool = (name, ...args) => run(process.execPath, [here(`node_modules/${name}`), ...args], { cwd: folder })
  .catch((error) => assert.fail(`${error.stdout}${error.stderr}`));

test("ten typical calls compile with types made from the document, and are answered", async () => {
  await tool("openapi-typescript/bin/cli.js", "openapi.json", "--output", "api.d.ts");
  await tool("typescript/bin/tsc", "--strict", "--module", "nodenext", "--target", "es2022", "--lib",
    "es2022,dom,dom.iterable", "calls.mts");
  const { calls } = await import(pathToFileURL(`${folder}/calls.mjs`));
  assert.equal(await calls(daemon.url), 10);
});

test("the client that @hey-api/openapi-ts makes compiles", async () => {
  await tool("@hey-api/openapi-ts/bin/run.js", "--input", "openapi.json", "--output", "client");
  await writeFile(`${folder}/call.ts`, `import { translate } from "./client/index.js";
import { client } from "./client/client.gen.js";
export async function call(baseUrl: string): Promise<number> {
  client.setConfig({ baseUrl });
  const { data } = await translate({ body: { text: "Where is the train station?" } });
  return data && "translations" in data ? data.translations.length : 0;
}
`);
  await tool("typescript/bin/tsc", "--strict", "--module", "esnext", "--moduleResolution", "bundler", "--target",
    "es2022", "--lib", "es2022,dom,dom.iterable", "--outDir", "made", "call.ts");
});

test("redocly lint finds no error", () => tool("@redocly/cli/bin/cli.js", "lint", "openapi.json"));
