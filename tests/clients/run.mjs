/* LibreTranslate's clients from npm against a daemon with the shipped models: node run.mjs ALIGND, from the top
 * folder. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test, before, after } from "node:test";
import { startDaemon } from "./daemon.mjs";

const require = createRequire(import.meta.url);
const program = process.argv[2] ?? "build/alignd";
const models = ["weights/en-fr", "weights/fr-en"];
const sentence = "Where is the train station?";
let daemon, url, expected;

before(async () => {
  daemon = await startDaemon(program, models);
  url = daemon.url;
  const reply = await fetch(`${url}/translate`,
    { method: "POST", body: JSON.stringify({ text: sentence, model: "en-fr" }) });
  expected = (await reply.json()).translations[0].text;
});

after(() => daemon.stop());

test("libretranslate", async () => {
  const { translate } = require("libretranslate");
  assert.equal(await translate({ query: sentence, source: "en", target: "fr", apiurl: url }), expected);
  assert.equal(await translate({ query: sentence, target: "fr", apiurl: url }), expected); // source: auto
  const [text] = await translate({ query: ["<b>Snow</b> is cold."], source: "en", target: "fr", format: "html",
    apiurl: url });
  assert.match(text, /<b>.+<\/b>/);
  await assert.rejects(translate({ query: sentence, source: "en", target: "zz", apiurl: url }), TypeError);
});

test("libretranslate-ts", async () => {
  const { libreTranslate } = require("libretranslate-ts");
  libreTranslate.setApiEndpoint(url);
  const reply = await libreTranslate.translate(sentence, "en", "fr", 2);
  assert.equal(reply.error, undefined);
  assert.equal(reply.translatedText, expected);
  assert.ok(reply.alternatives.length > 0);
  const detected = await libreTranslate.detect("Où est la gare ?");
  assert.equal(detected.language, "fr");
  assert.ok(detected.confidence > 50);
  assert.deepEqual((await libreTranslate.listLanguages()).map((language) => language.code), ["en", "fr"]);
  assert.equal((await libreTranslate.translate(sentence, "en", "zz")).error, "zz is not supported");
});

test("translate", async () => {
  const { Translate } = await import("translate");
  const translate = Translate({ engine: "libre", url: `${url}/translate`, from: "en" });
  assert.equal(await translate(sentence, "fr"), expected);
  assert.equal(await translate("2024", "fr") === "", false);
  await assert.rejects(translate(sentence, { to: "de" }), /not supported/);
});
