/* Requests from the page to the daemon, or to an engine in the page. */
import { AligndError as ApiError, Client } from "./client.js";

export { ApiError };

/* Fields that a model without attention cannot provide. */
const ATTENDED = ["attention", "soft_alignment", "alignment", "words"];
const INCLUDE = ["tokens", "log_probs", ...ATTENDED, "offsets", "entropy", "top_k", "eos"];

/* The server's API key, kept for as long as the tab is open. */
let key = "";
try { key = sessionStorage.getItem("key") ?? ""; } catch { /* storage is forbidden */ }
export const hasKey = () => key !== "";
export function useKey(given) {
  key = given;
  try { sessionStorage.setItem("key", key); } catch { /* the user is asked again after a reload */ }
}

/* An engine: {module, models}, see engine.js. models: addresses with spaces between them, relative to the page. */
export function engineAt(module, models) {
  const whole = (address) => new URL(address, document.baseURI).href;
  return { module: whole(module), models: models.split(/\s+/).filter(Boolean).map(whole) };
}
/* The engine that answers in place of the page's own server. */
let instead = null;
export const useEngine = (engine) => { instead = engine; };
export const hasServer = () => !instead;
const fetchFrom = ({ module, models }) => async (...request) =>
  (await import("./engine.js")).answer(module, models, ...request);

/* at: {server: its address, by default the page's own; key: by default the tab's, for the page's own server only;
 * engine: by default the page's own, for the page's own server only; signal}. No retries: the page itself says when a
 * server is busy. */
const client = ({ server = "", key: own, engine = server ? null : instead } = {}) => new Client(server,
  { key: own ?? (server ? "" : key), retries: 0, ...(engine && { fetch: fetchFrom(engine) }) });

/* Models with quality estimation, by server or engine, and name. */
const estimating = new Set(), nameAt = (at, name) => [at?.server ?? "", ...(at?.engine?.models ?? []), name].join(" ");

export async function models(at) {
  const list = await client(at).models(at);
  for (const { name, quality } of list) estimating[quality ? "add" : "delete"](nameAt(at, name));
  return list;
}

async function stream(path, body, onText, at) {
  let text = "";
  for await (const [name, data] of client(at).stream(path, body, at)) {
    if (name === "token") onText((text += data.text ?? ""));
    else if (name === "result") return data;
  }
}
/* onText: if given, stream, and call it with the text so far. at: see client(). */
export const ask = (path, body, onText, at) => (onText ? stream(path, body, onText, at)
  : client(at).json(path, body, at));

export const languages = () => client().json("/languages");
/* Character limit of a text; 0: unknown. */
export const limit = () => client().json("/frontend/settings")
  .then(({ charLimit }) => Math.max(0, charLimit) || 0, () => 0);
/* Formats of files; none if the server cannot list them. */
export const formats = () => client().json("/formats").catch(() => []);
/* Candidate languages of a text, most likely first. */
export const detect = async (text, at) => (await client().json("/detect", { q: text.slice(0, 1000) }, at))
  .map(({ language }) => language);
/* Events of a file's translation: [name, data], ending with "result". */
export function translateFile(file, fields, at) {
  const body = new FormData();
  body.set("file", file);
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return client().stream("/documents", body, at);
}
/* All glossaries of the server; none if it cannot list them. */
export const glossaries = () => client().json("/v2/glossaries").then(({ glossaries: list }) => list, () => []);

/* Request fields that name a model or a language pair (task.js). */
export const named = ({ name, pair, source, target }) => (pair ? { source, target } : { model: name });
/* Both endpoints give the same answer. Requests for a pair go to /translate, so that their URL says what they do. */
export const pathOf = ({ source }) => (source ? "/translate" : "/attention");

/* Search parameters of a request. whole: decode the text as one sentence. */
export const search = (model, { strategy, beam, seed, whole, glossary }) =>
  ({ ...named(model), strategy, ...(glossary && ["beam", "greedy"].includes(strategy) && { glossary }),
  ...(whole && { split_sentences: false }), ...(strategy === "beam" && { beam_size: beam }),
  ...(strategy === "sample" && seed !== undefined && { seed }) });

/* The `include` list of a request: everything that the views draw, and `more`. */
const included = (model, more = [], at) => [...INCLUDE, ...more,
  ...(estimating.has(nameAt(at, model)) ? ["quality"] : [])];
/* POST with the full `include` list. If the model rejects it for lack of attention, repeat the request without those
 * fields. */
export async function askAll(path, body, { onText, include, ...at } = {}) {
  const full = { ...body, include: included(body.model, include, at) };
  try {
    return await ask(path, full, onText, at);
  } catch (error) {
    if (!(error.status === 400 && error.field === "include")) throw error;
    return ask(path, { ...full,
      include: full.include.filter((name) => !ATTENDED.includes(name) && name !== "quality") }, onText, at);
  }
}

/* Decode one text. how: `onText` of ask(), more fields to `include`, and the fields of `at` of client(). */
export async function decode(body, { path = pathOf(body), ...how } = {}) {
  const reply = await askAll(path, body, how);
  const answer = (reply.translations ?? reply.results)[0];
  return { model: reply.model, source: reply.source, target: reply.target, pivot: reply.pivot,
    between: answer.pivot_text, text: answer.text, sentences: answer.sentences, warnings: answer.warnings ?? [] };
}

/* Log-probability of the same translation for each of the texts. */
export async function score(model, texts, translation) {
  const reply = await ask("/attention", { model, text: texts, translation: texts.map(() => translation),
    include: ["eos"] });
  return reply.results.map(({ sentences }) => sentences[0].log_prob);
}
