/* Debian's chromium in front of a daemon, for the tests and the screenshots of the page: its headless shell, for
 * which a test costs half of what it costs the whole browser. CHROMIUM=FILE: another one. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { startDaemon } from "../clients/daemon.mjs";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const program = process.argv[2] ?? "build/alignd";
export const shipped = ["weights/en-fr", "weights/fr-en", "weights/geoquery"];
export const sentence = "She gave him the book that he had lost.";
/* A host name that resolves to this machine but is not its own. */
export const STRANGE = "strange.example";
export const views = ["map", "confidence", "ask", "beam", "compare", "diagnostics", "step", "why", "links", "corpus",
  "export"];

/* SLOW=N: slow pages down N times, and delay each reply, a script that a view brings along, too, by up to LATE_MS. This
 * finds places where the page or a test relies on timing. */
const SLOW = Number(process.env.SLOW ?? 0), LATE_MS = 800;
/* Allows for a busy machine: a bound, not a measurement. */
export const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? (SLOW ? 240000 : 60000));

let browser, own, begun;

/* Start the daemon with the shipped models, and the browser, once. */
export const begin = () => (begun ??= start());
async function start() {
  own = await startDaemon(program, shipped);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: [`--host-resolver-rules=MAP ${STRANGE} 127.0.0.1`, ...(process.getuid() === 0 ? ["--no-sandbox"] : [])] });
}

export async function end() {
  await browser?.close();
  own?.stop();
}

export const address = () => own.url;
/* Reply of the daemon to a POST. */
export const ask = async (path, body) =>
  (await fetch(`${own.url}${path}`, { method: "POST", body: JSON.stringify(body) })).json();
export const link = (fields) => `#${new URLSearchParams({ t: sentence, m: "en-fr", ...fields })}`;

/* Defined in every page: deep(selector), all matching elements, also within shadow trees; deepFocus(), the element with
 * the focus. */
function seeThrough() {
  const roots = (root) =>
    [root, ...[...root.querySelectorAll("*")].flatMap((node) => (node.shadowRoot ? roots(node.shadowRoot) : []))];
  window.deep = (selector) => roots(document).flatMap((root) => [...root.querySelectorAll(selector)]);
  window.deepFocus = () => {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return node;
  };
}

/* FILES=FOLDER: serve the page from the files there, not from those built into the program. */
const TYPES = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };
const POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
const fromFiles = (context) => context.route((url) => /^\/(page\/[\w.-]+|embed\.js|)$/.test(url.pathname), (route) => {
  const path = new URL(route.request().url()).pathname, name = basename(path) || "index.html";
  if (!existsSync(join(process.env.FILES, name)) || !/^http:\/\/127/.test(route.request().url()))
    return route.fallback();
  return route.fulfill({ path: join(process.env.FILES, name),
    contentType: `${TYPES[name.split(".").at(-1)]}; charset=utf-8`, headers: { "Content-Security-Policy": POLICY,
    "Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache" } });
});

async function slowDown(context, page) {
  await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: SLOW });
  await context.route(() => true, async (route) => {
    await new Promise((later) => setTimeout(later, LATE_MS * Math.random()));
    await route.fallback().catch(() => {}); /* the page is closed */
  });
}

/* Run body(page) in a new page. Console errors and warnings, and requests to other hosts, fail the test, except those
 * that `expected` matches. before(page) runs before the page is loaded; daemon: another than that of the shipped
 * models, or a site; also: other origins that the page may request. TRIES=2 retries once after a failure, and prints
 * it. */
