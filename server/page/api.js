/* Requests to the daemon, and what may go wrong with them. */

const ATTENDED = ["attention", "soft_alignment", "alignment", "words"]; /* what a model without attention does not have */
const INCLUDE = ["tokens", "log_probs", ...ATTENDED, "offsets", "entropy", "top_k", "eos"];

/* status 0: the daemon cannot be reached. */
export class ApiError extends Error {
  constructor(status, body, retry) {
    super(body?.error ?? (status ? `The server answered ${status}.` : "The server cannot be reached."));
    Object.assign(this, { status, field: body?.field, retry });
  }
}

/* The key of a server that asks for one, as long as the tab is open. */
let key = "";
try { key = sessionStorage.getItem("key") ?? ""; } catch { /* storage is forbidden */ }
export const hasKey = () => key !== "";
export function useKey(given) {
  key = given;
  try { sessionStorage.setItem("key", key); } catch { /* it is asked for again after a reload */ }
}

async function send(path, body, signal) {
  let reply;
  try {
    reply = await fetch(path, body && { method: "POST", headers: { "Content-Type": "application/json", ...(key && { "X-Api-Key": key }) }, body: JSON.stringify(body), signal });
  } catch (error) {
    throw error.name === "AbortError" ? error : new ApiError(0);
  }
  if (reply.ok) return reply;
  throw new ApiError(reply.status, await reply.json().catch(() => null), Number(reply.headers.get("Retry-After")) || 0);
}

export const models = async () => (await (await send("/models")).json()).models;

/* The events of a text/event-stream as [name, data]. */
async function* events(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part; !(part = await reader.read()).done;) {
    text += part.value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const name = /^event: ?(.*)$/m.exec(text.slice(0, end)), data = /^data: ?(.*)$/m.exec(text.slice(0, end));
      if (name && data) yield [name[1], JSON.parse(data[1])];
    }
  }
}

/* An error that comes after the stream has begun has a code, but no status. */
const STATUS = { deadline_exceeded: 504, unavailable: 503, queue_full: 429, invalid_request: 400 };

async function stream(path, body, onText, signal) {
  const reply = await send(path, { ...body, stream: true }, signal);
  let text = "";
  try {
    for await (const [name, data] of events(reply)) {
      if (name === "token") onText((text += data.text ?? ""));
      else if (name === "result") return data;
      else if (name === "error") throw new ApiError(STATUS[data.code] ?? 500, data);
    }
  } catch (error) {
    if (error.name === "AbortError" || error instanceof ApiError) throw error;
  }
  throw new ApiError(0); /* cut off */
}

async function ask(path, body, onText, signal) {
  return onText ? stream(path, body, onText, signal) : (await send(path, body, signal)).json();
}

/* The fields of a search. */
export const search = ({ model, strategy, beam, seed }) => ({ model, strategy, ...(strategy === "beam" && { beam_size: beam }), ...(strategy === "sample" && seed !== undefined && { seed }) });

/* The sentences of one text. A model without attention is asked again without. onText: streams; gets the text so far. */
export async function decode(body, { path = "/attention", onText, signal, include = [] } = {}) {
  const full = { ...body, include: [...INCLUDE, ...include] };
  let reply;
  try {
    reply = await ask(path, full, onText, signal);
  } catch (error) {
    if (!(error.status === 400 && error.field === "include")) throw error;
    reply = await ask(path, { ...full, include: full.include.filter((name) => !ATTENDED.includes(name)) }, onText, signal);
  }
  const answer = (reply.translations ?? reply.results)[0];
  return { model: reply.model, text: answer.text, sentences: answer.sentences };
}

/* How likely the model takes one result to be for each of the texts: log-probabilities. */
export async function score(model, texts, translation) {
  const reply = await ask("/attention", { model, text: texts, target: texts.map(() => translation), include: ["eos"] });
  return reply.results.map(({ sentences }) => sentences[0].log_prob);
}
