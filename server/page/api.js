/* Requests of the page to the daemon. */
import { AligndError as ApiError, Client } from "./client.js";

export { ApiError };

/* What a model without attention does not have. */
const ATTENDED = ["attention", "soft_alignment", "alignment", "words"];
const INCLUDE = ["tokens", "log_probs", ...ATTENDED, "offsets", "entropy", "top_k", "eos"];

/* The key of a server that asks for one, as long as the tab is open. */
let key = "";
try { key = sessionStorage.getItem("key") ?? ""; } catch { /* storage is forbidden */ }
export const hasKey = () => key !== "";
export function useKey(given) {
  key = given;
  try { sessionStorage.setItem("key", key); } catch { /* it is asked for again after a reload */ }
}

/* at: {server: its address, otherwise the page's own; key: otherwise the tab's; signal}. The page itself says when a
 * server is busy. */
const client = ({ server = "", key: own } = {}) => new Client(server, { key: own ?? (server ? "" : key), retries: 0 });

/* Models, by server and name, that estimate how good their words are. */
const estimating = new Set(), nameAt = (at, name) => `${at?.server ?? ""} ${name}`;

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
/* onText: streams; gets the text so far. at: as of client(). */
export const ask = (path, body, onText, at) => (onText ? stream(path, body, onText, at)
  : client(at).json(path, body, at));

export const languages = () => client().json("/languages");
/* The most characters of a text (0: unknown), and extensions of files. */
export const settings = () => client().json("/frontend/settings")
  .then(({ charLimit, supportedFilesFormat: files = [] }) => [Math.max(0, charLimit) || 0, files], () => [0, []]);
/* The languages that a text may be in, the likeliest first. */
export const detect = async (text, at) => (await client().json("/detect", { q: text.slice(0, 1000) }, at))
  .map(({ language }) => language);
/* The events of a file that is translated: [name, data], "result" last. */
export function translateFile(file, fields, at) {
  const body = new FormData();
  body.set("file", file);
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return client().stream("/documents", body, at);
}
/* Names of the glossaries that there are for a pair of languages. */
export const glossaries = () => client().json("/v2/glossaries").then(({ glossaries: list }) => list, () => []);

/* How a request names a model, or a pair (task.js). */
export const named = ({ name, pair, source, target }) => (pair ? { source, target } : { model: name });
/* Either answers alike; what a pair is asked with shows in the address of /translate. */
export const pathOf = ({ source }) => (source ? "/translate" : "/attention");

/* The fields of a search. whole: of the text as one sentence. */
export const search = (model, { strategy, beam, seed, whole, glossary }) =>
  ({ ...named(model), strategy, ...(glossary && ["beam", "greedy"].includes(strategy) && { glossary }),
  ...(whole && { split_sentences: false }), ...(strategy === "beam" && { beam_size: beam }),
  ...(strategy === "sample" && seed !== undefined && { seed }) });

/* The `include` of a request for a sentence: everything that views draw. */
const included = (model, more = [], at) => [...INCLUDE, ...more,
  ...(estimating.has(nameAt(at, model)) ? ["quality"] : [])];
/* The reply to a POST that includes all that. A model without attention is asked again without. */
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

/* The sentences of one text. onText: streams; gets the text so far. at: as of send(). */
export async function decode(body, { path = pathOf(body), ...how } = {}) {
  const reply = await askAll(path, body, how);
  const answer = (reply.translations ?? reply.results)[0];
  return { model: reply.model, source: reply.source, target: reply.target, pivot: reply.pivot,
    between: answer.pivot_text, text: answer.text, sentences: answer.sentences, warnings: answer.warnings ?? [] };
}

/* How likely the model takes one result to be for each of the texts: log-probabilities. */
export async function score(model, texts, translation) {
  const reply = await ask("/attention", { model, text: texts, translation: texts.map(() => translation),
    include: ["eos"] });
  return reply.results.map(({ sentences }) => sentences[0].log_prob);
}
