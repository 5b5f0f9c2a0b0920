/* The package's interface. An engine runs in a worker of its own (worker.js). */

/** What the engine refuses. */
export class AligndError extends Error {
  /** status: as in HTTP; 0: the engine could not be opened or has ended. reply: its error, code and field */
  constructor(status, reply) {
    super(reply.error ?? `status ${status}`);
    this.name = "AligndError";
    Object.assign(this, { status, code: reply.code, field: reply.field });
  }
}

const inNode = typeof process === "object" && Boolean(process.versions?.node);

const startWorker = async () => {
  const url = new URL("worker.js", import.meta.url);
  if (inNode)
    return new (await import("node:worker_threads")).Worker(url);
  /* a worker's own script must have the page's origin, but may import others */
  const foreign = url.origin !== globalThis.location.origin &&
    URL.createObjectURL(new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" }));
  return new Worker(foreign || url, { type: "module" });
};

/** Calls back with each message, and with a sentence if the worker fails. */
const listen = (worker, onMessage, onFailure) => {
  if (inNode) {
    worker.on("message", onMessage);
    worker.on("error", (error) => onFailure(error.message));
    worker.on("exit", () => onFailure("the engine has ended"));
  } else {
    worker.addEventListener("message", ({ data }) => onMessage(data));
    worker.addEventListener("error", (event) => onFailure(event.message || "the engine cannot be started"));
  }
};

const bodyOf = (request) =>
  request instanceof Uint8Array || typeof request === "string" ? request : JSON.stringify(request);

/* A page's folder is relative to the page, a program's to the folder that it runs in. */
const placeOf = (folder) =>
  inNode && !/^https?:/.test(folder) ? folder : new URL(folder, globalThis.document?.baseURI).href;

const textOf = (bytes) => new TextDecoder().decode(bytes);
const errorOf = (status, bytes) => new AligndError(status, JSON.parse(textOf(bytes)));
/* An event of a stream has the code of an error, and no status. */
const STATUS = { deadline_exceeded: 504, unavailable: 503, queue_full: 429, invalid_request: 400 };

/** Models in memory and the threads that decode. */
export class Alignd {
  #worker;
  #threads = 1;
  #together = false; /* calls are decoded together */
  #last = 0; /* id of a call */
  #waiting = []; /* calls that the worker does not have */
  #sent = new Map(); /* by id, those that it has */
  #failure = null; /* why nothing can be called any more */

  constructor(worker) {
    this.#worker = worker;
    listen(worker, (reply) => this.#settle(reply), (reason) => this.#fail(reason));
  }

  /** Opens the models in these folders: paths, or addresses from which a folder's files can be fetched. */
  static async load(folders, { options = [] } = {}) {
    const engine = new Alignd(await startWorker()), load = [folders].flat().map((folder) => placeOf(String(folder)));
    try {
      const { threads, together } = await engine.#send({ load, options });
      engine.#threads = threads;
      engine.#together = together;
    } catch (error) {
      await engine.close();
      throw error;
    }
    return engine;
  }

  /** How many threads decode. */
  get threads() { return this.#threads; }

  /**
   * Sends any request of alignd's API and resolves to the reply's bytes. signal: a call that is aborted before its turn
   * is not answered; one whose turn it is has no reply.
   */
  async call(what, request = "", { signal } = {}) {
    const { status, bytes } = await this.#send({ what, body: bodyOf(request) }, { signal });
    if (status !== 200)
      throw errorOf(status, bytes);
    return bytes;
  }

  /**
   * Sends a request that has "stream": true, and resolves to its server-sent events as they come: what the body of
   * fetch's reply is. To cancel the stream is to abort the call.
   */
  async events(what, request, { signal } = {}) {
    const stop = new AbortController(), abort = () => stop.abort(signal.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", abort);
    let controller, begun = false;
    const stream = new ReadableStream({ start: (own) => { controller = own; }, cancel: () => stop.abort() });
    return new Promise((resolve, reject) => {
      const onEvent = (bytes) => {
        begun = true;
        controller.enqueue(bytes);
        resolve(stream);
      };
      this.#send({ what, body: bodyOf(request), streamed: true }, { signal: stop.signal, onEvent })
        .then(({ status, bytes }) => {
          if (!begun && status !== 200)
            throw errorOf(status, bytes);
          if (!begun) /* there was nothing to decode */
            onEvent(new TextEncoder().encode(`event: result\ndata: ${textOf(bytes)}\n\n`));
          controller.close();
        })
        .catch((error) => {
          controller.error(error);
          reject(error);
        })
        .finally(() => signal?.removeEventListener("abort", abort));
    });
  }

  /**
   * Yields the events of a request as [name, data]: "token" as tokens are decided (greedy and sampling only), "result"
   * last. An error is thrown. Leaving the loop aborts the call.
   */
  async *stream(what, request, options) {
    const reader = (await this.events(what, { ...request, stream: true }, options)).getReader();
    try {
      for (let part; !(part = await reader.read()).done;)
        for (const [, name, data] of textOf(part.value).matchAll(/^event: (.*)\ndata: (.*)$/gm)) {
          if (name === "error")
            throw new AligndError(STATUS[JSON.parse(data).code] ?? 500, JSON.parse(data));
          yield [name, JSON.parse(data)];
        }
    } finally {
      await reader.cancel().catch(() => {}); /* of a loop that was left, or a call that was aborted */
    }
  }

  translate(request, options) { return this.#json("translate", request, options); }
  attention(request, options) { return this.#json("attention", request, options); }
  align(request, options) { return this.#json("align", request, options); }
  detect(request, options) { return this.#json("detect", request, options); }
  models() { return this.#json("models"); }
  languages() { return this.#json("languages"); }
  formats() { return this.#json("formats"); }

  /** Translates a file; fields: those of POST /documents, and its name, whose ending says what it is. */
  document(file, { filename, ...fields }) {
    const query = new URLSearchParams({ ...fields, filename }).toString().replaceAll("+", "%20");
    return this.call(`document?${query}`, file);
  }

  /** Ends the engine. Calls that have not been answered are rejected. */
  async close() {
    this.#fail("the engine is closed");
    await this.#worker.terminate();
  }

  async #json(what, request, options) {
    return JSON.parse(textOf(await this.call(what, request, options)));
  }

  async #send(message, { signal, onEvent } = {}) {
    if (this.#failure)
      throw new AligndError(0, { error: this.#failure });
    signal?.throwIfAborted();
    let abort;
    try {
      return await new Promise((resolve, reject) => {
        const call = { message: { ...message, id: ++this.#last }, onEvent, resolve, reject };
        abort = () => {
          reject(signal.reason);
          this.#abandon(call);
        };
        signal?.addEventListener("abort", abort);
        this.#waiting.push(call);
        this.#next();
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /* A worker without threads gets one call at a time, so that the others can still be aborted. */
  #next() {
    while (this.#waiting.length > 0 && (this.#together || this.#sent.size === 0)) {
      const call = this.#waiting.shift();
      this.#sent.set(call.message.id, call);
      this.#worker.postMessage(call.message);
    }
  }

  #abandon(call) {
    call.onEvent = undefined;
    if (this.#sent.has(call.message.id))
      this.#worker.postMessage({ cancel: call.message.id });
    this.#waiting = this.#waiting.filter((one) => one !== call);
  }

  #settle({ id, event, error, ...reply }) {
    const call = this.#sent.get(id);
    if (event) {
      call?.onEvent?.(event);
      return;
    }
    this.#sent.delete(id);
    if (error !== undefined)
      call?.reject(new AligndError(0, { error }));
    else
      call?.resolve(reply);
    this.#next();
  }

  #fail(reason) {
    this.#failure ??= reason;
    for (const { reject } of [...this.#sent.values(), ...this.#waiting])
      reject(new AligndError(0, { error: this.#failure }));
    this.#sent.clear();
    this.#waiting = [];
  }
}
