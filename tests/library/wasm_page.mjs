/* The npm package in Chromium, in pages of static servers: with threads where these isolate pages, elsewhere without. A
 * daemon gives the answers that are expected: node wasm_page.mjs ALIGND PACKAGE, from the top folder. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync,
  writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { startDaemon } from "../clients/daemon.mjs";

const [program, packed] = process.argv.slice(2), MODEL = "weights/en-fr", MOST_BYTES = 4e6;
const tools = createRequire(new URL("../page/", import.meta.url)), { chromium } = tools("playwright-core");
const modules = resolve("tests/page/node_modules");
const TYPES = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml" };
/* The headers that isolate a page, and how engines decode with headers: [how, headers, the script of that engine]. */
const ISOLATING = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
const WAYS = [["on one thread", {}, "relaxed/engine.js"], ["with threads", ISOLATING, "relaxed/engine-threads.js"]];
const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 60000), SENTENCE = "She gave him the book that he had lost.";

let work, site, browser, daemon;

before(async () => {
  work = mkdtempSync(join(tmpdir(), "alignd-static-"));
  site = join(work, "site");
  execFileSync("node", ["server/library/javascript/static.mjs", packed, site, MODEL]);
  /* no other host can be reached */
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      ...process.getuid() === 0 ? ["--no-sandbox"] : []] });
  daemon = await startDaemon(program, [MODEL]);
});
after(async () => {
  await browser?.close();
  daemon?.stop();
  rmSync(work, { recursive: true, force: true });
});

/* What the daemon answers to the page's requests. */
const ask = async (text, fields) => {
  const request = { text, include: ["tokens", "attention", "alignment", "words", "eos"], ...fields };
  const reply = await fetch(`${daemon.url}/translate`, { method: "POST", body: JSON.stringify(request) });
  return (await reply.json()).translations[0];
};

/* A folder with a page, whose body this is. */
const pageOf = (body) => {
  const folder = mkdtempSync(join(work, "page-"));
  writeFileSync(join(folder, "index.html"),
    `<!doctype html><html lang="en"><title>Page</title><link rel="icon" href="data:,">${body}</html>`);
  return folder;
};

/* Serves folders, as {path: folder}: {url, asked, missed, stop}. asked: the paths of the files that were sent. */
const serve = async (folders, headers = {}) => {
  const asked = [], missed = [];
  const server = createServer((request, response) => {
    const path = request.url.endsWith("/") ? `${request.url}index.html` : request.url;
    const prefix = Object.keys(folders).filter((one) => path.startsWith(one)).sort((a, b) => b.length - a.length)[0];
    const file = prefix && join(folders[prefix], path.slice(prefix.length));
    const found = Boolean(file) && existsSync(file) && statSync(file).isFile();
    (found ? asked : missed).push(path);
    response.writeHead(found ? 200 : 404,
      { "Content-Type": TYPES[extname(path)] ?? "application/octet-stream", ...headers });
    response.end(found ? readFileSync(file) : "");
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const stop = () => { server.close(); server.closeAllConnections(); };
  return { url: `http://127.0.0.1:${server.address().port}`, asked, missed, stop };
};

/* Runs body(page) in a page of its own; errors that the page reports, but for those that are expected, and requests
 * elsewhere than below its address and others, fail the test. */
const visit = async (address, body, { others = [], expected, before } = {}) => {
  const context = await browser.newContext({ reducedMotion: "reduce" }), page = await context.newPage(), wrong = [];
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrong.push(message.text()); });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && ![address, ...others].some((one) => request.url().startsWith(one)))
      wrong.push(`request to ${request.url()}`);
  });
  try {
    await before?.(page);
    await page.goto(address);
    await body(page);
    assert.deepEqual(wrong.filter((text) => !expected?.test(text)), []);
  } finally {
    await context.close();
  }
};

