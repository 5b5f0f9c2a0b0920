/* Clients of DeepL, Google and Microsoft against a daemon with the shipped models: node dialects.mjs ALIGND, from
 * the top folder. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, before, after } from "node:test";
import { startDaemon } from "./daemon.mjs";

const require = createRequire(import.meta.url);
const program = process.argv[2] ?? "build/alignd";
const models = ["weights/en-fr", "weights/fr-en"];
const sentence = "Where is the train station?";
const key = "a-key-of-alice";
const folder = mkdtempSync(join(tmpdir(), "alignd-clients-"));
let daemon, url, expected;

async function native(body) {
  const headers = { Authorization: `Bearer ${key}` };
  return (await fetch(`${url}/translate`, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

before(async () => {
  const keys = join(folder, "keys");
  const hash = (secret) => createHash("sha256").update(secret).digest("hex");
  writeFileSync(keys, `alice user ${hash(key)}\nbob user ${hash("a-key-of-bob")} daily=40\n`);
  daemon = await startDaemon(program, models, ["--api-keys", keys, "--glossaries", join(folder, "glossaries")]);
  url = daemon.url;
  expected = (await native({ text: sentence, model: "en-fr" })).translations[0].text;
});

after(() => {
  daemon.stop();
  rmSync(folder, { recursive: true });
});

/* ---- deepl-node ---- */

test("deepl-node translates", async () => {
  const deepl = require("deepl-node");
  const translator = new deepl.Translator(key, { serverUrl: url, maxRetries: 0 });
  const one = await translator.translateText(sentence, null, "fr");
  assert.equal(one.text, expected);
  assert.equal(one.detectedSourceLang, "en");
  assert.equal(one.billedCharacters, sentence.length);
  const many = await translator.translateText([sentence, "Où est la gare ?"], null, "en-US");
  assert.deepEqual(many.map((result) => result.detectedSourceLang), ["en", "fr"]);
  assert.equal(many[0].text, sentence);
  const html = await translator.translateText("<p>I <b>like</b> snow.</p>", "en", "fr",
    { tagHandling: "html", splitSentences: "off" });
  assert.match(html.text, /^<p>.*<b>.+<\/b>.*<\/p>$/);
  const xml = await translator.translateText("I <b>like</b> <x>snow shoes</x>.", "en", "fr",
    { tagHandling: "xml", ignoreTags: ["x"] });
  assert.match(xml.text, /<b>.+<\/b>.*<x>snow shoes<\/x>/);
  await assert.rejects(translator.translateText("<b>", "en", "fr", { tagHandling: "xml" }), /line 1, column 4/);
  await translator.translateText(sentence, "en", "fr",
    { formality: "prefer_more", preserveFormatting: true, context: "travel" });
  const formal = await translator.translateText("Are you hungry?", "en", "fr", { formality: "more" });
  assert.match(formal.text, /vous/);
  const twice = await translator.translateText(sentence, "en", "fr", { styleId: "a" }).catch((error) => error);
  assert.equal(twice.text ?? twice.message, expected);
  await assert.rejects(translator.translateText(sentence, "en", "zz"), /not supported/);
});

test("deepl-node asks what there is", async () => {
  const deepl = require("deepl-node");
  const translator = new deepl.Translator(key, { serverUrl: url, maxRetries: 0 });
  assert.deepEqual((await translator.getSourceLanguages()).map((language) => language.code), ["en", "fr"]);
  assert.deepEqual((await translator.getTargetLanguages()).map((language) => language.name), ["French", "English"]);
  const usage = await translator.getUsage();
  assert.ok(usage.character.count >= sentence.length);
  assert.equal(usage.anyLimitReached(), false);
  const stranger = new deepl.Translator("other", { serverUrl: url, maxRetries: 0 });
  await assert.rejects(stranger.translateText(sentence, "en", "fr"), deepl.AuthorizationError);
});

