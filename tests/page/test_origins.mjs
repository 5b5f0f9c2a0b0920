/* Access from other origins: pages of other sites, and host names that resolve here, try each row of the table in
 * server/OPERATIONS.md in every way that a page can. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { becomes, PATIENCE_MS, program, STRANGE, visit } from "./browser.mjs";

const work = mkdtempSync(join(tmpdir(), "alignd-origins-")), GLOSSARIES = join(work, "glossaries"),
  MODELS = ["weights/fr-en"];
const SECRET = "Geheimnis", yes = (word) => word === "yes";
let site, daemon, keyed, door, keyedDoor, adminKey, rows, examples;

/* Rows of the table: {method, path, noKey, key, admin, page}, one per method. */
function readRows() {
  const pattern = /^\| `([A-Z ]+) (\/\S*)` \| (yes|no) \| (yes|no) \| (yes|no) \| (yes|no) \|$/gm;
  return [...readFileSync("server/OPERATIONS.md", "utf8").matchAll(pattern)]
    .flatMap(([, methods, path, noKey, key, admin, page]) =>
    methods.split(" ").map((method) => ({ method, path, noKey: yes(noKey), key: yes(key), admin: yes(admin),
      page: yes(page) })));
}

before(async () => {
  site = createServer((request, response) => response.writeHead(200, { "Content-Type": "text/html" })
    .end("<!DOCTYPE html><title>another site</title>"));
  await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
  const made = spawnSync(program, ["key", "--name", "admin", "--role", "admin"], { encoding: "utf8" });
  adminKey = /[0-9A-Za-z_-]{20,}/.exec(made.stderr)[0];
  writeFileSync(join(work, "keys"), made.stdout);
  daemon = await startDaemon(program, MODELS, ["--glossaries", GLOSSARIES]);
  keyed = await startDaemon(program, MODELS, ["--glossaries", join(work, "others"), "--api-keys", join(work, "keys")]);
  door = await openDoor(daemon.url);
  keyedDoor = await openDoor(keyed.url);
  rows = readRows();
  const { paths } = await (await fetch(`${daemon.url}/openapi.json`)).json();
  examples = paths;
});
after(() => {
  door?.stop();
  keyedDoor?.stop();
  daemon?.stop();
  keyed?.stop();
  site?.close();
  rmSync(work, { recursive: true });
});

const origin = (host) => `http://${host}:${site.address().port}`;

/* A proxy to the daemon at `url` that sees its replies, which a browser hides from pages and partly from its tools:
 * {url, answer, stop}. /attack is an attacker's page, as if its host name had been rebound after the page was
 * loaded. */
async function openDoor(url, host = "127.0.0.1") {
  let hears = () => {};
  const door = createServer((request, response) => {
    if (request.url === "/attack") return response.writeHead(200, { "Content-Type": "text/html" })
      .end("<!DOCTYPE html><title>its own site before</title>");
    const { method, headers } = request, asked = ask(`${url}${request.url}`, { method, headers }, (reply) => {
      hears(`${method} ${new URL(request.url, url).pathname}`, reply.statusCode);
      reply.pipe(response.writeHead(reply.statusCode, reply.headers));
    });
    asked.on("error", () => response.destroy()); /* the request was refused by its head */
    return request.pipe(asked);
  });
  await new Promise((ready) => door.listen(0, "127.0.0.1", ready));
  /* Status of the next reply to this method and path. */
  const answer = (wanted) => new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no ${wanted} came`)), PATIENCE_MS);
    hears = (line, status) => { if (line === wanted) { clearTimeout(late); resolve(status); } };
  });
  return { url: `http://${host}:${door.address().port}`, answer, stop: () => {
    door.close();
    door.closeAllConnections();
  } };
}

/* ---- the user's data on the server ---- */