/* Waits until a test in the page is true. */
const becomes = async (page, test, argument) => {
  for (const end = Date.now() + PATIENCE_MS; !await page.evaluate(test, argument);) {
    assert.ok(Date.now() < end, `${test} ${JSON.stringify(argument)}`);
    await new Promise((later) => setTimeout(later, 50));
  }
};

/* The element's first sentence. */
const drawn = (page) => page.locator("alignd-attention").first().evaluate(({ result: { text, sentences: [one] } }) =>
  ({ text, alignment: one.alignment, words: one.words.alignment, tokens: one.tokens, attention: one.attention }));
const same = (own, { text, sentences: [{ alignment, words, tokens, attention }] }) => {
  const { attention: weights, ...rest } = own;
  assert.deepEqual(rest, { text, alignment, words: words.alignment, tokens });
  weights.forEach((row, i) => row.forEach((weight, j) =>
    assert.ok(Math.abs(weight - attention[i][j]) < 0.01, `${weight}, ${attention[i][j]}`)));
};

test("the package: a page translates without a server, and fetches a model once", async () => {
  const own = await serve({ "/": pageOf(""), "/alignd/": packed, "/en-fr/": MODEL });
  const translate = async () => {
    const { Alignd } = await import("/alignd/index.js");
    const engine = await Alignd.load("en-fr/", { options: ["--workers=2"] }), { threads } = engine;
    const { results: [reply] } = await engine.attention({ text: "The house is small." });
    await engine.close();
    return { text: reply.text, rows: reply.sentences[0].attention.length, threads };
  };
  const expected = { text: "La maison est petite.", rows: 6, threads: 1 };
  try {
    await visit(`${own.url}/`, async (page) => {
      assert.deepEqual(await page.evaluate(translate), expected);
      assert.ok(own.asked.includes("/en-fr/model.safetensors"));
      assert.deepEqual(own.asked.filter((path) => path.includes("threads")), []);
      own.asked.length = 0;
      await page.reload();
      assert.deepEqual(await page.evaluate(translate), expected);
      assert.deepEqual(own.asked.filter((path) => path.startsWith("/en-fr/")), ["/en-fr/manifest.json"]);
    });
  } finally {
    own.stop();
  }
});

/* In the page: opens an engine as globalThis.engine, and resolves to how many threads decode. */
const openEngine = async (options) => {
  const { Alignd } = await import("/alignd/index.js");
  globalThis.engine = await Alignd.load("en-fr/", { options });
  return globalThis.engine.threads;
};
const closeEngine = () => globalThis.engine.close();

test("the package: in an isolated page, threads give the replies of one thread", async () => {
  const own = await serve({ "/": pageOf(""), "/alignd/": packed, "/en-fr/": MODEL }, ISOLATING);
  const text = readFileSync("tests/bench/sentences.txt", "utf8").trim().split("\n");
  /* what calls give that are made at the same time */
  const translate = (lines) => Promise.all([
    globalThis.engine.translate({ text: lines, include: ["tokens", "alignment"] }),
    globalThis.engine.attention({ text: lines[0], strategy: "greedy" }),
    globalThis.engine.languages(),
    ...lines.slice(0, 4).map(async (line) => new TextDecoder().decode(await globalThis.engine.document(
      new TextEncoder().encode(`<p>${line}</p>`), { filename: "page.html", target: "fr" }))),
    ...lines.slice(0, 20).map((line) => globalThis.engine.translate({ text: line })),
  ]);
  try {
    await visit(`${own.url}/`, async (page) => {
      const processors = await page.evaluate(() => navigator.hardwareConcurrency);
      assert.equal(await page.evaluate(openEngine, []), Math.min(8, Math.max(1, processors - 1)));
      await page.evaluate(closeEngine);
      assert.equal(await page.evaluate(openEngine, ["--workers=2"]), 2);
      assert.deepEqual(own.asked.filter((path) => /engine\.(js|wasm)/.test(path)), []);
      const replies = await page.evaluate(translate, text);
      await page.evaluate(closeEngine);
      assert.equal(await page.evaluate(openEngine, ["--threads=false"]), 1);
      assert.deepEqual(replies, await page.evaluate(translate, text));
    });
    assert.deepEqual(own.missed, []);
  } finally {
    own.stop();
  }
});