test("deepl-node is told what its key has used, and when that is all: 456", async () => {
  const deepl = require("deepl-node");
  const bob = new deepl.Translator("a-key-of-bob", { serverUrl: url, maxRetries: 0 });
  assert.equal((await bob.getUsage()).character.count, 0);
  assert.equal((await bob.translateText(sentence, "en", "fr")).text, expected);
  const usage = await bob.getUsage();
  assert.deepEqual([usage.character.count, usage.character.limit], [sentence.length, 40]);
  await assert.rejects(bob.translateText(sentence, "en", "fr"), deepl.QuotaExceededError);
});

test("deepl-node makes, lists, uses and deletes glossaries", async () => {
  const deepl = require("deepl-node");
  const translator = new deepl.Translator(key, { serverUrl: url, maxRetries: 0 });
  const entries = new deepl.GlossaryEntries({ entries: { snow: "poudreuse", "train station": "halte" } });
  const made = await translator.createGlossary("winter", "en", "fr", entries);
  assert.equal(made.name, "winter");
  assert.equal(made.entryCount, 2);
  assert.ok(made.ready && Math.abs(made.creationTime - new Date()) < 60000);
  assert.deepEqual((await translator.listGlossaries()).map((glossary) => glossary.glossaryId), [made.glossaryId]);
  assert.deepEqual(await translator.getGlossary(made.glossaryId), made);
  assert.deepEqual((await translator.getGlossaryEntries(made)).entries(), entries.entries());
  const text = (await translator.translateText("I like snow.", "en", "fr", { glossary: made })).text;
  assert.match(text, /poudreuse/);
  assert.match((await translator.translateText(sentence, "en", "fr", { glossary: made.glossaryId })).text, /halte/);
  const html = await translator.translateText("<p>I like <b>snow</b>.</p>", "en", "fr",
    { glossary: made, tagHandling: "html" });
  assert.match(html.text, /<b>.*poudreuse.*<\/b>/);
  const file = join(folder, "glossary.csv");
  writeFileSync(file, 'snow,"neige, glace"\nice,verglas,en,fr\n');
  const csv = await translator.createGlossaryWithCsv("csv", "en", "fr", file);
  assert.equal(csv.entryCount, 2);
  const pairs = await translator.getGlossaryLanguagePairs();
  assert.deepEqual(pairs.map((pair) => `${pair.sourceLang}-${pair.targetLang}`).sort(), ["en-fr", "fr-en"]);
  await assert.rejects(translator.translateText(sentence, "fr", "en-US", { glossary: made }),
    /No dictionary found for language pair/);
  await translator.deleteGlossary(made);
  await translator.deleteGlossary(csv.glossaryId);
  assert.deepEqual(await translator.listGlossaries(), []);
  await assert.rejects(translator.getGlossary(made.glossaryId), deepl.GlossaryNotFoundError);
  const stranger = new deepl.Translator("other", { serverUrl: url, maxRetries: 0 });
  await assert.rejects(stranger.listGlossaries(), deepl.AuthorizationError);
});

