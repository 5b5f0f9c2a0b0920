/* The package's interface. An engine runs in a worker of its own, which gets a message at a time. */

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

/* A page's folder is relative to the page, a program's to the folder that it runs in. */
const placeOf = (folder) =>
  inNode && !/^https?:/.test(folder) ? folder : new URL(folder, globalThis.document?.baseURI).href;

/** Models in memory and the thread that decodes. Calls are answered one after the other. */
export class Alignd {
  #worker;
  #calls = []; /* that are not answered yet; the worker has the first */
  #failure = null; /* why nothing can be called any more */

  constructor(worker) {
    this.#worker = worker;
    listen(worker, (reply) => this.#settle(reply), (reason) => this.#fail(reason));
  }

  /** Opens the models in these folders: paths, or addresses from which a folder's files can be fetched. */
  static async load(folders, { options = [] } = {}) {
    const engine = new Alignd(await startWorker());
    try {
      await engine.#send({ load: [folders].flat().map((folder) => placeOf(String(folder))), options });
    } catch (error) {
      await engine.close();
      throw error;
    }
    return engine;
  }

  /**
   * Sends any request of alignd's API and resolves to the reply's bytes. signal: a call that is aborted before its turn
   * is not answered; one whose turn it is has no reply.
   */
  async call(what, request = "", { signal } = {}) {
    const body = request instanceof Uint8Array || typeof request === "string" ? request : JSON.stringify(request);
    const { status, bytes } = await this.#send({ what, body }, signal);
    if (status !== 200)
      throw new AligndError(status, JSON.parse(new TextDecoder().decode(bytes)));
    return bytes;
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
    return JSON.parse(new TextDecoder().decode(await this.call(what, request, options)));
  }

  async #send(message, signal) {
    if (this.#failure)
      throw new AligndError(0, { error: this.#failure });
    signal?.throwIfAborted();
    let abort;
    try {
      return await new Promise((resolve, reject) => {
        abort = () => reject(signal.reason);
        signal?.addEventListener("abort", abort);
        this.#calls.push({ message, signal, resolve, reject });
        if (this.#calls.length === 1)
          this.#worker.postMessage(message);
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #settle({ error, ...reply }) {
    const call = this.#calls.shift();
    if (error !== undefined)
      call?.reject(new AligndError(0, { error }));
    else
      call?.resolve(reply);
    this.#calls = this.#calls.filter(({ signal }) => !signal?.aborted);
    if (this.#calls.length > 0)
      this.#worker.postMessage(this.#calls[0].message);
  }

  #fail(reason) {
    this.#failure ??= reason;
    for (const { reject } of this.#calls)
      reject(new AligndError(0, { error: this.#failure }));
    this.#calls = [];
  }
}
