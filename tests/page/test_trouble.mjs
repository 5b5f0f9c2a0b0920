/* States without a translation: no text, models that are still loading, a server that is busy, unreachable or
 * failing. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDaemon } from "../clients/daemon.mjs";
import { hashOf, link, program, sentence, text, translated, visit } from "./browser.mjs";

const refusal = (status, code, error, seconds) =>
  ({ status, json: { error, code }, ...(seconds && { headers: { "Retry-After": String(seconds) } }) });
const busy = (seconds) => refusal(429, "queue_full", "the queue is full", seconds);
const loading = refusal(503, "unavailable", "the models are still loading", 1);
const state = (page, words) => page.locator(".state", { hasText: words }).waitFor();

/* Answer the first `times` requests for a path with a reply, or abort them if none is given; let later ones through. */
function hinder(pattern, reply, times = Infinity) {
  return (page) => {
    let left = times;
    return page.route(pattern,
      (route) => (left-- > 0 ? (reply ? route.fulfill(reply) : route.abort()) : route.continue()));
  };
}

test("9: an empty text", () => visit(link({ t: "" }), async (page) => {
  await state(page, /^Translation$/);
  assert.equal(await page.locator("#detail").isVisible(), false);
  await page.getByRole("button", { name: sentence }).click();
  await translated(page);
  await page.locator("#text").fill("");
  await state(page, /^Translation$/);
}));

test("9: the models are still loading", () => visit(link({}), async (page) => {
  await state(page, "The models are still loading.");
  await page.locator("#text").fill("A boy plays in the snow."); /* what was typed meanwhile is kept */
  await page.unrouteAll();
  await translated(page); /* retried automatically */
  assert.equal(await text(page.locator(".line.source")), "A boy plays in the snow.");
  assert.equal(await page.locator("#model").inputValue(), "en-fr");
}, { before: hinder("**/models", loading), expected: /503/ }));

test("9: a busy server: counts down, then asks again by itself; or at once", async () => {
  await visit(link({}), async (page) => {
    await state(page, "The server is busy.");
    assert.equal(await page.locator("#detail").isVisible(), false);
    await state(page, /Trying again in 5[0-8]\d s/);
    await page.getByRole("button", { name: "Try again" }).click();
    await translated(page);
  }, { before: hinder("**/translate", busy(590), 1), expected: /429/ });
  await visit(link({}), async (page) => {
    await translated(page);
    assert.equal(await page.locator(".state").count(), 0);
  }, { before: hinder("**/translate", busy(2), 1), expected: /429/ });
});

test("9: offline: asks again when the network is back", () => visit(link({}), async (page) => {
  await translated(page);
  await page.context().setOffline(true);
  await page.locator("#go").click();
  await state(page, "The server cannot be reached.");
  assert.equal(await page.locator("#text").inputValue(), sentence);
  await page.context().setOffline(false);
  await translated(page);
}, { expected: /ERR_INTERNET_DISCONNECTED/ }));

test("9: no server from the beginning", () => visit(link({}), async (page) => {
  await state(page, "The server cannot be reached.");
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await translated(page);
}, { before: hinder("**/models"), expected: /ERR_FAILED/ }));

test("9: a server that asks for a key", async () => {
  const folder = mkdtempSync(join(tmpdir(), "alignd-page-")), file = join(folder, "keys");
  const made = spawnSync(program, ["key", "--name", "page"], { encoding: "utf8" }),
    key = /[0-9A-Za-z_-]{20,}/.exec(made.stderr)[0];
  writeFileSync(file, made.stdout);
  const daemon = await startDaemon(program, ["weights/en-fr"], ["--api-keys", file]);
  try {
    await visit(link({ v: "export" }), async (page) => {
      await state(page, "This server requires an API key.");
      await page.locator("#key").fill("of another door");
      await page.keyboard.press("Enter");
      await state(page, "The server does not accept this key.");
      await page.locator("#key").fill(key);
      await page.getByRole("button", { name: "Use it" }).click();
      await translated(page);
      const shown = await text(page.locator("#panel pre"));
      assert.ok(shown.includes('-H "X-Api-Key: $KEY"') && !shown.includes(key) && !(await hashOf(page)).includes(key),
        "the key is not told");
      await page.reload();
      await translated(page);
    }, { daemon, expected: /401|403/ });
  } finally {
    daemon.stop();
    rmSync(folder, { recursive: true });
  }
});

test("9: the server's errors, where they happened", async () => {
  await visit(link({}), async (page) => {
    await state(page, "Internal error, see the log for request 4f1c.");
    await page.getByRole("button", { name: "Try again" }).click();
    await translated(page);
  }, { before: hinder("**/translate", refusal(500, "internal", "internal error, see the log for request 4f1c"), 1),
    expected: /500/ });
  await visit(link({}), async (page) => {
    await state(page, "That took longer than the server allows.");
  }, { before: hinder("**/translate", refusal(504, "deadline_exceeded", "the deadline passed")), expected: /504/ });
  await visit(link({ t: "A boy." }), async (page) => {
    await page.locator("#text-error", { hasText: "The text is too long." }).waitFor();
    assert.equal(await page.locator("#result").textContent(), "");
  }, { before: hinder("**/translate", refusal(413, "too_large", "the text is too long")), expected: /413/ });
  await visit(link({ v: "ask" }), async (page) => {
    await translated(page);
    await page.locator("#reference").fill("x");
    await page.getByRole("button", { name: "Score it" }).click();
    await page.locator("#panel .error", { hasText: "Target is too long." }).waitFor();
    await translated(page);
  }, { before: hinder("**/attention", refusal(400, "invalid_request", "target is too long")), expected: /400/ });
  await visit(link({ v: "beam" }), async (page) => {
    await page.locator("#panel .error", { hasText: "Trying again in" }).waitFor();
    await page.locator(".tree").waitFor();
  }, { before: hinder("**/attention", busy(4), 1), expected: /429/ });
});
