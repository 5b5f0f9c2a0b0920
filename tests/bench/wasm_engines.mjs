/* The engines that wasm.mjs measures, in Node and in a page alike: functions that open one, with the lines that its
 * translate() translates. Files are paths in Node and addresses in a page. */
const inNode = typeof process === "object" && Boolean(process.versions?.node);

const readFile = async (place) => {
  if (!inNode)
    return (await fetch(place)).arrayBuffer();
  const { buffer, byteOffset, byteLength } = await (await import("node:fs/promises")).readFile(place);
  return buffer.slice(byteOffset, byteOffset + byteLength);
};

/** The npm package whose index.js is at this address. translate() resolves to the number of tokens. */
export async function alignd(lines, index, model, ...options) {
  const { Alignd } = await import(index);
  const engine = await Alignd.load(model, { options });
  const request = { text: lines, include: ["tokens"], split_sentences: false, strategy: "greedy" };
  return {
    translate: async () => (await engine.translate(request)).translations
      .flatMap(({ sentences }) => sentences).reduce((sum, { tokens }) => sum + tokens.length, 0),
    close: () => engine.close(),
  };
}

/** @browsermt/bergamot-translator, whose worker answers {id, name, args} with {id, result} or {id, error}. It does not
 * say how many tokens there are. */
export async function bergamot(lines, folder, ...files) {
  const { Worker } = inNode ? await import("node:worker_threads") : globalThis;
  const worker = new Worker(`${folder}/translator-worker.js`);
  const once = (listener) => inNode ? worker.once("message", listener)
    : worker.addEventListener("message", ({ data }) => listener(data), { once: true });
  const call = (name, ...args) => new Promise((resolve, reject) => {
    once(({ result, error }) => error ? reject(new Error(error.message ?? error)) : resolve(result));
    worker.postMessage({ id: 1, name, args });
  });
  const [model, shortlist, vocabulary] = await Promise.all(files.map(readFile));
  const pair = { from: "a", to: "b" }; /* any: there is one model */
  await call("initialize", { cacheSize: 0, useNativeIntGemm: false });
  await call("loadTranslationModel", pair, { model, shortlist, vocabs: [vocabulary] });
  const texts = lines.map((text) => ({ text, html: false, qualityScores: false }));
  return {
    translate: async () => {
      await call("translate", { models: [pair], texts });
      return undefined;
    },
    close: () => worker.terminate(),
  };
}
