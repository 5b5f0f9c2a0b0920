/* Language pairs that two models translate in turn: de → fr by way of en. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { renamedFolder } from "./folders.mjs";
import { holds, openTab, program, set, sourceWords, target, text, translated, views, visit } from "./browser.mjs";

const PAIR = "de \u2192 fr", TEXT = "Un garçon joue dans la neige.";
let folder, daemon;
/* The model that reads French, relabelled as German. */
before(async () => {
  folder = renamedFolder("weights/fr-en", "de-en", { source: "de" });
  daemon = await startDaemon(program, ["weights/en-fr", folder]);
});
after(() => {
  daemon?.stop();
  rmSync(dirname(folder), { recursive: true });
});

const pair = (fields) => `#${new URLSearchParams({ t: TEXT, m: PAIR, ...fields })}`;
const ask = async () => {
  const body = { text: TEXT, source: "de", target: "fr", include: ["words", "soft_alignment"] };
  return (await fetch(`${daemon.url}/translate`, { method: "POST", body: JSON.stringify(body) })).json();
};
const served = (page) => page.locator("#model option").allTextContents();

test("pairs: in the list of models; translated with the attention of both, and the text between them",
  () => visit("", async (page) => {
  await translated(page);
  assert.deepEqual(await served(page), ["en-fr", "de-en", PAIR]);
  await page.locator("#text").fill(TEXT);
  await set(page, "model", PAIR);
  const reply = await ask(), { text: made, pivot_text: between, sentences: [s] } = reply.translations[0];
  assert.deepEqual(reply.pivot, ["de-en", "en-fr"]);
  await page.locator("#through", { hasText: between }).waitFor(); /* before, that of the former model may stand */
  await page.locator(".line.target", { hasText: made }).waitFor();
  assert.equal(await text(page.locator(".line.target")), made);
  assert.equal(await text(page.locator("#through")), `By way of English: ${between}`);
  assert.deepEqual(await sourceWords(page).allTextContents(), s.words.source);
  await page.locator(".threads path").first().waitFor({ state: "attached" });
  const shown = await page.locator(".threads path")
    .evaluateAll((list) => list.map((path) => [path.dataset.cell, Number(path.style.getPropertyValue("--w"))]));
  for (const [cell, w] of shown) {
    const [i, j] = cell.split(" ").map(Number), given = s.words.soft_alignment[i][j];
    if (given !== undefined) assert.ok(Math.abs(w - given) < 0.002, `${cell}: ${w} instead of ${given}`);
  }
  assert.ok(shown.length >= s.words.target.length);
}, { daemon }));

test("pairs: every view opens; nothing is offered that two models cannot answer",
  () => visit(pair({}), async (page) => {
  await translated(page);
  await target(page, "garçon").click();
  assert.match(await text(page.locator("#hint")), /^garçon is aligned with garçon, \d+%\.Unpin$/);
  await sourceWords(page).first().click();
  assert.equal(await page.getByRole("button", { name: "Force by dragging" }).count(), 0);
  for (const view of views) {
    await openTab(page, view);
    await page.locator({ beam: ".tree", compare: "#panel .map >> nth=1" }[view] ?? "#panel > :not(.wait)").first()
      .waitFor();
    assert.equal(await page.locator("#panel .error:visible").count(), 0, view);
    if (view === "confidence") assert.equal(await page.locator("#panel button.step").count(), 0);
    if (["ask", "why", "corpus"].includes(view))
      assert.match(await text(page.locator("#panel")), /^Two models translate this in turn/);
    if (view === "export")
      assert.match(await text(page.locator("#panel pre")), /\/translate -d [^]*"source":"de","target":"fr"/);
  }
  assert.equal(await page.locator("#answer > *").count(), 0);
  await set(page, "strategy", "greedy"); /* a single model would stream */
  await holds(page, () => location.hash.includes("s=greedy"));
  await page.locator(".reading:not(.busy)").waitFor();
  assert.match(await text(page.locator("#through")), /^By way of English/);
  await set(page, "model", "en-fr");
  await page.locator("#through").waitFor({ state: "detached" });
}, { daemon }));

test("pairs: none where the server does not translate them", async () => {
  const single = await startDaemon(program, ["weights/en-fr", folder], ["--pivot", "none"]);
  try {
    await visit("", async (page) => {
      await translated(page);
      assert.deepEqual(await served(page), ["en-fr", "de-en"]);
    }, { daemon: single });
  } finally {
    single.stop();
  }
});
