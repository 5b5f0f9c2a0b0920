/* The thread of an engine that has its files, and through which its calls go. It gets {load, options}, and then calls,
 * {id, what, body, streamed}, which the engine answers with {id, event}, any number of them, and {id, status, bytes};
 * or with {id, error}. {cancel} has the id of a call that nobody waits for any more. */
import { join, packagesFor } from "./data.js";
import { readModel } from "./models.js";

const inNode = typeof process === "object" && Boolean(process.versions?.node);
/* The engine is compiled for a browser's workers; all that it reads of them is the address. */
globalThis.self ??= globalThis;
globalThis.location ??= new URL(import.meta.url);

/* Threads share memory, which browsers allow in isolated pages. One thread is left to the page. Each that decodes has
 * batches of its own for every model, and a page seldom has sentences for more than MOST_WORKERS. */
const isolated = !inNode && globalThis.crossOriginIsolated === true, MOST_WORKERS = 8;
/* Threads besides those that decode, for what comes before and after; the engine starts more of them when it needs
 * them. A page is the only client of its engine, so there is no reason to bound how much of it waits. */
const CHORES = 2, QUEUE = ["--queue=1000000", "--queue-work=1000000000000"];
/* In pages of 64 KiB. Some devices reserve the greatest size of a shared memory at once, and have no room for 4 GB. */
const FIRST_PAGES = 256, MOST_PAGES = [65536, 16384];

/* A program with i16x8.relaxed_dot_i8x16_i7x16_s: where it is valid, the engine is one that uses it. The worker of its
 * threads is the same. */
const RELAXED = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 16, 1, 14, 0,
  65, 0, 253, 15, 65, 0, 253, 15, 253, 146, 2, 26, 11);
const ENGINES = WebAssembly.validate(RELAXED) ? "relaxed/" : "";

const encoder = new TextEncoder(), ERROR_BYTES = 1024;
/* numbers: by the ids of calls that the engine has not answered yet, its own */
let library, engine;
const numbers = new Map();

const post = (message, transferred = []) => port.postMessage(message, transferred);

const readBytes = async (url) => {
  if (inNode)
    return (await import("node:fs/promises")).readFile(url);
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
};

const addressOf = (name) => new URL(name, import.meta.url).href;

/* Reads a compressed file of the package. Some servers say that it is encoded, and a browser then has decoded it. */
const readOwn = async (name) => {
  const bytes = await readBytes(new URL(`${name}.gz`, import.meta.url));
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b)
    return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

const allocate = (size) => {
  const pointer = library._malloc(size) >>> 0;
  if (pointer === 0)
    throw new Error("out of memory");
  return pointer;
};

/** Copies bytes into the engine's memory. */
const copy = (bytes) => {
  const pointer = allocate(bytes.length);
  library.writeArrayToMemory(bytes, pointer);
  return pointer;
};

/* The engine's memory, if threads may share one. */
const sharedMemory = () => {
  for (const maximum of isolated ? MOST_PAGES : []) {
    try {
      return new WebAssembly.Memory({ initial: FIRST_PAGES, maximum, shared: true });
    } catch {
      /* there is no room */
    }
  }
  return undefined;
};

/* A worker's own script must have the page's origin. */
const threadScript = async () => {
  const address = addressOf("engine-threads.worker.js");
  return new URL(address).origin === self.origin ? address
    : URL.createObjectURL(new Blob([await readBytes(address)], { type: "text/javascript" }));
};

const start = async (module, settings) => {
  const [{ default: startEngine }, wasmBinary] =
    await Promise.all([import(`./${module}.js`), readOwn(`${module}.wasm`)]);
  return startEngine({ wasmBinary, onEvent: (id, event) => post({ id, event }), onEnd, ...settings });
};

/* Options with those of the defaults that they lack. */
const nameOf = (option) => option.split("=")[0];
const withDefaults = (options, defaults) =>
  [...defaults.filter((one) => !options.some((option) => nameOf(option) === nameOf(one))), ...options];

/* Starts the engine without threads, or with them. Resolves to the options that it is opened with, how many threads
 * decode, and whether calls are decoded together. */
