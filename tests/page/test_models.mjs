/* /page/models.html: an administrator lists, downloads and removes models; the mirror is on loopback. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { ask, becomes, holds, link, program, text, violations, visit } from "./browser.mjs";

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
  assert.match(await text(card(page, "fr-en")), /French → English.*loaded · \d+\.\d MB/);

  /* without a key there is one sentence and no button; with a wrong one, with a user's, with an administrator's */
  await page.locator("#may-not", { hasText: "alignd get" }).waitFor();
  assert.equal(await page.getByRole("button").count(), 0);
  await page.locator("#listed", { hasText: "alignd get --list en-" }).waitFor(); /* nobody may have read the list */
  await page.locator("#who summary").click();
  for (const key of ["wrong", keys.user]) {
    await give(page, key);
    await page.locator("#error", { hasText: "This key is not an administrator's." }).waitFor();
    await page.locator("#error").evaluate((node) => { node.textContent = ""; });
  }
  assert.deepEqual(await violations(page), []);
  await give(page, keys.admin);

  /* what can be had, by Mozilla's list */
  await page.locator("#listed", { hasText: "2 pairs of languages in Mozilla's list." }).waitFor();
  assert.match(await text(card(page, "French")),
    /alignd get en-fr.*English → French · \d\.\d MB · mozilla · 3\.0 · MPL-2\.0/);
  await page.locator("#seek").fill("finn");
  assert.deepEqual(await page.locator("#more .card:visible h3").allTextContents(), ["Finnish"]);
  await page.locator("#seek").fill("");
  await page.getByLabel("Languages").fill("en-fr");
  await page.keyboard.press("Enter");

  /* half of the model has been downloaded; the mirror holds back the rest */
  await holds(page, () => document.querySelector("progress")?.value > 0);
  assert.ok(await page.locator("#models progress").evaluate((node) => node.value < 1));
  assert.equal(await page.locator("#more progress").count(), 1); /* and where it can be ordered */
  assert.match(await text(card(page, "mozilla:en-fr").or(card(page, "en-fr"))), /fetching · .* \d+%$/);
  assert.equal(await page.locator("#error").isVisible() || await page.locator("#who").isVisible(), false);
  assert.equal(await page.getByRole("button", { name: /^Remove: .*en-fr/ }).count(), 0);
  assert.deepEqual(await violations(page), []);
  mirror.stdin.write("\n");
  await holds(page, () => !document.querySelector("progress"));
  await card(page, "en-fr").waitFor();
  assert.match(await text(card(page, "en-fr")), /English → French.*mozilla · 3\.0 · MPL-2\.0/);

  /* a pair that the list does not have, and one that another source does not have */
  await page.getByLabel("Languages").fill("xx-yy");
  await page.keyboard.press("Enter");
  await page.locator("#error", { hasText: 'Mozilla\'s list has no model "xx-yy"' }).waitFor();
  await page.locator("#from").selectOption("opus");
  await page.getByLabel("Languages").focus();
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
}, { daemon, bypassCSP: true, expected: /40[013]/ }));

test("models: from the page's head; a server without API keys says so; German, dark, and axe finds nothing",
  () => visit("", async (page) => {
  await page.locator(".top").getByRole("link", { name: "Modelle" }).click();
  await card(page, "en-fr").waitFor();
  await page.locator("#may-not", { hasText: "alignd get" }).waitFor(); /* the way that there is, and no buttons */
  assert.equal(await page.getByRole("button").count(), 0);
  assert.deepEqual(await violations(page), []);
}, { theme: "dark", locale: "de-DE", bypassCSP: true }));

test("models: a server that downloads nothing says so", () => visit(PAGE, async (page) => {
  await page.locator("#listed", { hasText: "This server downloads nothing (--offline)." }).waitFor();
  await page.locator("#who summary").click();
  await give(page, keys.admin);
  await page.getByLabel("Languages").fill("en-de");
  await page.keyboard.press("Enter");
  await page.locator("#error", { hasText: "this server downloads no models (--offline)" }).waitFor();
}, { daemon: offline, expected: /40[19]/ }));

test("models: a model that has translated says when", () => visit(PAGE, async (page) => {
  await card(page, "geoquery").waitFor();
  await ask("/translate", { text: "Where is the train station?", model: "en-fr" });
  await page.reload();
  assert.match(await text(card(page, "en-fr")), /loaded · (in use|used this minute|used 1 minute ago) · /);
}));

test("models: the translator offers what the list has, and names each download that a pair needs",
  () => visit(link({ m: "fr-en", t: "Bonjour." }), async (page) => {
  const missing = page.locator("#missing pre"), options = (id) => page.locator(`#${id} optgroup option`)
    .evaluateAll((list) => list.map((one) => one.value).sort());
  await page.locator("#text").waitFor();
  await becomes(async () => assert.deepEqual(await options("to"), ["es", "fi", "ja"]));
  assert.deepEqual(await options("from"), ["es", "fi", "ja"]);
  for (const [from, to, says] of [["fr", "fi", "en-fi"], ["fr", "ja", "opus:en-ja"], ["ja", "fi", "ja-en en-fi"],
    ["es", "en", "opus:es-en"], ["en", "fi", "en-fi"], ["es", "fi", "es-fi"]]) {
    await page.locator("#from").selectOption(from);
    await page.locator("#to").selectOption(to);
    await holds(page, (command) => document.querySelector("#missing pre")?.textContent === command,
      `alignd get ${says}`);
  }
  assert.equal(await missing.count(), 1);
}, { before: (page) => page.route("**/models/available", (route) => route.fulfill({ json: { state: "ready",
  models: [["en", "fi"], ["ja", "en"], ["es", "fi"]].map(([source, target]) => ({ source, target, from: "mozilla",
    version: "3.0", architecture: "tiny", licence: "MPL-2.0", bytes: 17e6 })) } })) }));

test("models: a language is found by its name", () => visit("page/models.html", async (page) => {
  await page.locator(".card", { hasText: "en-fr" }).first().waitFor();
  await page.locator("#seek").fill("logic");
  await page.locator(".card[aria-label=en-fr]").waitFor({ state: "hidden" });
  assert.deepEqual(await page.locator(".card:visible h3").allTextContents(), ["geoquery"]);
  /* one that is not here, with the command that gets it */
  await page.locator("#seek").fill("finn");
  await page.locator(".card[aria-label=geoquery]").waitFor({ state: "hidden" });
  assert.deepEqual(await page.locator(".card:visible .note").allTextContents(), ["alignd get en-fi fi-en"]);
}));

test("models: for a pair that one download would join, the translator names that download",
  () => visit(link({ m: "fr-en", t: "Bonjour." }), async (page) => {
  await page.locator("#to").selectOption("ja");
  await page.locator("#missing pre", { hasText: /^alignd get en-ja$/ }).waitFor();
  assert.match(await text(page.locator("#missing")), /By way of English: French → English → Japanese/);
}));