async function call(path, options) {
  const reply = await fetch(`${daemon.url}${path}`, options);
  assert.equal(reply.status < 300, true, `${path}: ${reply.status}`);
  return reply.json();
}
const post = (path, body) =>
  call(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
function upload(path, fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  body.append("file", new Blob([`${SECRET}.\n`]), "a.txt");
  return call(path, { method: "POST", body });
}
const state = ({ document_id: id, document_key: key }) => post(`/v2/document/${id}`, { document_key: key });

/* Create one of everything: {file, name, v2, v3, document}, to fill in paths. */
async function makeThings() {
  const { translatedFileUrl } = await upload("/translate_file", { source: "fr", target: "en" });
  const document = await upload("/v2/document", { source_lang: "FR", target_lang: "EN" });
  await becomes(async () => assert.equal((await state(document)).status, "done"));
  const entries = { source_lang: "fr", target_lang: "en", entries: `livre\t${SECRET}`, entries_format: "tsv" };
  const { glossary_id: v2 } = await post("/v2/glossaries", { name: SECRET, ...entries });
  const { glossary_id: v3 } = await post("/v3/glossaries", { name: SECRET, dictionaries: [entries] });
  return { file: translatedFileUrl.split("/").at(-1), name: "fr-en", v2, v3, document };
}
/* Everything that a page could have changed. */
async function snapshot({ document }) {
  const { models, generation } = await call("/models");
  return { glossaries: [await call("/v2/glossaries"), await call("/v3/glossaries"), readFileSync(GLOSSARIES, "utf8")],
    models: models.map(({ name }) => name), generation, document: (await state(document)).status };
}

/* ---- requests that a page can send ---- */

const fill = (path, things) => path.replace("{id}", path.startsWith("/v2/document") ? things.document.document_id
  : path.startsWith("/v3") ? things.v3 : things.v2)
  .replace(/\{(\w+)\}/g, (_, name) => things[name]);
/* Example from the API's description, which would have an effect; {} if there is none. */
function bodyOf({ method, path }, things) {
  const json = examples[path]?.[method.toLowerCase()]?.requestBody?.content?.["application/json"] ?? {};
  const body = structuredClone(json.example ?? Object.values(json.examples ?? {})[0]?.value ?? {});
  if (path.includes("{id}/dictionaries"))
    return { source_lang: "fr", target_lang: "en", entries: "a\tb", entries_format: "tsv" };
  return "document_key" in body ? { ...body, document_key: things.document.document_key } : body;
}
const query = ({ method, path }) => (method === "DELETE" && path.endsWith("/dictionaries")
  ? "?source_lang=fr&target_lang=en" : "");

/* Ways in which a page can send a request with this method. Some need no preflight, and for some the page cannot see
 * the reply. */
const FORMS = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
const WAYS = { GET: ["preflighted", "simple", "opaque", "image", "frame"],
  POST: ["preflighted", "simple", "multipart", "opaque", ...FORMS] };
const waysOf = ({ method }) => WAYS[method] ?? ["preflighted"];
const SEEN = ["preflighted", "simple", "multipart"];

/* Runs in the page: send a request, and return what the page can see of the reply, if anything. */
async function send({ url, method, way, body, headers }) {
  document.body.replaceChildren(); /* remove what was shown before */
  const json = JSON.stringify(body), content = (options) => (method === "GET" ? {} : options);
  const show = (kind, set) => {
    const node = Object.assign(document.createElement(kind), set);
    document.body.append(node);
    return node;
  };
  const fields = () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ source: "fr", target: "en", source_lang: "FR", target_lang: "EN",
      ...body })) form.append(name, typeof value === "string" ? value : JSON.stringify(value));
    form.append("file", new Blob(["Le livre.\n"]), "b.txt");
    return form;
  };
  if (way === "image" || way === "frame") return void show(way === "image" ? "img" : "iframe", { src: url });
  if (way.includes("/")) {
    const form = show("form",
      { action: url, method, enctype: way, target: show("iframe", { name: `frame${document.forms.length}` }).name });
    form.append(Object.assign(document.createElement("textarea"), { name: "q", value: json }));
    return void form.submit();
  }
  const options = {
    preflighted: { ...content({ body: json }),
      headers: { "X-Priority": "batch", ...content({ "Content-Type": "application/json" }), ...headers } },
    simple: content({ body: json, headers: { "Content-Type": "text/plain" } }),
    multipart: { body: fields() },
    opaque: { mode: "no-cors", credentials: "include", ...content({ body: fields() }) },
  }[way];
  try {
    const reply = await fetch(url, { method, ...options });
    return { status: reply.status, text: await reply.text() };
  } catch (error) {
    return { status: 0, text: String(error) };
  }
}

const tryOne = (page, target, row, way, things, headers) =>
  page.evaluate(send, { url: `${target}${fill(row.path, things)}${query(row)}`, method: row.method, way,
    body: bodyOf(row, things), headers });
/* Send a request. {status, text}: the status, whether or not the page sees it, and the text that the page sees. */
async function answer(page, door, row, way, things, headers) {
  const [path] = fill(row.path, things).split("?");
  const [status, seen] = await Promise.all([door.answer(`${row.method} ${path}`),
    tryOne(page, door.url, row, way, things, headers)]);
  const what = `${row.method} ${row.path}, ${way}: ${status}, seen: ${seen?.status} ${seen?.text.slice(0, 200)}`;
  if (SEEN.includes(way)) assert.ok(seen.status === status || Math.floor(status / 100) === 3, what);
  else assert.ok(!seen?.status && (!seen?.text || seen.text.startsWith("TypeError")), what);
  return { status, text: seen?.text ?? "" };
}

/* ---- the tests ---- */

/* Every refusal is reported on the console. */
const OPTIONS = () => ({ daemon: { url: "" }, also: [door.url, keyedDoor.url], expected: /./ });