const startFor = async (options) => {
  const memory = !options.includes("--threads=false") && sharedMemory();
  if (!memory) {
    library = await start(`${ENGINES}engine`, {});
    return { flags: withDefaults(options, ["--threads=false"]), threads: 1, together: false };
  }
  const usual = Math.max(1, Math.min(MOST_WORKERS, navigator.hardwareConcurrency - 1));
  const flags = withDefaults(options, [`--workers=${usual}`, "--resident", ...QUEUE]);
  const threads = Number(flags.find((flag) => nameOf(flag) === "--workers").split("=")[1]);
  const script = await threadScript();
  library = await start(`${ENGINES}engine-threads`, { wasmMemory: memory, threads: threads + CHORES,
    mainScriptUrlOrBlob: addressOf(`${ENGINES}engine-threads.js`),
    locateFile: (name) => name.endsWith(".worker.js") ? script : name });
  return { flags, threads, together: true };
};

const configOf = (files) => {
  const [, bytes] = files.find(([name]) => name === "config.json") ?? [];
  return bytes ? JSON.parse(new TextDecoder().decode(bytes)) : {};
};

/* Gives the engine ICU's data for these models. */
const setData = async (models) => {
  const data = join(await Promise.all(packagesFor(models.map(configOf)).map((name) => readOwn(`icu/${name}.dat`))));
  const pointer = allocate(data.length + 16), aligned = pointer + (16 - pointer % 16); /* it stays */
  library.writeArrayToMemory(data, aligned);
  if (!library._host_set_data(aligned))
    throw new Error("the data in icu/ belongs to another version");
};

const load = async ({ id, load: folders, options }) => {
  const [models, { flags, ...how }] = await Promise.all([Promise.all(folders.map(readModel)), startFor(options)]);
  await setData(models);
  const paths = models.map((files, i) => {
    const path = `/model-${i}`;
    library.FS.mkdir(path);
    for (const [name, bytes] of files)
      library.FS.writeFile(`${path}/${name}`, bytes);
    return path;
  });
  const texts = [...paths.map((path) => `--model=${path}`), ...flags].map((flag) => copy(encoder.encode(`${flag}\0`)));
  const list = allocate(4 * texts.length), error = allocate(ERROR_BYTES);
  texts.forEach((pointer, i) => library.setValue(list + 4 * i, pointer, "i32"));
  library.setValue(error, 0, "i8");
  engine = library._alignd_open(list, texts.length, error);
  const message = library.UTF8ToString(error);
  [...texts, list, error].forEach((pointer) => library._free(pointer));
  /* what the engine needs of the files, it has in its memory */
  models.forEach((files, i) => files.forEach(([name]) => library.FS.unlink(`${paths[i]}/${name}`)));
  if (engine === 0)
    throw new Error(message);
  post({ id, ...how });
};

const onEnd = (id, status, bytes) => {
  numbers.delete(id);
  if (status === 0)
    post({ id, error: "out of memory" });
  else
    post({ id, status, bytes }, [bytes.buffer]);
};

/* The engine may answer before _host_call returns; without threads it always does. */
const call = ({ id, what, body, streamed }) => {
  const name = encoder.encode(`${what}\0`), request = typeof body === "string" ? encoder.encode(body) : body;
  const message = allocate(name.length + request.length);
  library.writeArrayToMemory(name, message);
  library.writeArrayToMemory(request, message + name.length);
  numbers.set(id, 0);
  const number = library._host_call(engine, message, name.length + request.length, id, streamed);
  library._free(message);
  if (number === 0)
    onEnd(id, 0);
  else if (numbers.has(id))
    numbers.set(id, number);
};

const answer = async (message) => {
  try {
    if (message.load)
      await load(message);
    else if (message.cancel)
      library._host_cancel(engine, numbers.get(message.cancel) ?? 0);
    else
      call(message);
  } catch (error) {
    post({ id: message.id, error: error.message });
  }
};

/* A browser drops messages that come while a module waits for another, so nothing is awaited there. */
let port = self;
if (inNode) {
  port = (await import("node:worker_threads")).parentPort;
  port.on("message", answer);
} else {
  self.addEventListener("message", ({ data }) => answer(data));
}