test("deepl-node keeps multilingual glossaries", async () => {
  const deepl = require("deepl-node");
  const client = new deepl.DeepLClient(key, { serverUrl: url, maxRetries: 0 });
  const dictionary = (sourceLangCode, targetLangCode, entries) =>
    ({ sourceLangCode, targetLangCode, entries: new deepl.GlossaryEntries({ entries }) });
  const made = await client.createMultilingualGlossary("winter",
    [dictionary("en", "fr", { snow: "poudreuse" }), dictionary("fr", "en", { neige: "powder", glace: "ice" })]);
  assert.deepEqual(made.dictionaries.map((one) => [one.sourceLangCode, one.targetLangCode, one.entryCount]),
    [["en", "fr", 1], ["fr", "en", 2]]);
  assert.deepEqual(await client.listMultilingualGlossaries(), [made]);
  assert.deepEqual(await client.getMultilingualGlossary(made.glossaryId), made);
  assert.match((await client.translateText("I like snow.", "en", "fr", { glossary: made.glossaryId })).text,
    /poudreuse/);
  assert.match((await client.translateText("J'aime la neige.", "fr", "en-US", { glossary: made.glossaryId })).text,
    /powder/);
  const changed = await client.updateMultilingualGlossaryDictionary(made, dictionary("en", "fr", { ice: "verglas" }));
  assert.deepEqual(changed.dictionaries.map((one) => one.entryCount).sort(), [2, 2]);
  const entries = await client.getMultilingualGlossaryDictionaryEntries(made, "en", "fr");
  assert.deepEqual(entries.entries.entries(), { snow: "poudreuse", ice: "verglas" });
  assert.equal((await client.replaceMultilingualGlossaryDictionary(made, dictionary("en", "fr", { a: "b" })))
    .entryCount, 1);
  assert.equal((await client.updateMultilingualGlossaryName(made, "cold")).name, "cold");
  const other = await client.createMultilingualGlossary("ice", [dictionary("en", "fr", { snow: "givre", a: "c" })]);
  assert.match((await client.translateText("I like snow.", "en", "fr",
    { glossaryIds: [made.glossaryId, other.glossaryId] })).text, /givre/);
  await client.deleteMultilingualGlossary(other);
  await client.deleteMultilingualGlossaryDictionary(made, "fr", "en");
  assert.equal((await client.getMultilingualGlossary(made.glossaryId)).dictionaries.length, 1);
  await client.deleteMultilingualGlossaryDictionary(made, "en", "fr");
  assert.deepEqual((await client.getMultilingualGlossary(made.glossaryId)).dictionaries, []);
  await assert.rejects(client.getMultilingualGlossary("invalid"), /Invalid or missing glossary id/);
  await client.deleteMultilingualGlossary(made);
  assert.deepEqual(await client.listMultilingualGlossaries(), []);
});

test("deepl-node translates documents", async () => {
  const deepl = require("deepl-node");
  const translator = new deepl.Translator(key, { serverUrl: url, maxRetries: 0 });
  const input = join(folder, "a.txt"), output = join(folder, "a.fr.txt");
  writeFileSync(input, `${sentence}\n`);
  const status = await translator.translateDocument(input, output, "en", "fr");
  assert.equal(status.billedCharacters, sentence.length);
  assert.equal(readFileSync(output, "utf8"), `${expected}\n`);
  const handle = await translator.uploadDocument(Buffer.from("{oops"), "en", "fr", { filename: "a.json" })
    .catch((error) => error);
  assert.match(handle.message, /line 1, column 2/);
  const wrong = { documentId: "0".repeat(32), documentKey: "0".repeat(32) };
  await assert.rejects(translator.getDocumentStatus(wrong), /Not found/);
});

test("deepl-node is told when there are too many glossaries: 456", async () => {
  const deepl = require("deepl-node");
  const translator = new deepl.Translator(key, { serverUrl: url, maxRetries: 0 });
  const entries = new deepl.GlossaryEntries({ entries: { a: "b" } });
  for (let i = 0; i < 100; i++) await translator.createGlossary(`${i}`, "en", "fr", entries);
  await assert.rejects(translator.createGlossary("one more", "en", "fr", entries), deepl.QuotaExceededError);
  for (const glossary of await translator.listGlossaries()) await translator.deleteGlossary(glossary);
});

/* ---- @google-cloud/translate ---- */

test("@google-cloud/translate", async () => {
  process.env.GOOGLE_CLOUD_TRANSLATE_ENDPOINT = `${url}/language/translate/v2`;
  const { Translate } = require("@google-cloud/translate").v2;
  const client = new Translate({ key, maxRetries: 0, autoRetry: false });
  assert.equal((await client.translate(sentence, "fr"))[0], expected);
  const [many] = await client.translate([sentence, "I like snow."], { from: "en", to: "fr" });
  assert.equal(many[0], expected);
  assert.equal(many.length, 2);
  const [html] = await client.translate("<b>Snow</b> is cold.", { from: "en", to: "fr" });
  assert.match(html, /<b>.+<\/b>/);
  assert.equal((await client.detect("Où est la gare ?"))[0].language, "fr");
  assert.deepEqual((await client.getLanguages())[0], [{ code: "en", name: "English" }, { code: "fr", name: "French" }]);
  await assert.rejects(client.translate(sentence, "zz"), (error) => error.code === 400
    && /not supported/.test(error.message));
  const stranger = new Translate({ key: "other", maxRetries: 0, autoRetry: false });
  await assert.rejects(stranger.translate(sentence, "fr"), (error) => error.code === 403);
});