export async function visit(hash, body, how = {}) {
  for (let tries = Number(process.env.TRIES ?? 1); ; tries--) {
    try {
      return await visitOnce(hash, body, how);
    } catch (error) {
      if (tries <= 1) throw error;
      console.log(`# again, because of: ${error.stack}`.replaceAll("\n", "\n#   "));
    }
  }
}
async function visitOnce(hash, body,
  { width = 1024, height = 900, theme = "light", expected, before, daemon = own, also = [], ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce",
    acceptDownloads: true, ...more });
  const page = await context.newPage(), wrong = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrong.push(message.text()); });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && ![daemon.url, ...also].includes(new URL(request.url()).origin))
      wrong.push(`request to ${request.url()}`);
  });
  page.setDefaultTimeout(PATIENCE_MS);
  if (process.env.FILES && daemon.stop) await fromFiles(context);
  if (SLOW) await slowDown(context, page);
  await page.addInitScript(seeThrough);
  try {
    await before?.(page);
    await page.goto(`${daemon.url}/${hash}`);
    await body(page);
    assert.deepEqual(wrong.filter((text) => !expected?.test(text)), []);
  } finally {
    await context.close();
  }
}

/* Inject axe, which violations() does by itself if need be. The context needs bypassCSP. */
export const startAxe = (page) => page.evaluate(axe);
/* Violations that axe finds; of some rules: rules. */
export async function violations(page, rules) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await startAxe(page);
  return page.evaluate(async (rules) => {
    const found = await window.axe.run({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
    return found.violations.map(({ id, nodes: [first] }) => `${id}: ${first.html} ${first.failureSummary}`);
  }, rules);
}
/* The rules that colours decide. */
export const COLOURS = ["color-contrast", "link-in-text-block"];

/* Open "How it decodes". */
export async function how(page) {
  if (!(await page.locator("#how").evaluate((node) => node.open))) await page.locator("#how summary").click();
}
export async function set(page, name, value) {
  await how(page);
  await page.locator(`#${name}`).selectOption(value);
}
/* Until the view's module is there: views are loaded when they are first opened. */
export const opened = (page) => page.locator("#panel > .wait").waitFor({ state: "detached" });
export async function translated(page) {
  await page.locator(".target .unit").first().waitFor();
  await opened(page);
}
export async function openTab(page, name) {
  await page.locator(`#tab-${name}`).click();
  await opened(page);
}
export const text = (locator) => locator.evaluate((node) => node.textContent);
export const target = (page, word) => page.locator(".target .unit", { hasText: new RegExp(`^${word}$`) }).first();
/* Words only, without </s>. */
export const sourceWords = (page) => page.locator(".source .unit:not(.end)");
export const source = (page, word) => page.locator(".source .unit", { hasText: new RegExp(`^${word}$`) }).first();
/* Wait until the assertions of check() hold: the page may not have drawn its last change or received its answer yet. */
export async function becomes(check) {
  for (const end = Date.now() + PATIENCE_MS; ;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((later) => setTimeout(later, 20));
    }
  }
}
/* Wait until a test in the page is true. page.waitForFunction() evaluates a string on every try but the first, which
 * the page's policy forbids. */
export const holds = (page, test, argument) =>
  becomes(async () => assert.ok(await page.evaluate(test, argument), `${test}`));
/* Point at an element until it is under the pointer, because the layout may still move it. check(): as for becomes(),
 * while the element is pointed at. */
export const point = (locator, check = () => {}) => becomes(async () => {
  await locator.hover();
  assert.ok(await locator.evaluate((node) =>
    new Promise((settled) =>
    requestAnimationFrame(() => requestAnimationFrame(() => settled(node.matches(":hover")))))));
  await check();
});
/* Change the width, and wait until the page has redrawn everything for it. */
export async function widen(page, width) {
  await page.setViewportSize({ width, height: 900 });
  await holds(page, () => {
    const panel = document.getElementById("panel");
    return !panel?.checkVisibility() || Number(panel.dataset.width) === innerWidth;
  });
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}
/* Assert that the page is not wider than its window. */
export const fits = (page, what = "") => holds(page, () => document.documentElement.scrollWidth <= innerWidth)
  .catch(() => assert.fail(`wider than the window: ${what}`));
/* The link as the page has it; page.url() is updated later. */
export const hashOf = (page) => page.evaluate(() => location.hash);
/* Content of the file that a button saves. */
export async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download"),
    page.getByRole("button", { name, exact: true }).click()]);
  return readFileSync(await download.path());
}