for (const [where, headers, script] of WAYS)
  test(`the package: the engine with Relaxed SIMD gives the replies of the one without, ${where}`, async () => {
    const without = mkdtempSync(join(work, "without-"));
    const text = readFileSync("tests/bench/sentences.txt", "utf8").trim().split("\n");
    cpSync(packed, without, { recursive: true });
    const worker = readFileSync(join(packed, "worker.js"), "utf8"), detection = "WebAssembly.validate(RELAXED)";
    assert.ok(worker.includes(detection));
    writeFileSync(join(without, "worker.js"), worker.replace(detection, "false"));
    const asked = [], replies = [];
    for (const folder of [packed, without]) {
      const own = await serve({ "/": pageOf(""), "/alignd/": folder, "/en-fr/": MODEL }, headers);
      try {
        await visit(`${own.url}/`, async (page) => {
          await page.evaluate(openEngine, ["--compute=int8"]);
          replies.push(await page.evaluate((lines) => globalThis.engine.translate({ text: lines,
            include: ["tokens", "log_probs", "attention"] }), text));
        });
        asked.push(own.asked.find((path) => path.includes(".wasm")));
      } finally {
        own.stop();
      }
    }
    const expected = `/alignd/${script.replace(".js", ".wasm.gz")}`;
    assert.deepEqual(asked, [expected, expected.replace("relaxed/", "")]);
    assert.deepEqual(replies[0], replies[1]);
  });

/* A thread with room for one sentence takes the second of them after the first, whose result may still be made. */
const LONG = { text: SENTENCE, strategy: "greedy", min_length: 400, max_length: 400 };
const inTurn = async (request) => {
  const seen = [];
  const read = async (which) => {
    for await (const [name] of globalThis.engine.stream("translate", request))
      if (name === "token") seen.push(which);
  };
  await Promise.all([read("first"), read("second")]);
  return seen.lastIndexOf("first") < seen.indexOf("second");
};

test("the package: threads decode at the same time, and an aborted call is cancelled", async () => {
  const own = await serve({ "/": pageOf(""), "/alignd/": packed, "/en-fr/": MODEL }, ISOLATING);
  const statuses = () => {
    globalThis.statuses = [];
    globalThis.Worker = class extends Worker {
      constructor(...how) {
        super(...how);
        this.addEventListener("message", ({ data }) => globalThis.statuses.push(data.status));
      }
    };
  };
  const abort = (request) => {
    const aborts = new AbortController();
    const call = globalThis.engine.translate(request, { signal: aborts.signal });
    aborts.abort();
    return call.catch(({ name }) => name);
  };
  try {
    await visit(`${own.url}/`, async (page) => {
      await page.evaluate(statuses);
      await page.evaluate(openEngine, ["--workers=1", "--rows=1"]);
      assert.ok(await page.evaluate(inTurn, LONG));
      const text = Array.from({ length: 64 }, (_, i) => `The ${i + 2} houses that my father built are small.`);
      assert.equal(await page.evaluate(abort, { ...LONG, text }), "AbortError");
      await becomes(page, () => globalThis.statuses.includes(499));
      await page.evaluate(closeEngine);
      await page.evaluate(openEngine, ["--workers=2", "--rows=1"]);
      for (const end = Date.now() + PATIENCE_MS; await page.evaluate(inTurn, LONG);)
        assert.ok(Date.now() < end, "one sentence was decoded after the other");
    });
  } finally {
    own.stop();
  }
});

