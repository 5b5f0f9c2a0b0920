/* /page/models.html: an administrator lists, downloads and removes models; the mirror is on loopback. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { holds, program, text, violations, visit } from "./browser.mjs";

const PAGE = "page/models.html", work = mkdtempSync(join(tmpdir(), "alignd-models-")), keys = {};
let mirror, daemon, offline;
before(async () => {
  mirror = spawn(process.env.PYTHON ?? "/usr/bin/python3", ["tests/page/mirror_of_models.py"],
    { stdio: ["pipe", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: mirror.stdout }).once("line", resolve);
    mirror.once("exit", (code) => reject(new Error(`the mirror ended with ${code}`)));
  });
  let lines = "";
  for (const [name, ...more] of [["admin", "--role", "admin"], ["user"]]) {
    const made = spawnSync(program, ["key", "--name", name, ...more], { encoding: "utf8" });
    keys[name] = /[0-9A-Za-z_-]{20,}/.exec(made.stderr)[0];
    lines += made.stdout;
  }
  writeFileSync(join(work, "keys"), lines);
  mkdirSync(join(work, "models"));
  const options = ["--api-keys", join(work, "keys"), "--models", join(work, "models")];
  daemon = await startDaemon(program, ["weights/fr-en"], [...options, "--mirror", url, "--stall-s", "60"]);
  offline = await startDaemon(program, ["weights/fr-en"], [...options, "--offline"]);
});
after(() => {
  daemon?.stop();
  offline?.stop();
  mirror?.stdin.end();
  rmSync(work, { recursive: true });
});

const cards = (page) => page.locator("#models .card");
const card = (page, name) => page.getByRole("region", { name, exact: true });
async function give(page, key) {
  await page.locator("#key").fill(key);
  await page.getByRole("button", { name: "Use it" }).click();
}

test(
  "models: lists, downloads with progress, says what failed, and removes; a key is asked for, and kept in memory only",
  () => visit(PAGE, async (page) => {
  await card(page, "fr-en").waitFor();
  assert.equal(await cards(page).count(), 1);
  assert.match(await text(card(page, "fr-en")), /French → English.*ready · \d+\.\d MB/);

  /* without a key, with a wrong one, with a user's, with an administrator's */
  await page.getByLabel("Languages").fill("en-fr");
  await page.keyboard.press("Enter");
  await page.locator("#error", { hasText: "an API key is required" }).waitFor();
  await give(page, "wrong");
  await page.locator("#error", { hasText: "Invalid API key" }).waitFor();
  await give(page, keys.user);
  await page.locator("#error", { hasText: "this requires an admin API key" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await give(page, keys.admin);

  /* half of the model has been downloaded; the mirror holds back the rest */
  await holds(page, () => document.querySelector("progress")?.value > 0);
  assert.ok(await page.locator("progress").evaluate((node) => node.value < 1));
  assert.match(await text(card(page, "mozilla:en-fr").or(card(page, "en-fr"))), /fetching · .* \d+%$/);
  assert.equal(await page.locator("#error").isVisible() || await page.locator("#who").isVisible(), false);
  assert.equal(await page.getByRole("button", { name: /^Remove: .*en-fr/ }).count(), 0);
  assert.deepEqual(await violations(page), []);
  mirror.stdin.write("\n");
  await page.locator("progress").waitFor({ state: "detached" });
  await card(page, "en-fr").waitFor();
  assert.match(await text(card(page, "en-fr")), /English → French.*mozilla · 3\.0 · MPL-2\.0/);

  /* a pair that is not available */
  await page.getByLabel("Languages").fill("xx-yy");
  await page.keyboard.press("Enter");
  await cards(page).filter({ hasText: "xx-yy" }).filter({ hasText: /failed · ./ }).waitFor();

  /* removal needs a confirmation */
  for (const sure of [false, true]) {
    page.once("dialog", (dialog) => (sure ? dialog.accept() : dialog.dismiss()));
    await page.getByRole("button", { name: "Remove: en-fr" }).focus();
    await page.keyboard.press("Enter");
    if (!sure) assert.equal(await card(page, "en-fr").count(), 1);
  }
  await card(page, "en-fr").waitFor({ state: "detached" });
  assert.equal(await text(page.locator("#said")), "en-fr: removed");
  assert.ok(!(await (await fetch(`${daemon.url}/models`)).json()).models.some(({ name }) => name === "en-fr"));
  assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length), 0);
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
  }
}, { daemon, bypassCSP: true, expected: /40[13]/ }));

test("models: from the page's help; a server without API keys says so; German, dark, and axe finds nothing",
  () => visit("", async (page) => {
  await page.locator("#show-help").click();
  await page.locator("#help").getByRole("link", { name: "Modelle dieses Servers" }).click();
  await card(page, "en-fr").waitFor();
  await page.getByLabel("Sprachen").fill("en-de");
  await page.getByRole("button", { name: "Herunterladen" }).click();
  await page.locator("#error", { hasText: "the server was started without --api-keys" }).waitFor();
  assert.equal(await page.locator("#who").isVisible(), false);
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Entfernen: en-fr" }).click();
  await page.locator("#error", { hasText: "the server was started without --api-keys" }).waitFor();
  assert.equal(await card(page, "en-fr").count(), 1);
  assert.deepEqual(await violations(page), []);
}, { theme: "dark", locale: "de-DE", bypassCSP: true, expected: /403/ }));

test("models: a server that downloads nothing says so", () => visit(PAGE, async (page) => {
  await page.getByLabel("Languages").fill("en-de");
  await page.keyboard.press("Enter");
  await give(page, keys.admin);
  await page.locator("#error", { hasText: "this server downloads no models (--offline)" }).waitFor();
}, { daemon: offline, expected: /40[19]/ }));
