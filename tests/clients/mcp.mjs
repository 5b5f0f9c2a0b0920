/* The Model Context Protocol, by its own client, over HTTP and over stdio: node mcp.mjs ALIGND, from the top folder.
 * The client compares structured content with the output schemas of the tools. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, before, after } from "node:test";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { startDaemon } from "./daemon.mjs";

const program = process.argv[2] ?? "build/alignd", models = ["weights/en-fr", "weights/de-en"];
let daemon;

before(async () => { daemon = await startDaemon(program, models); });
after(() => daemon.stop());

const overHttp = (url = daemon.url, headers = {}) =>
  new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
const overStdio = () => new StdioClientTransport({ command: program, stderr: "ignore",
  args: ["mcp", ...models.flatMap((model) => ["--model", model]), "--default-model", "en-fr"] });

async function connect(transport) {
  const client = new Client({ name: "tests", version: "1" });
  await client.connect(transport);
  await client.listTools(); /* the client checks results against the schemas that it has seen */
  return client;
}

const call = async (client, name, args) => {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, false, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
};

for (const [name, transport] of [["HTTP", overHttp], ["stdio", overStdio]])
  test(`every tool over ${name}`, async () => {
    const client = await connect(transport());
    try {
      assert.equal(client.getServerVersion().name, "alignd");
      assert.match(client.getInstructions(), /warnings/);
      await client.ping();
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map((tool) => tool.name), ["translate", "align", "detect", "languages", "translate_file"]);
      for (const tool of tools) {
        assert.ok(tool.description.length > 100 && tool.inputSchema && tool.outputSchema);
        assert.equal(tool.annotations.readOnlyHint, true);
      }

      const { translations } = await call(client, "translate", { texts: ["I like snow.", "I saw Green Day."],
        target: "fr", source: "en", protect: ["Green Day"], glossary: { snow: "la glace" } });
      assert.match(translations[0].text, /la glace/);
      assert.match(translations[1].text, /Green Day/);
      assert.deepEqual(translations[0].warnings, []);

      const aligned = await call(client, "align", { text: "I have 12 yellow apples.", translation: "J’ai 15 pommes.",
        source: "en", target: "fr" });
      assert.ok(aligned.links.some(([i, j]) => aligned.words.source[i] === "apples"
        && aligned.words.target[j] === "pommes"));
      assert.ok(aligned.phrases.some((one) => one.source === "apples" && one.target === "pommes"));
      assert.deepEqual(aligned.missing, ["yellow"]);
      assert.ok(aligned.quality > 0 && aligned.quality < 0.5);
      assert.deepEqual(aligned.warnings.map((warning) => [warning.code, warning.source, warning.target]),
        [["numbers", ["12"], ["15"]]]);
      const through = await call(client, "align", { text: "Ich mag Schnee.", translation: "J'aime la neige.",
        source: "de", target: "fr" });
      assert.ok(through.phrases.some((one) => one.source === "Schnee" && one.target === "neige"));

      assert.equal((await call(client, "detect", { text: "Wo ist der Bahnhof, bitte?" })).language, "de");
      const { languages } = await call(client, "languages", {});
      assert.ok(languages.find((one) => one.code === "de").targets.includes("fr"));
      const file = await call(client, "translate_file", { name: "film.srt", source: "en", target: "fr",
        content: "1\n00:00:01,000 --> 00:00:04,000\nWhere is the train station?\n" });
      assert.equal(file.name, "film.fr.srt");
      assert.equal(file.content, "1\n00:00:01,000 --> 00:00:04,000\nOù est la gare ?\n");
      const packed = await call(client, "translate_file", { name: "a.txt", source: "en", target: "fr",
        content_base64: Buffer.from("I like snow.\n").toString("base64") });
      assert.match(packed.content, /neige/);

      for (const [tool, args, message] of [
        ["translate", { texts: ["A"], target: "xx" }, /xx/],
        ["translate", { texts: ["A"], target: "fr", tone: "formal" }, /tone/],
        ["translate", { target: "fr" }, /texts is missing/],
        ["translate_file", { name: "a.srt", target: "fr" }, /content/],
        ["translate_file", { name: "a.exe", content: "A", target: "fr" }, /exe/]]) {
        const failed = await client.callTool({ name: tool, arguments: args });
        assert.equal(failed.isError, true);
        assert.match(failed.content[0].text, message);
      }
      await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), { code: -32602 });
      await assert.rejects(client.listPrompts(), /prompts|-32601/);
    } finally {
      await client.close();
    }
  });

/* A zip archive of these files, stored: {name: text}. */
function zip(files) {
  const parts = [], entries = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const bytes = Buffer.from(text), shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt32LE(crc32(bytes), 10);
    shared.writeUInt32LE(bytes.length, 14);
    shared.writeUInt32LE(bytes.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(20, 4);
    shared.copy(entry, 6);
    entry.writeUInt32LE(at, 42);
    entries.push(entry, Buffer.from(name));
    parts.push(Buffer.from("PK\x03\x04"), shared, Buffer.from(name), bytes);
    at += 4 + shared.length + name.length + bytes.length;
  }
  const end = Buffer.alloc(22), count = entries.length / 2, directory = Buffer.concat(entries);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}

test("a document that is not text comes and goes in base64", async () => {
  const client = await connect(overHttp()), type = "application/vnd.openxmlformats-officedocument.wordprocessingml";
  try {
    const document = zip({
      "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
        + `PartName="/word/document.xml" ContentType="${type}.document.main+xml"/></Types>`,
      "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
        + "<w:p><w:r><w:t>I like snow.</w:t></w:r></w:p></w:body></w:document>" });
    const file = await call(client, "translate_file", { name: "letter.docx", source: "en", target: "fr",
      content_base64: document.toString("base64") });
    assert.equal(file.name, "letter.fr.docx");
    const packed = Buffer.from(file.content_base64, "base64");
    assert.equal(packed.subarray(0, 4).toString("latin1"), "PK\x03\x04");
    const wrong = await client.callTool({ name: "translate_file", arguments: { name: "letter.docx", target: "fr",
      content_base64: "not base64!" } });
    assert.equal(wrong.isError, true);
  } finally {
    await client.close();
  }
});

test("with API keys, a client needs one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "alignd-mcp-"));
  const { stdout, stderr } = await promisify(execFile)(program, ["key", "--name", "agent"]);
  await writeFile(join(folder, "keys"), stdout);
  const keyed = await startDaemon(program, models, ["--api-keys", join(folder, "keys")]);
  try {
    await assert.rejects(connect(overHttp(keyed.url)), /401|API key/);
    const client = await connect(overHttp(keyed.url, { Authorization: `Bearer ${stderr.trim().split(" ").at(-1)}` }));
    assert.equal((await call(client, "detect", { text: "Where is the train station?" })).language, "en");
    await client.close();
  } finally {
    keyed.stop();
    await rm(folder, { recursive: true });
  }
});