for (const [where, headers] of WAYS)
  test(`the package: events come as tokens are decided, ${where}`, async () => {
    const own = await serve({ "/": pageOf(""), "/alignd/": packed, "/en-fr/": MODEL }, headers);
    const request = { text: SENTENCE, strategy: "greedy", include: ["tokens"] };
    const stream = async (asked) => {
      const events = [], { engine } = globalThis;
      for await (const event of engine.stream("translate", asked))
        events.push(event);
      for await (const [name] of engine.stream("translate", asked))
        if (name === "token") break;
      const fails = await engine.stream("translate", { text: 3 }).next().catch(({ status, field }) => [status, field]);
      return { events, whole: await engine.translate(asked), fails };
    };
    try {
      await visit(`${own.url}/`, async (page) => {
        await page.evaluate(openEngine, []);
        const { events, whole, fails } = await page.evaluate(stream, request);
        const tokens = events.filter(([name]) => name === "token");
        assert.equal(tokens.map(([, token]) => token.text).join(""), whole.translations[0].text);
        assert.deepEqual(tokens.map(([, { token }]) => token), whole.translations[0].sentences[0].tokens);
        assert.deepEqual(events.slice(tokens.length).map(([name]) => name), ["sentence", "result"]);
        assert.deepEqual(events.at(-1)[1], whole);
        assert.deepEqual(fails, [400, "text"]);
      });
    } finally {
      own.stop();
    }
  });

const BELOW = "/~me/attention/";
const checkSize = ({ asked }, context) => {
  const bytes = [...new Set(asked)].filter((path) => !path.includes("/en-fr/"))
    .map((path) => readFileSync(join(site, path.slice(BELOW.length))))
    .reduce((sum, content) => sum + Math.min(content.length, gzipSync(content, { level: 9 }).length), 0);
  context.diagnostic(`${bytes} bytes compressed, without the model, in ${asked.length} files`);
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`);
};
const tabs = (page) => page.locator(".tabs [role=tab]:visible").evaluateAll((list) => list.map(({ id }) => id));

test("make static: below a path of a static host, the page translates and draws as with a daemon", async (context) => {
  const own = await serve({ [BELOW]: site });
  try {
    let arrive;
    const later = new Promise((resolve) => { arrive = resolve; });
    const before = (page) => page.route("**/model.safetensors", async (route) => {
      await later;
      await route.continue();
    });
    await visit(`${own.url}${BELOW}`, async (page) => {
      await page.locator("#status", { hasText: "The model is loading" }).waitFor();
      arrive();
      await page.locator("#text").fill(SENTENCE);
      const expected = await ask(SENTENCE);
      await becomes(page, (text) => document.getElementById("result").textContent.trim() === text, expected.text);
      await becomes(page, (text) => document.getElementById("view").result?.text === text, expected.text);
      same(await drawn(page), expected);
      for (const id of await tabs(page)) {
        await page.locator(`#${id}`).click();
        await page.locator("#panel > *").first().waitFor();
        await becomes(page, () => !document.querySelector("#panel[aria-busy=true], #panel .wait, #panel progress"));
        assert.deepEqual(await page.locator("#panel .error:visible").allTextContents(), [], id);
      }
      /* a file, here, too */
      await page.locator("#file").setInputFiles({ name: "two.srt", mimeType: "text/plain",
        buffer: Buffer.from("1\n00:00:01,000 --> 00:00:02,000\nI like snow.\n") });
      await page.locator("#save-file", { hasText: "two.fr.srt" }).waitFor();
      await page.locator("#files td", { hasText: "J'aime la neige." }).waitFor();
      /* what only a daemon has */
      assert.equal(await page.locator(".top nav a:visible").count(), 0);
      assert.equal(await page.locator("#from optgroup, #to optgroup").count(), 0);
      assert.equal(await page.getByText("curl").count(), 0);
      await page.locator("#swap").click();
      await page.locator("#missing", { hasText: "No model here translates French to English." }).waitFor();
      assert.equal(await page.locator("#missing pre").count(), 0);
    }, { before });
    assert.deepEqual(own.missed, []);
    checkSize(own, context);
  } finally {
    own.stop();
  }
});

/* Records each text that an element shows, as globalThis.shown. */
const record = (id) => {
  const node = document.getElementById(id);
  globalThis.shown = [];
  new MutationObserver(() => globalThis.shown.push(node.textContent.trim()))
    .observe(node, { childList: true, characterData: true, subtree: true });
};

