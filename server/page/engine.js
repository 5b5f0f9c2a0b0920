/* The engine of the npm package alignd in place of a server: a fetch() that a worker of this page answers. */

/* By module and models: promises of engines. An element that asks for what another has shares its engine. */
const engines = new Map();

function open(module, models) {
  const key = [module, ...models].join(" ");
  if (!engines.has(key)) {
    const opening = import(/* webpackIgnore: true */ module).then(({ Alignd }) => Alignd.load(models));
    opening.catch(() => engines.delete(key)); /* the next request tries again */
    engines.set(key, opening);
  }
  return engines.get(key);
}

/* The name of the package's call, what it sends, and whether the reply is wanted as a stream. */
async function callOf(path, body) {
  if (!(body instanceof FormData)) return [path.slice(1), body, body && JSON.parse(body).stream];
  const file = body.get("file"), fields = new URLSearchParams([...body].filter(([name]) => name !== "file"));
  fields.set("filename", file.name);
  return [`document?${fields}`.replaceAll("+", "%20"), new Uint8Array(await file.arrayBuffer()), body.get("stream")];
}

const reply = (status, bytes) => new Response(bytes, { status, headers: { "Content-Type": "application/json" } });

/* Answer as a server's fetch(path, {body, signal}) would. module: address of the package's index.js; models: addresses
 * of model folders. */
export async function answer(module, models, path, { body, signal } = {}) {
  try {
    const engine = await open(module, models), [what, sent, streamed] = await callOf(path, body);
    return streamed ? new Response(await engine.events(what, sent, { signal }))
      : reply(200, await engine.call(what, sent, { signal }));
  } catch (error) {
    if (signal?.aborted) throw error;
    const { status, message, code, field } = error;
    return reply(status || 500, JSON.stringify({ error: message, code, field }));
  }
}
