/* The thread of an engine: it answers a message at a time with the library's calls. */
import { join, packagesFor } from "./data.js";
import startEngine from "./engine.js";
import { readModel } from "./models.js";

const inNode = typeof process === "object" && Boolean(process.versions?.node);
/* The engine is compiled for a browser's workers; all that it reads of them is the address. */
globalThis.self ??= globalThis;
globalThis.location ??= new URL(import.meta.url);

const encoder = new TextEncoder();
let library, engine;

const readBytes = async (url) => {
  if (inNode)
    return (await import("node:fs/promises")).readFile(url);
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
};

/* Reads a compressed file of the package. Some servers say that it is encoded, and a browser then has decoded it. */
const readOwn = async (name) => {
  const bytes = await readBytes(new URL(`${name}.gz`, import.meta.url));
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b)
    return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

const allocate = (size) => {
  const pointer = library._malloc(size);
  if (pointer === 0)
    throw new Error("out of memory");
  return pointer;
};

/** Copies bytes, or a string as UTF-8, into the engine's memory, with a NUL. */
const copy = (text) => {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  const pointer = allocate(bytes.length + 1);
  library.HEAPU8.set(bytes, pointer);
  library.HEAPU8[pointer + bytes.length] = 0;
  return { pointer, length: bytes.length };
};

const start = async () => {
  library = await startEngine({ wasmBinary: await readOwn("engine.wasm") });
};

const configOf = (files) => {
  const [, bytes] = files.find(([name]) => name === "config.json") ?? [];
  return bytes ? JSON.parse(new TextDecoder().decode(bytes)) : {};
};

/* Gives the engine ICU's data for these models. */
const setData = async (models) => {
  const data = join(await Promise.all(packagesFor(models.map(configOf)).map((name) => readOwn(`icu/${name}.dat`))));
  const aligned = (allocate(data.length + 16) + 15) & ~15; /* it stays */
  library.HEAPU8.set(data, aligned);
  if (!library._host_set_data(aligned))
    throw new Error("the data in icu/ belongs to another version");
};

const load = async (folders, options) => {
  const [models] = await Promise.all([Promise.all(folders.map(readModel)), start()]);
  await setData(models);
  const paths = models.map((files, i) => {
    const path = `/model-${i}`;
    library.FS.mkdir(path);
    for (const [name, bytes] of files)
      library.FS.writeFile(`${path}/${name}`, bytes);
    return path;
  });
  const flags = [...paths.map((path) => `--model=${path}`), "--threads=false", ...options]
    .map((flag) => copy(flag).pointer);
  const list = allocate(4 * flags.length), error = allocate(1024);
  flags.forEach((flag, i) => { library.HEAPU32[list / 4 + i] = flag; });
  library.HEAPU8[error] = 0;
  engine = library._alignd_open(list, flags.length, error);
  const message = library.UTF8ToString(error);
  [...flags, list, error].forEach((pointer) => library._free(pointer));
  /* what the engine needs of the files, it has in its memory */
  models.forEach((files, i) => files.forEach(([name]) => library.FS.unlink(`${paths[i]}/${name}`)));
  if (engine === 0)
    throw new Error(message);
  return {};
};

const call = (what, body) => {
  const name = copy(what), request = copy(body);
  const reply = library._alignd_call(engine, name.pointer, request.pointer, request.length);
  library._free(name.pointer);
  library._free(request.pointer);
  if (reply === 0)
    throw new Error("out of memory");
  const length = allocate(4), text = library._alignd_reply_text(reply, length);
  const bytes = library.HEAPU8.slice(text, text + library.HEAPU32[length / 4]);
  const status = library._alignd_reply_status(reply);
  library._free(length);
  library._alignd_reply_free(reply);
  return { status, bytes };
};

const answer = async (port, { load: folders, options, what, body }) => {
  try {
    const reply = folders ? await load(folders, options) : call(what, body);
    port.postMessage(reply, reply.bytes ? [reply.bytes.buffer] : []);
  } catch (error) {
    port.postMessage({ error: error.message });
  }
};

/* A browser drops messages that come while a module waits for another, so nothing is awaited there. */
if (inNode) {
  const { parentPort } = await import("node:worker_threads");
  parentPort.on("message", (message) => answer(parentPort, message));
} else {
  self.addEventListener("message", ({ data }) => answer(self, data));
}