/* Of version 3, by REST: the client sends whatever its authentication has as a bearer token. */
test("@google-cloud/translate, version 3", async () => {
  const { TranslationServiceClient } = require("@google-cloud/translate").v3;
  const { OAuth2Client } = require("google-auth-library");
  const { hostname, port } = new URL(url), parent = "projects/p/locations/global";
  const clientOf = (token) => {
    const authClient = new OAuth2Client();
    authClient.setCredentials({ access_token: token, expiry_date: Date.now() + 3600000 });
    return new TranslationServiceClient({ fallback: "rest", protocol: "http", apiEndpoint: hostname,
      port: Number(port), authClient, projectId: "p" });
  };
  const client = clientOf(key);
  const [{ translations }] = await client.translateText(
    { parent, contents: [sentence, "<b>Snow</b> is cold."], targetLanguageCode: "fr" });
  assert.equal(translations[0].translatedText, expected);
  assert.equal(translations[0].detectedLanguageCode, "en");
  assert.match(translations[1].translatedText, /<b>.+<\/b>/);
  const [plain] = await client.translateText({ parent, contents: ["a <b> c"], mimeType: "text/plain",
    sourceLanguageCode: "en", targetLanguageCode: "fr", labels: { team: "a" } });
  assert.match(plain.translations[0].translatedText, /<b>/);
  const [{ languages }] = await client.detectLanguage({ parent, content: "Où est la gare ?", mimeType: "text/plain" });
  assert.equal(languages[0].languageCode, "fr");
  const [known] = await client.getSupportedLanguages({ parent, displayLanguageCode: "de" });
  assert.deepEqual(known.languages.map((one) => [one.languageCode, one.displayName, one.supportTarget]),
    [["en", "Englisch", true], ["fr", "Französisch", true]]);
  const made = await fetch(`${url}/v2/glossaries`, { method: "POST",
    headers: { Authorization: `DeepL-Auth-Key ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "winter", source_lang: "en", target_lang: "fr", entries: "snow\tpoudreuse",
      entries_format: "tsv" }) });
  const { glossary_id } = await made.json();
  const [named] = await client.translateText({ parent, contents: ["I like snow."], mimeType: "text/plain",
    sourceLanguageCode: "en", targetLanguageCode: "fr",
    glossaryConfig: { glossary: `${parent}/glossaries/${glossary_id}` } });
  assert.match(named.glossaryTranslations[0].translatedText, /poudreuse/);
  await fetch(`${url}/v2/glossaries/${glossary_id}`,
    { method: "DELETE", headers: { Authorization: `DeepL-Auth-Key ${key}` } });
  await assert.rejects(client.translateText({ parent, contents: ["x"], targetLanguageCode: "zz" }), /not supported/);
  await assert.rejects(clientOf("other").translateText({ parent, contents: ["x"], targetLanguageCode: "fr" }),
    /Invalid API key/);
});

/* ---- @azure-rest/ai-translation-text ---- */

const azure2026 = (credential) =>
  require("@azure-rest/ai-translation-text-2").default(url, credential,
    { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } });

test("@azure-rest/ai-translation-text 2.0.0: version 2026-06-06", async () => {
  const client = azure2026({ key, region: "here" });
  const inputs = [{ text: sentence, targets: [{ language: "fr" }, { language: "en" }] },
    { text: "<p>I like <b>snow</b>.</p>", language: "en", textType: "Html", targets: [{ language: "fr" }] }];
  const reply = await client.path("/translate").post({ body: { inputs } });
  assert.equal(reply.status, "200");
  const [first, second] = reply.body.value;
  assert.equal(first.detectedLanguage.language, "en");
  assert.deepEqual(first.translations.map(({ language }) => language), ["fr", "en"]);
  assert.equal(first.translations[0].text, expected);
  assert.equal(first.translations[0].sourceCharacters, sentence.length);
  assert.match(second.translations[0].text, /<b>.+<\/b>/);
  const aligned = await client.path("/translate")
    .post({ body: { inputs }, queryParameters: { includeAlignment: true } });
  assert.match(aligned.body.value[1].translations[0].alignment.proj, /^\d+:\d+-\d+:\d+ /);
  const formal = await client.path("/translate")
    .post({ body: { inputs: [{ text: sentence, targets: [{ language: "fr", tone: "formal" }] }] } });
  assert.equal(formal.headers["x-alignd-ignored"], "inputs.targets.tone");
  const languages = await client.path("/languages").get();
  assert.equal(languages.body.translation.fr.nativeName, "français");
  assert.deepEqual(languages.body.translation.fr.models, []);
  const refused = await client.path("/translate")
    .post({ body: { inputs: [{ text: sentence, targets: [{ language: "zz" }] }] } });
  assert.equal(refused.status, "400");
});

const azure = (credential) =>
  require("@azure-rest/ai-translation-text").default(url, credential,
    { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } });

test("@azure-rest/ai-translation-text", async () => {
  const client = azure({ key, region: "here" });
  const reply = await client.path("/translate").post({
    body: [{ text: sentence }, { text: "Où est la gare ?" }],
    queryParameters: { to: "fr,en" },
  });
  assert.equal(reply.status, "200");
  assert.equal(reply.body[0].translations[0].text, expected);
  assert.deepEqual(reply.body[1].translations.map((translation) => translation.to), ["fr", "en"]);
  assert.deepEqual(reply.body.map((text) => text.detectedLanguage.language), ["en", "fr"]);
  const sentences = await client.path("/breaksentence")
    .post({ body: [{ text: "It snows. I like it." }], queryParameters: { language: "en" } });
  assert.deepEqual(sentences.body[0].sentLen, [10, 10]);
  const languages = await client.path("/languages").get();
  assert.equal(languages.body.translation.fr.nativeName, "français");
  const refused = await client.path("/translate").post({ body: [{ text: sentence }], queryParameters: { to: "zz" } });
  assert.equal(refused.status, "400");
  assert.equal(refused.body.error.code, 400036);
  const stranger = await azure({ key: "other", region: "here" }).path("/translate")
    .post({ body: [{ text: "x" }], queryParameters: { to: "fr" } });
  assert.equal(stranger.status, "403");
});

/* Pairs of words that the ranges spell. */
const spelled = (proj, source, target) =>
  (proj === "" ? [] : proj.split(" ")).map((pair) => {
    const [from, to, begin, end] = pair.split(/[-:]/).map(Number);
    return `${source.slice(from, to + 1)}=${target.slice(begin, end + 1)}`;
  });

/* As `words` of alignd's own answer has them. */
const aligned = (answer) =>
  answer.sentences.flatMap(({ words }) => words.alignment.map(([j, i]) => `${words.source[j]}=${words.target[i]}`));

test("proj spells the words that `words` aligns, on 200 sentences", async () => {
  const client = azure({ key, region: "here" });
  const lines = readFileSync("tests/bench/sentences.txt", "utf8").split("\n").filter((line) => line.trim() !== "");
  const texts = Array.from({ length: 200 },
    (_, i) => (i < lines.length ? lines[i] : `${lines[i % lines.length]} 🐕 ${lines[(i * 7) % lines.length]}`));
  let pairs = 0;
  for (let i = 0; i < texts.length; i += 20) {
    const batch = texts.slice(i, i + 20);
    const own = await native({ text: batch, model: "en-fr", include: ["words"] });
    const reply = await client.path("/translate").post({
      body: batch.map((text) => ({ text })),
      queryParameters: { from: "en", to: "fr", includeAlignment: true, includeSentenceLength: true },
    });
    for (let k = 0; k < batch.length; k++) {
      const { text, alignment, sentLen } = reply.body[k].translations[0];
      assert.equal(text, own.translations[k].text);
      const words = spelled(alignment.proj, batch[k], text);
      assert.deepEqual(words.toSorted(), aligned(own.translations[k]).toSorted());
      assert.equal(sentLen.srcSentLen.reduce((sum, length) => sum + length, 0), batch[k].length);
      assert.equal(sentLen.transSentLen.reduce((sum, length) => sum + length, 0), text.length);
      pairs += words.length;
    }
  }
  assert.ok(pairs > 1000, `${pairs} pairs`);
});
