/* /openapi.json: a validator finds it right, a client made from it works, and replies are as it says: node
 * openapi.mjs ALIGND, from the top folder. */
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv";
import assert from "node:assert/strict";
import { test, before, after } from "node:test";
import openapi from "openapi-client-axios";
import { startDaemon } from "./daemon.mjs";

const program = process.argv[2] ?? "build/alignd";
const all = ["tokens", "log_probs", "attention", "alignment", "words", "offsets", "entropy", "top_k", "beam",
  "timing", "eos"];
let daemon, document, client;

before(async () => {
  daemon = await startDaemon(program, ["weights/en-fr", "weights/fr-en"]);
  document = await (await fetch(`${daemon.url}/openapi.json`)).json();
  const api = new openapi.OpenAPIClientAxios({ definition: structuredClone(document),
    axiosConfigDefaults: { baseURL: daemon.url, proxy: false } });
  client = await api.init();
});

after(() => daemon.stop());

/* Validates by a component; what it does not list is wrong, too. */
function validator() {
  const ajv = new Ajv({ strict: false });
  const schemas = structuredClone(document.components.schemas);
  for (const schema of Object.values(schemas)) if (schema.properties) schema.additionalProperties = false;
  ajv.addSchema({ $id: "api", components: { schemas } });
  return (type, value) => {
    const ok = ajv.validate({ $ref: `api#/components/schemas/${type}` }, value);
    assert.ok(ok, `${type}: ${ajv.errorsText()}`);
  };
}

test("the document is valid", async () => {
  const result = await new Validator().validate(structuredClone(document));
  assert.ok(result.valid, JSON.stringify(result.errors));
});

test("a client made from it translates and aligns", async () => {
  const { data } = await client.translate(null, { text: "Where is the train station?", strategy: "greedy" });
  assert.match(data.translations[0].text, /gare/);
  const aligned = await client.attention(null, { text: "Snow.", translation: "Neige." });
  assert.equal(aligned.data.results[0].text, "Neige.");
  const libre = await client.translate(null, { q: "Snow is cold.", source: "en", target: "fr" });
  assert.ok(libre.data.translatedText.length > 0);
  assert.deepEqual((await client.models()).data.models.map((model) => model.name), ["en-fr", "fr-en"]);
  await assert.rejects(client.translate(null, { text: "a", beam_size: 99 }),
    (error) => error.response.data.field === "beam_size");
});

test("replies are as their schemas say", async () => {
  const check = validator();
  const text = ["Where is the train station? Here.", " "];
  check("Translations", (await client.translate(null, { text, include: all, n_best: 2 })).data);
  check("Translations", (await client.translate(null, { text, strategy: "sample", seed: 1 })).data);
  check("Translations", (await client.translate(null, { text: "Snow.", strategy: "exact", max_length: 3 })).data);
  check("Attentions", (await client.attention(null, { text, include: all })).data);
  const body = { q: ["Snow."], source: "auto", target: "fr", alternatives: 2 };
  check("LibreTranslation", (await client.translate(null, body)).data);
  check("LibreTranslation", (await client.translate(null, { ...body, q: "Snow." })).data);
  check("Models", (await client.models()).data);
  check("Status", (await client.health()).data);
  check("Settings", (await client.frontend_settings()).data);
  check("Detected", (await client.detect(null, { q: "Snow." })).data[0]);
  for (const language of (await client.languages()).data) check("Language", language);
  const error = await client.translate(null, { text: "a", beam_size: 99 }).catch((failure) => failure.response.data);
  check("Error", error);
});

test("bodies that are refused are wrong by their schemas, too", async () => {
  const check = validator();
  const tried = [{ text: "a", beam_size: 33 }, { text: "a", strategy: "best" }, { text: 5 }, {},
    { text: "a", include: ["x"] }, { text: "a", typo: 1 }];
  for (const body of tried) {
    assert.equal((await fetch(`${daemon.url}/attention`, { method: "POST", body: JSON.stringify(body) })).status, 400);
    assert.throws(() => check("AttentionRequest", body));
  }
  check("AttentionRequest", { text: ["a"], translation: ["b"], include: all, stream: false,
    force_attention: [{ step: 0, weights: [1] }] });
});
