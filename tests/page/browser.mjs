/* Debian's chromium before a daemon, for the tests of the page and for its pictures. */
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
/* A name of this machine that is not its own. */
export const STRANGE = "strange.example";
export const views = ["map", "confidence", "ask", "beam", "compare", "diagnostics", "why", "links", "corpus", "export"];

/* SLOW=N: pages have one Nth of a processor, and each answer comes up to this much later. It finds what the page or
 * a test takes for granted too early. */
const SLOW = Number(process.env.SLOW ?? 0), LATE_MS = 800;
/* A machine that does much else; a bound, not a measure. */
export const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? (SLOW ? 240000 : 60000));

let browser, own, begun;

/* The daemon of the shipped models and the browser, started once. */
export const begin = () => (begun ??= start());
async function start() {
  own = await startDaemon(program, shipped);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [`--host-resolver-rules=MAP ${STRANGE} 127.0.0.1`, ...(process.getuid() === 0 ? ["--no-sandbox"] : [])] });
}

export async function end() {
  await browser?.close();
  own?.stop();
}

export const address = () => own.url;
/* What the daemon answers to a POST. */
export const ask = async (path, body) =>
  (await fetch(`${own.url}${path}`, { method: "POST", body: JSON.stringify(body) })).json();
export const link = (fields) => `#${new URLSearchParams({ t: sentence, m: "en-fr", ...fields })}`;

/* In every page: deep(selector), all elements within shadow trees, too; deepFocus(), the one that has the focus. */
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

/* FILES=FOLDER: the page as its files are there, not as they were built into the program. */
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
  await context.route((url) => !/^\/(page\/|embed\.js|$)/.test(url.pathname), async (route) => {
    await new Promise((later) => setTimeout(later, LATE_MS * Math.random()));
    await route.fallback().catch(() => {}); /* the page has gone */
  });
}

/* A page of its own: body(page). Errors of the console and requests to other hosts fail the test, but for those that
 * `expected` matches. before(page) runs before the page is loaded; daemon: another than that of the shipped models,
 * or a site; also: the other origins that it may ask. TRIES=2 visits once more after a failure, and prints it. */
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

/* Before violations(); the context needs bypassCSP. */
export const startAxe = (page) => page.evaluate(axe);
/* What axe finds. */
export async function violations(page) {
  if (!(await page.evaluate(() => window.axe))) await startAxe(page);
  const found = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  return found.violations.map((v) => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`);
}

/* Opens "How it decodes", and chooses there. */
export async function how(page) {
  if (!(await page.locator("#how").evaluate((node) => node.open))) await page.locator("#how summary").click();
}
export async function set(page, name, value) {
  await how(page);
  await page.locator(`#${name}`).selectOption(value);
}
export const translated = (page) => page.locator(".target .unit").first().waitFor();
export const text = (locator) => locator.evaluate((node) => node.textContent);
export const target = (page, word) => page.locator(".target .unit", { hasText: new RegExp(`^${word}$`) }).first();
/* Words: </s> is not one. */
export const sourceWords = (page) => page.locator(".source .unit:not(.end)");
export const source = (page, word) => page.locator(".source .unit", { hasText: new RegExp(`^${word}$`) }).first();
/* What check() asserts is true, now or when the page has drawn what was done before: with the next frame, or the
 * next answer. */
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
/* Waits until a test in the page is true. page.waitForFunction() evaluates a string at each try but the first, which
 * the page's policy forbids. */
export const holds = (page, test, argument) =>
  becomes(async () => assert.ok(await page.evaluate(test, argument), `${test}`));
/* Points at an element and waits until it is under the pointer: the layout may still move it. check(): as of
 * becomes(), while it is pointed at. */
export const point = (locator, check = () => {}) => becomes(async () => {
  await locator.hover();
  assert.ok(await locator.evaluate((node) =>
    new Promise((settled) =>
    requestAnimationFrame(() => requestAnimationFrame(() => settled(node.matches(":hover")))))));
  await check();
});
/* Another width, for which the page has drawn everything anew. */
export async function widen(page, width) {
  await page.setViewportSize({ width, height: 900 });
  await holds(page, () => {
    const panel = document.getElementById("panel");
    return !panel?.checkVisibility() || Number(panel.dataset.width) === innerWidth;
  });
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}
/* Not wider than its window. */
export const fits = (page, what = "") => holds(page, () => document.documentElement.scrollWidth <= innerWidth)
  .catch(() => assert.fail(`wider than the window: ${what}`));
/* The link, as the page has it: page.url() hears of it later. */
export const hashOf = (page) => page.evaluate(() => location.hash);
/* What the browser saves when a button is pressed. */
export async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download"),
    page.getByRole("button", { name, exact: true }).click()]);
  return readFileSync(await download.path());
}