for (const [where, headers, script] of WAYS)
  test(`make static: words are shown as they are decided, ${where}`, async (context) => {
    const own = await serve({ [BELOW]: site }, headers);
    try {
      await visit(`${own.url}${BELOW}#s=greedy`, async (page) => {
        const { text } = await ask(SENTENCE, { strategy: "greedy" });
        await page.evaluate(record, "status");
        await page.locator("#text").fill(SENTENCE);
        await becomes(page, (whole) => document.getElementById("result").textContent.trim() === whole, text);
        const parts = (await page.evaluate(() => globalThis.shown)).filter((part) => part && part !== text);
        assert.ok(parts.filter((part) => text.startsWith(part)).length > 2, JSON.stringify(parts));
      }, { others: [own.url] });
      assert.deepEqual(new Set(own.asked.filter((path) => /engine[a-z-]*\.js$/.test(path))),
        new Set([`${BELOW}page/engine.js`, `${BELOW}engine/${script}`]));
      checkSize(own, context);
    } finally {
      own.stop();
    }
  });

for (const [where, headers, script] of WAYS)
  test(`the element asks the engine of another origin, and asks it again, ${where}`, async () => {
    const host = await serve({ [BELOW]: site }, { "Access-Control-Allow-Origin": "*" }), at = `${host.url}${BELOW}`;
    const own = await serve({ "/": pageOf(`<script type="module" src="${at}embed.js"></script><alignd-attention id="view"
      engine="${at}engine/index.js" model="${at}en-fr/" text="${SENTENCE}"></alignd-attention>`) }, headers);
    try {
      await visit(`${own.url}/`, async (page) => {
        const expected = await ask(SENTENCE);
        await becomes(page, (text) => document.getElementById("view").result?.text === text, expected.text);
        same(await drawn(page), expected);
        /* another word at the second token */
        const second = page.locator("alignd-attention .target .unit").nth(1);
        await second.click();
        await page.locator("alignd-attention #see").click();
        await page.locator("alignd-attention .popover button:not(:disabled)").first().click();
        await becomes(page, (text) => document.getElementById("view").result.text !== text, expected.text);
        await page.locator("#view").evaluate((view) => view.setAttribute("model", "none/"));
        await page.locator("alignd-attention .message.wrong", { hasText: "none/manifest.json" }).waitFor();
      }, { others: [host.url], expected: /404/ });
      assert.ok(host.asked.includes(`${BELOW}engine/${script}`));
    } finally {
      own.stop();
      host.stop();
    }
  });

test("a React page without a server, made by Vite", async () => {
  const source = join(work, "react"), out = join(work, "built"), installed = join(work, "node_modules");
  mkdirSync(join(installed, "alignd-attention"), { recursive: true });
  const [made] = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", work],
    { cwd: "server/page/npm", encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  execFileSync("tar", ["-xzf", join(work, made.filename), "-C", join(installed, "alignd-attention"),
    "--strip-components", "1"]);
  for (const name of ["react", "react-dom", "scheduler"])
    symlinkSync(join(modules, name), join(installed, name));
  cpSync("tests/page/sites/engine", source, { recursive: true });
  const { build } = await import(pathToFileURL(join(modules, "vite/dist/node/index.js")));
  await build({ root: source, base: "./", logLevel: "error", esbuild: { jsx: "automatic" }, build: { outDir: out } });
  const own = await serve({ "/lecture/": out, "/lecture/alignd/": packed, "/lecture/en-fr/": MODEL });
  try {
    await visit(`${own.url}/lecture/`, async (page) => {
      await page.locator("alignd-attention .target .unit", { hasText: /^maison$/ }).click();
      await page.locator("output", { hasText: "maison" }).waitFor();
      await page.locator("textarea").fill("I like snow.");
      await page.locator("alignd-attention .target .unit", { hasText: /^neige$/ }).waitFor();
    });
    assert.deepEqual(own.missed, []);
  } finally {
    own.stop();
  }
});
