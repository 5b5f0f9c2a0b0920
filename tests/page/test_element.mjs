/* <alignd-attention> in other people's pages: from a server of another origin, and from the npm package in a Vite page
 * and a React page. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync,
  symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { address, ask, becomes, begin, holds, openTab, point, text, violations, visit } from "./browser.mjs";

const here = dirname(fileURLToPath(import.meta.url)), PACKAGE = "server/page/npm",
  TYPES = { ".html": "text/html", ".js": "text/javascript", ".json": "application/json" };
const SENTENCE = "Where is the train station?";
const include = ["tokens", "log_probs", "attention", "soft_alignment", "alignment", "words", "offsets", "entropy",
  "top_k", "eos"];
let folder, reply;

/* A site that serves files: {url, stop}. find(path): content of a path, or undefined. */
async function serve(find) {
  const server = createServer((request, response) => {
    const path = request.url === "/" ? "/index.html" : request.url, content = find(path);
    response.writeHead(content === undefined ? 404 : 200, { "Content-Type": TYPES[extname(path)] ?? "text/plain" });
    response.end(content);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}
/* Visit a site whose page may request only itself and the daemon. */
async function open(find, body, options = {}) {
  const site = await serve(find);
  try {
    await visit("", body, { daemon: { url: site.url }, also: [address()], ...options });
  } finally {
    site.stop();
  }
}
const fileIn = (root) => (path) => (path === "/reply.json" ? JSON.stringify(reply) : existsSync(join(root, path))
  ? readFileSync(join(root, path)) : undefined);

before(async () => {
  await begin();
  folder = mkdtempSync(join(tmpdir(), "alignd-page-"));
  reply = await ask("/attention", { text: SENTENCE, model: "en-fr", include });
  const [made] = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", folder],
    { cwd: PACKAGE, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const packed = join(folder, "node_modules", "alignd-attention");
  mkdirSync(packed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, made.filename), "-C", packed, "--strip-components", "1"]);
  for (const name of ["react", "react-dom", "scheduler"])
    symlinkSync(join(here, "node_modules", name), join(folder, "node_modules", name));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/* Check the words that the element shows, and its hint when one is pointed at. */
async function works(page) {
  await page.locator("alignd-attention .target .unit").first().waitFor();
  const { words, text: whole } = reply.results[0].sentences[0];
  assert.deepEqual(await page.locator("alignd-attention .target .unit").first()
    .evaluate((node) => [...node.getRootNode().querySelectorAll(".target .unit")].map((unit) => unit.textContent)),
    words.target);
  assert.equal(await text(page.locator("alignd-attention .line.target").first()), whole);
  await point(page.locator("alignd-attention .target .unit", { hasText: /^gare$/ }).first(),
    async () => assert.match(await text(page.locator("alignd-attention .hint").first()),
    /^gare is aligned with station/));
}

test("element: in a plain page of another origin, which asks the server, and is given a result",
  () => open(() => readFileSync(join(here, "sites", "plain.html"), "utf8").replaceAll("SERVER", address()),
  async (page) => {
  await works(page);
  await page.evaluate((given) => {
    window.told = [];
    const view = document.getElementById("given");
    view.result = given;
    for (const name of ["wordselect", "force", "alternative"])
      document.addEventListener(name, ({ detail }) => window.told.push([name, detail]));
  }, reply);
  const map = page.locator("#given svg.map");
  await map.waitFor();
  assert.equal(await map.locator("rect").nth(1).getAttribute("fill")
    .then((fill) => parseInt(fill.slice(1, 3), 16) < 0x60 || parseInt(fill.slice(1, 3), 16) > 0x90), true);
  /* Ink of the dark theme. */
  assert.equal(await page.locator("#given .side").evaluate((node) => getComputedStyle(node).color),
    "rgb(236, 235, 242)");

  /* Make a step look elsewhere: the element itself sends the request. */
  const word = page.locator("#asks .target .unit").nth(2);
  await word.click();
  await page.locator("#asks .source .unit").nth(0).click();
  await holds(page, () => window.told.some(([name]) => name === "force"));
  const [[, chosen], [, force]] = await page.evaluate(() => window.told);
  assert.deepEqual([chosen.side, chosen.index, chosen.text], ["target", 2, "la"]);
  const weights = reply.results[0].sentences[0].source_tokens.map((_, j) => (force.tokens.includes(j) ? 1 : 0));
  const other = (await ask("/attention", { text: SENTENCE, model: "en-fr", split_sentences: false,
    force_attention: force.steps.map((step) => ({ step, weights })) })).results[0].text;
  await holds(page, (wanted) => document.getElementById("asks").result.text === wanted, other);

  await page.locator("#asks").evaluate((view) => view.setAttribute("text", "I am cold.")); /* sends a new request */
  await page.locator("#asks .source .unit", { hasText: "cold" }).waitFor();
  await page.locator("#asks .target .unit").first().focus();
  await page.locator("#asks").evaluate((view) => view.setAttribute("translation", "Moi je suis froid."));
  await page.locator("#asks .target .unit", { hasText: "Moi" }).waitFor();
  await page.keyboard.press("ArrowRight"); /* redrawing has kept the focus */
  assert.equal(await page.evaluate(() => window.deepFocus().textContent), "je");
  await page.locator("#asks").evaluate((view) => view.setAttribute("model", "none"));
  await page.locator("#asks .message.wrong").waitFor();
}, { expected: /400/ }));

test("element: no violations that axe finds, in each view, both themes",
  () => open(() => readFileSync(join(here, "sites", "plain.html"), "utf8").replaceAll("SERVER", address()),
  async (page) => {
  await works(page);
  const heads = { cross: [[reply.results[0].sentences[0].attention, reply.results[0].sentences[0].attention]] };
  for (const theme of ["light", "dark"]) {
    for (const view of ["threads", "map", "lines", "table", "heads"]) {
      await page.evaluate(([answer, heads, theme, view]) => {
        document.documentElement.style.background = theme === "dark" ? "#131218" : "#faf9f6";
        document.querySelector("h1").style.color = theme === "dark" ? "#fff" : "#000";
        for (const node of document.querySelectorAll("alignd-attention")) {
          node.setAttribute("theme", theme);
          node.setAttribute("view", view);
          node.result = { ...answer, sentences: answer.sentences.map((s) => ({ ...s, heads })) };
        }
      }, [reply.results[0], heads, theme, view]);
      await becomes(async () => {
        assert.equal(await page.locator("#given svg.map").count(), { threads: 0, table: 0 }[view] ?? 1, view);
        assert.equal(await page.locator("#given .grid canvas").count(), view === "heads" ? 2 : 0, view);
      });
      assert.deepEqual((await violations(page)).filter((found) => !/^(landmark|region|html|page)/.test(found)), [],
        `${theme} ${view}`);
    }
  }
}, { bypassCSP: true }));

test("element: it is light on a page that declares no color-scheme, and follows one that does",
  () => open(() => readFileSync(join(here, "sites", "plain.html"), "utf8").replaceAll("SERVER", address()),
  async (page) => {
  await works(page);
  const ink = () => page.locator("#asks .line.target").first().evaluate((node) => getComputedStyle(node).color);
  assert.equal(await ink(), "rgb(29, 28, 36)"); /* the system is dark, but the page is white */
  for (const [scheme, expected] of [["dark", "rgb(236, 235, 242)"], ["light", "rgb(29, 28, 36)"],
    ["light dark", "rgb(236, 235, 242)"]]) {
    await page.evaluate((name) => {
      document.documentElement.style.colorScheme = name;
      const view = document.getElementById("asks");
      view.setAttribute("view", "map");
      view.draw();
      view.setAttribute("view", "threads");
      view.draw();
    }, scheme);
    assert.equal(await ink(), expected, scheme);
  }
  await page.evaluate((given) => Object.assign(document.getElementById("given"), { result: given }), reply);
  await page.evaluate(() => {
    document.documentElement.style.colorScheme = "";
    document.getElementById("given").removeAttribute("theme");
  });
  await page.locator("#given .pane").first().waitFor();
  /* White like the page, not beige. */
  await holds(page, () => /rgb\(255, 255, 255\)/.test(getComputedStyle(window.deep("#given .pane, .pane").at(-1))
    .backgroundImage));
}, { theme: "dark" }));

test("element: an answer without words, alignment and alternatives is drawn, too",
  () => open(() => readFileSync(join(here, "sites", "plain.html"), "utf8").replaceAll("SERVER", address()),
  async (page) => {
  await works(page);
  const bare = await ask("/attention", { text: SENTENCE, model: "en-fr", include: ["tokens", "attention", "offsets"] });
  await page.evaluate((given) => Object.assign(document.getElementById("given"), { result: given, view: "threads" }),
    bare);
  await page.locator("#given .target .unit", { hasText: /^gare$/ }).waitFor();
  await page.locator("#given .target .unit", { hasText: /^gare$/ }).click();
  assert.equal(await page.locator("#given #see").count(), 0);
}));

for (const name of ["vite", "react"]) {
  test(`element: npm pack, in a ${name} page`, async () => {
    const source = join(folder, name), out = join(folder, `${name}-built`);
    cpSync(join(here, "sites", name), source, { recursive: true });
    const { build } = await import("vite");
    await build({ root: source, base: "./", logLevel: "error", esbuild: { jsx: "automatic" },
      build: { outDir: out, target: "es2020" } });
    await open(fileIn(out), async (page) => {
      await works(page);
      await page.locator("alignd-attention .target .unit", { hasText: /^gare$/ }).click();
      if (name === "react") await page.locator("#word", { hasText: "gare" }).waitFor();
      else assert.equal(await page.title(), "gare");
    });
  });
}

/* A stand-in for a notebook's model: traits, and listeners for their changes. */
test("element: as a module of anywidget",
  () => open((path) =>
  (path === "/index.html"
  ? "<!doctype html><html lang=en><title>Notebook</title><link rel=icon href=data:,><div id=cell></div></html>"
  : fileIn(join(folder, "node_modules", "alignd-attention"))(path)), async (page) => {
  await page.evaluate(async (result) => {
    const traits = { result, view: "threads", text: "" }, listeners = new Map();
    window.notebook = { get: (name) => traits[name], on: (name, act) => listeners.set(name, act),
      off: (name) => listeners.delete(name), saved: 0, save_changes() { this.saved++; }, count: () => listeners.size,
      set(name, value) { traits[name] = value; listeners.get(`change:${name}`)?.(); } };
    const { default: widget } = await import("/widget.js");
    window.leave = widget.render({ model: window.notebook, el: document.getElementById("cell") });
  }, reply);
  await works(page);
  await page.locator("alignd-attention .target .unit", { hasText: /^gare$/ }).click();
  assert.deepEqual(await page.evaluate(() => [window.notebook.get("selected").text, window.notebook.saved]),
    ["gare", 1]);
  await page.evaluate(() => window.notebook.set("view", "map"));
  await page.locator("alignd-attention svg.map").waitFor();
  assert.equal(await page.evaluate(() => { window.leave(); return window.notebook.count(); }), 0);
}));

/* A stored reply, on a dark page that declares no color-scheme: the text's contrast is that of a page, and the ground
 * under the names is the page's. */
test("element: src draws a stored reply, legibly on a dark page that declares no color-scheme", () =>
  open((path) => (path === "/index.html"
  ? "<!doctype html><html lang=en><title>Dark</title><link rel=icon href=data:,>"
    + "<style>body { background: #20202a; color: #eee }</style>"
    + "<script type=module src=/element.js></script><alignd-attention src=reply.json></alignd-attention>"
  : path === "/reply.json" ? JSON.stringify(reply)
  : fileIn(join(folder, "node_modules", "alignd-attention", "src"))(path)), async (page) => {
  await page.locator("alignd-attention .target .unit", { hasText: /^gare$/ }).waitFor();
  const [ink, ground] = await page.evaluate(() => {
    const view = document.querySelector("alignd-attention");
    return [getComputedStyle(view).color, getComputedStyle(view.shadowRoot.querySelector(".body"))
      .getPropertyValue("--paper")];
  });
  assert.ok(ink.match(/\d+/g).every((channel) => channel > 200), ink);
  assert.equal(ground, "rgb(32, 32, 42)");
}));

/* The README's examples, each in the language of its framework, and beside it one with a detail that does not exist. */
const FRAMEWORKS = {
  ts: ["plain.ts", ["typescript/bin/tsc"]],
  tsx: ["react.tsx", ["typescript/bin/tsc"]],
  vue: ["App.vue", ["vue-tsc/bin/vue-tsc.js"]],
  svelte: ["App.svelte", ["svelte-check/bin/svelte-check", "--tsconfig", "./tsconfig.json"]],
};
for (const [language, [file, [tool, ...options]]] of Object.entries(FRAMEWORKS)) {
  test(`element: the README's example for ${language} has the right types`, () => {
    /* svelte-check reports nothing of files within a folder called node_modules */
    const svelte = language === "svelte", place = svelte ? join(folder, "types")
      : join(here, "node_modules", ".cache", `types-${language}`), installed = join(place, "node_modules");
    rmSync(place, { recursive: true, force: true });
    mkdirSync(installed, { recursive: true });
    cpSync(join(folder, "node_modules", "alignd-attention"), join(installed, "alignd-attention"), { recursive: true });
    if (svelte) symlinkSync(join(here, "node_modules", language), join(installed, language));
    const [, example] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``)
      .exec(readFileSync("server/page/npm/README.md", "utf8"));
    writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ include: [file, `wrong-${file}`], compilerOptions: {
      strict: true, noEmit: true, target: "es2022", module: "esnext", moduleResolution: "bundler", jsx: "react-jsx",
      types: [], lib: ["es2022", "dom", "dom.iterable"], skipLibCheck: language !== "ts",
      verbatimModuleSyntax: language !== "ts" } }));
    writeFileSync(join(place, file), example);
    writeFileSync(join(place, `wrong-${file}`), example.replace("detail.text", "detail.txt"));
    const { stdout, stderr } = spawnSync(process.execPath, [join(here, "node_modules", tool), ...options],
      { cwd: place, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
    assert.deepEqual([...stdout.matchAll(/^.*?([\w.-]+)[(:][\d,:]+\)?:?\s+error.*'(\w+)' does not exist/gim)]
      .map(([, where, what]) => [where, what]), [[`wrong-${file}`, "txt"]], stdout + stderr);
    assert.equal(stdout.match(/\berror\b(?! and)/gi).length, 1, stdout);
  });
}

test("element: the package has what it names, and it stays small", async () => {
  const packed = join(folder, "node_modules", "alignd-attention"),
    manifest = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"));
  for (const name of manifest.files) assert.ok(existsSync(join(packed, name)), name);
  assert.ok(existsSync(join(packed, "README.md")));
  const { observedAttributes } = await elementClass(packed),
    described = JSON.parse(readFileSync(join(packed, "custom-elements.json"), "utf8")).modules[0].declarations[0];
  assert.deepEqual(described.attributes.map((one) => one.name).sort(), [...observedAttributes].sort());
  for (const name of observedAttributes)
    assert.ok(readFileSync(join(packed, "README.md"), "utf8").includes(`| \`${name}\` |`), name);
  const whole = readdirSync(join(packed, "src")).map((name) => readFileSync(join(packed, "src", name)));
  const bytes = gzipSync(Buffer.concat(whole)).length;
  console.log(`# the element: ${bytes} bytes compressed`);
  assert.ok(bytes < 42000, `${bytes} bytes`);
});

/* [path, uncompressed size] of the page's own files that the browser has loaded. */
const loaded = (page) => page.evaluate(() => [...performance.getEntriesByType("navigation"),
  ...performance.getEntriesByType("resource").filter(({ name }) => new URL(name).pathname.startsWith("/page/"))]
  .map(({ name, decodedBodySize }) => [new URL(name).pathname, decodedBodySize]));

test(
  "element: what a first visit loads stays small, and so do all files together; other views are loaded when they are " +
    "opened", () => visit("", async (page) => {
  await page.locator("#panel .map").waitFor();
  await page.waitForLoadState("networkidle");
  /* docs and models are pages of their own. */
  const first = await loaded(page), sum = (list) => list.reduce((total, [, size]) => total + size, 0),
    served = readdirSync(dirname(PACKAGE)).filter((name) => /\.(html|css|js|svg)$/.test(name)
    && !/^(docs|models)\./.test(name));
  const sent = async (name) =>
    (await (await fetch(`${address()}${{ "index.html": "/", "embed.js": "/embed.js" }[name] ?? `/page/${name}`}`))
    .arrayBuffer()).byteLength;
  const sizes = await Promise.all(served.map(async (name) => [name, await sent(name)])),
    spoken = sizes.filter(([name]) => /^[a-z]{2}\.js$/.test(name)), all = sizes.filter((one) => !spoken.includes(one)),
    names = first.map(([path]) => basename(path));
  console.log(
    `# the page: ${sum(first)} bytes at first, ${sum(all)} in all, uncompressed; a language: ${spoken.map(([, size]) => size)}`);
  assert.ok(names.includes("app.js") && names.includes("element.js"), `${names}`);
  assert.ok(sum(first) < 150000, `${sum(first)} bytes`);
  assert.ok(sum(all) < 250000, `${sum(all)} bytes`);
  /* A reader loads at most one language. */
  for (const [name, size] of spoken) assert.ok(size < 32000, `${name}: ${size} bytes`);
  for (const [view, file, mark] of [["export", "export.js", "pre"], ["why", "why.js", "#loss-map"],
    ["links", "links.js", "#links-map"], ["corpus", "corpus.js", ".drop"]]) {
    assert.ok(!names.includes(file), file);
    await openTab(page, view);
    await page.locator(`#panel ${mark}`).waitFor();
    assert.ok((await loaded(page)).some(([path]) => basename(path) === file), file);
  }
}));

const ts = createRequire(import.meta.url)("typescript");
/* The leaves of a script's syntax tree; style sheets in templates without spaces and comments. */
function leaves(code) {
  const list = [];
  (function walk(node) {
    const { FirstTemplateToken: first, LastTemplateToken: last } = ts.SyntaxKind, says = node.getText();
    list.push(node.getChildCount() > 0 ? node.kind : node.kind < first || node.kind > last ? says
      : says.replace(/\/\*[^*]*\*\/|\s/g, "").replaceAll(";}", "}"));
    node.getChildren().filter(({ kind }) => kind !== ts.SyntaxKind.JSDoc).forEach(walk);
  })(ts.createSourceFile("x.js", code, ts.ScriptTarget.Latest, true));
  return list;
}
test("element: each script is sent as it was written, without spaces and comments", async () => {
  const pages = dirname(PACKAGE);
  assert.deepEqual(leaves('a = b - -c; /* c */ d = "e - f" + `g h`;'), leaves('a=b- -c;d="e - f"+`g h`;'));
  assert.notDeepEqual(leaves("a = b - -c;"), leaves("a=b--c;"));
  assert.notDeepEqual(leaves('a = "b = c";'), leaves('a="b=c";'));
  for (const name of readdirSync(pages).filter((one) => one.endsWith(".js"))) {
    const sent = await (await fetch(`${address()}${name === "embed.js" ? "/embed.js" : `/page/${name}`}`)).text();
    assert.deepEqual(leaves(sent), leaves(readFileSync(join(pages, name), "utf8")), name);
  }
});

test("element: a view that cannot be loaded says so, and is loaded when it is tried again",
  () => visit("", async (page) => {
  await page.locator("#panel .map").waitFor();
  await page.route("**/page/why.js", (route) => route.abort());
  await openTab(page, "why");
  await page.locator("#panel .error", { hasText: "The server cannot be reached." }).waitFor();
  await page.unroute("**/page/why.js");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator("#loss-map").waitFor();
}, { expected: /ERR_FAILED/ }));

/* The element's class, loaded without a browser. */
async function elementClass(packed) {
  copyFileSync(join(packed, "package.json"), join(packed, "src", "package.json"));
  Object.assign(globalThis, { HTMLElement: class {}, ResizeObserver: class {}, customElements: { get: () => true },
    matchMedia: () => ({}) });
  return (await import(join(packed, "src", "element.js"))).AligndAttention;
}
