/* Server-sent events as a page reads them, with fetch's reader: node stream.mjs ALIGND, from the top folder. */
import assert from "node:assert/strict";
import { test, before, after } from "node:test";
import { startDaemon } from "./daemon.mjs";

const program = process.argv[2] ?? "build/alignd";
let daemon;

before(async () => {
  daemon = await startDaemon(program, ["weights/en-fr"], ["--heartbeat-ms", "20"]);
});

after(() => daemon.stop());

const post = (body, signal) => fetch(`${daemon.url}/translate`, { method: "POST", body: JSON.stringify(body), signal });

/* Yields {name, data, chunk}: chunk counts the pieces that the network brought. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let chunk = 0; ; chunk++) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const found = /^event: (\w+)\ndata: (.*)$/.exec(block);
      if (found) yield { name: found[1], data: JSON.parse(found[2]), chunk };
      else assert.match(block, /^:/);
    }
  }
  assert.equal(text, "");
}

test("tokens come one after the other and make up the text", async () => {
  // long enough that a busy machine cannot bring it all in one piece; verbatim, since what has been sent is not
  // corrected
  const body = { text: "The children were playing in the snow behind the house. Où?", strategy: "greedy",
    min_length: 800, max_length: 800, verbatim: true };
  const response = await post({ ...body, stream: true });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const texts = [];
  let result, last, chunks = new Set();
  for await (const { name, data, chunk } of events(response)) {
    if (name === "token") {
      texts[data.sentence] = (texts[data.sentence] ?? "") + data.text;
      chunks.add(chunk);
    }
    if (name === "result") result = data;
    last = name;
  }
  assert.equal(last, "result");
  assert.ok(chunks.size > 1);
  assert.deepEqual(texts, result.translations[0].sentences.map((sentence) => sentence.text));
  assert.deepEqual(result, await (await post(body)).json());
});

test("a reader that leaves stops the decoding", async () => {
  const leave = new AbortController();
  const body = { text: Array(64).fill("Snow."), strategy: "greedy", min_length: 900, max_length: 900, stream: true };
  await assert.rejects(async () => {
    for await (const { name } of events(await post(body, leave.signal))) if (name === "token") leave.abort();
  }, { name: "AbortError" });
  for (let i = 0; ; i++) {
    const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
    if (/cancelled_total\{reason="client"\} 1/.test(metrics) && /rows_live 0/.test(metrics)) break;
    assert.ok(i < 100, metrics);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

test("what is wrong is said before the stream begins", async () => {
  const response = await post({ text: "Snow.", stream: true, beam_size: 99 });
  assert.equal(response.status, 400);
  assert.equal((await response.json()).field, "beam_size");
});
