/* Client of alignd for browsers and Node: JSON over fetch, streams as async iterators, retries when the server is
 * busy. */

const BUSY = [429, 503], WAIT_S = 1; /* without Retry-After */

/* status 0: the server cannot be reached, or its reply was cut off. retryAfter: seconds, 0 if the server gave none. */
export class AligndError extends Error {
  constructor(status, body, retryAfter = 0) {
    super(body?.error ?? (status ? `The server answered ${status}.` : "The server cannot be reached."));
    Object.assign(this, { name: "AligndError", status, code: body?.code, field: body?.field, retryAfter });
  }
}

function wait(seconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(signal.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, 1000 * seconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/* The events of a text/event-stream as [name, data]. */
async function* events(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (let part; !(part = await reader.read()).done;) {
      text += part.value;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const name = /^event: ?(.*)$/m.exec(text.slice(0, end)), data = /^data: ?(.*)$/m.exec(text.slice(0, end));
        if (name && data) yield [name[1], JSON.parse(data[1])];
      }
    }
  } finally {
    reader.cancel().catch(() => {}); /* close the connection if the consumer left the loop */
  }
}

/* An error event within a stream has a code, but no HTTP status. */
const STATUS = { deadline_exceeded: 504, unavailable: 503, queue_full: 429, invalid_request: 400 };

/* server: its address, "" for that of the page; key: its API key; retries: how often to retry when the server is
 * busy; fetch: what answers, if not the browser's own. */
export class Client {
  constructor(server = "", { key = "", retries = 3, fetch = (...request) => globalThis.fetch(...request) } = {}) {
    Object.assign(this, { server: server.replace(/\/$/, ""), key, retries, fetch });
  }

  async #once(path, body, signal) {
    const form = body instanceof FormData, headers = { ...(body && !form && { "Content-Type": "application/json" }),
      ...(this.key && { "X-Api-Key": this.key }) };
    let reply;
    try {
      reply = await this.fetch(this.server + path,
        { signal, headers, ...(body && { method: "POST", body: form ? body : JSON.stringify(body) }) });
    } catch (error) {
      throw signal?.aborted ? error : new AligndError(0);
    }
    if (reply.ok) return reply;
    throw new AligndError(reply.status, await reply.json().catch(() => null),
      Number(reply.headers.get("Retry-After")) || 0);
  }
  /* Send a GET, or a POST if there is a body, and retry while the server is busy. */
  async send(path, body, { signal } = {}) {
    for (let left = this.retries; ; left--) {
      try {
        return await this.#once(path, body, signal);
      } catch (error) {
        if (left <= 0 || !BUSY.includes(error.status)) throw error;
        await wait(error.retryAfter || WAIT_S, signal);
      }
    }
  }
  async json(path, body, options) { return (await this.send(path, body, options)).json(); }

  translate(body, options) { return this.json("/translate", body, options); }
  attention(body, options) { return this.json("/attention", body, options); }
  async models(options) { return (await this.json("/models", undefined, options)).models; }

  /* body: a request, or a FormData with a file for /documents. Yields [name, data]: "token" as tokens are decided
   * (greedy and sampling only), "result" last. An "error" is thrown. Leaving the loop aborts the request. */
  async *stream(path, body, options) {
    if (body instanceof FormData) body.set("stream", "true");
    const reply = await this.send(path, body instanceof FormData ? body : { ...body, stream: true }, options);
    let whole = false;
    try {
      for await (const [name, data] of events(reply)) {
        if (name === "error") throw new AligndError(STATUS[data.code] ?? 500, data);
        whole ||= name === "result";
        yield [name, data];
      }
    } catch (error) {
      throw error instanceof AligndError || options?.signal?.aborted ? error : new AligndError(0);
    }
    if (!whole) throw new AligndError(0);
  }
}