test("origins: a page of another site reads and changes what the table says, and nothing else", async () => {
  const things = await makeThings(), was = await snapshot(things);
  assert.ok(rows.length > 50, `${rows.length} rows`);
  /* The same site, another one, and one for which the browser sends no Sec-Fetch-... headers. */
  for (const host of ["127.0.0.1", "localhost", STRANGE]) {
    await visit("", async (page) => {
      for (const row of rows) {
        for (const way of waysOf(row)) {
          const what = `${row.method} ${row.path} from ${host}, ${way}`,
            { status, text } = await answer(page, door, row, way, things);
          assert.ok(row.page ? ![401, 403, 421].includes(status) : status === 403,
            `${what}: ${status} ${text.slice(0, 200)}`);
          if (!row.page && SEEN.includes(way)) assert.match(text, /a page of another site may not do this/, what);
          assert.ok(!text.includes(SECRET), `${what}: the page reads what is the user's`);
        }
        assert.deepEqual(await snapshot(things), was, `${row.method} ${row.path} from ${host}`);
      }
    }, { ...OPTIONS(), daemon: { url: origin(host) } });
  }
  assert.match(await (await fetch(`${daemon.url}/download_file/${things.file}`)).text(), /\w/);
});

test("origins: an administrator's key does not help another page, and without one it has what others have",
  () => visit("", async (page) => {
  const things = { file: "0.txt", name: "fr-en", v2: "0", v3: "0", document: { document_id: "0", document_key: "0" } };
  for (const row of rows) {
    const without = await answer(page, keyedDoor, row, "preflighted", things),
      refused = ({ status }) => [401, 403].includes(status);
    const withKey = await answer(page, keyedDoor, row, "preflighted", things, { Authorization: `Bearer ${adminKey}` });
    assert.equal(refused(without), !(row.noKey && row.page),
      `${row.method} ${row.path} without a key: ${without.status} ${without.text.slice(0, 200)}`);
    assert.equal(refused(withKey), !row.page,
      `${row.method} ${row.path} with a key: ${withKey.status} ${withKey.text.slice(0, 200)}`);
  }
}, { ...OPTIONS(), daemon: { url: origin("localhost") } }));

test("origins: a name that leads here (DNS rebinding) reads and changes nothing", async () => {
  const things = await makeThings(), was = await snapshot(things), strange = await openDoor(daemon.url, STRANGE);
  try {
    await visit("attack", async (page) => {
      for (const row of rows) {
        for (const way of waysOf(row).filter((one) => one !== "opaque")) { /* replies within one site are not opaque */
          const { status, text } = await answer(page, strange, row, way, things);
          assert.equal(status, 421, `${row.method} ${row.path} as ${STRANGE}, ${way}: ${text.slice(0, 200)}`);
        }
        assert.deepEqual(await snapshot(things), was, `${row.method} ${row.path}`);
      }
    }, { ...OPTIONS(), daemon: { url: strange.url } });
  } finally {
    strange.stop();
  }
});

test("origins: a page that --cors names does what the page may, and a link that a user follows is shown", async () => {
  const friend = await startDaemon(program, MODELS,
    ["--glossaries", join(work, "friends"), "--cors", origin("localhost")]);
  try {
    /* 0: the browser hides even the refusal from the page. */
    for (const [host, status] of [["localhost", 200], ["127.0.0.1", 0]]) {
      await visit("", async (page) => {
        const seen = await tryOne(page, friend.url, { method: "GET", path: "/v2/glossaries" }, "preflighted", {});
        assert.equal(seen.status, status, seen.text);
        await page.evaluate((href) => {
          document.body.innerHTML = `<a href="${href}">metrics</a>`;
        }, `${friend.url}/metrics`);
        await page.getByText("metrics").click();
        await page.getByText("alignd_requests_total").first().waitFor();
      }, { ...OPTIONS(), daemon: { url: origin(host) }, also: [friend.url] });
    }
  } finally {
    friend.stop();
  }
});

test("origins: no other page starts a download without a preflight", async () => {
  let asked = 0;
  const mirror = createServer((request, response) => { asked++; response.writeHead(404).end(); });
  await new Promise((ready) => mirror.listen(0, "127.0.0.1", ready));
  const fetching = await startDaemon(program, MODELS,
    ["--fetch", "mozilla", "--mirror", `http://127.0.0.1:${mirror.address().port}`, "--deadline-ms", "2000"]);
  const query = `?${new URLSearchParams({ text: "Hola.", source: "es", target: "en" })}`;
  const row = (method) => ({ method, path: `/translate${query}` }), way = await openDoor(fetching.url);
  try {
    for (const host of ["localhost", STRANGE]) {
      await visit("", async (page) => {
        for (const method of ["GET", "POST"])
          for (const one of waysOf({ method }).filter((name) => name !== "preflighted" || method === "GET")) {
            const { status } = await answer(page, way, row(method), one, {});
            assert.ok([200, 400, 503].includes(status), `${method} from ${host}, ${one}: ${status}`);
          }
      }, { ...OPTIONS(), daemon: { url: origin(host) }, also: [way.url] });
    }
    assert.equal(asked, 0);
  } finally {
    way.stop();
    fetching.stop();
    mirror.close();
  }
});
