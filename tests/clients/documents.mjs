/* Translated documents, read by other programs: gettext's msgfmt and msgcmp, Python's gettext, xmllint with OASIS'
 * schemas, and readers of subtitles from npm. node documents.mjs ALIGND SCHEMAS, from the top folder. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test, before, after } from "node:test";
import { startDaemon } from "./daemon.mjs";

const require = createRequire(import.meta.url);
const [program = "build/alignd", schemas = "build/xliff"] = process.argv.slice(2);
const model = "weights/en-fr";
const originals = "tests/clients/documents";
const folder = mkdtempSync(join(tmpdir(), "alignd-documents-"));
const MOST_CHARACTERS = 42; // of a line of subtitles
let daemon;

before(async () => {
  daemon = await startDaemon(program, [model]);
});

after(() => {
  daemon.stop();
  rmSync(folder, { recursive: true });
});

async function translateText(text) {
  const reply = await fetch(`${daemon.url}/translate`, { method: "POST", body: JSON.stringify({ text }) });
  return (await reply.json()).translations[0].text;
}

/* {source, text, path}: what the file says, what POST /documents made of it, and where that is kept. */
async function translateFile(name) {
  const form = new FormData();
  const source = readFileSync(join(originals, name), "utf8");
  form.append("file", new Blob([source]), name);
  form.append("source", "en");
  form.append("target", "fr");
  const reply = await fetch(`${daemon.url}/documents`, { method: "POST", body: form });
  const text = await reply.text();
  assert.equal(reply.status, 200, text);
  return { source, text, path: keep(name, text) };
}

function keep(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/* {status, out, err} of a command. */
function run(command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args,
    { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } });
  assert.equal(error, undefined);
  return { status, out: stdout, err: stderr };
}

function succeed(command, ...args) {
  const { status, out, err } = run(command, ...args);
  assert.equal(status, 0, `${command} ${args.join(" ")}: ${err}`);
  return { out, err };
}

/* ---- po ---- */

/* What a Python program would show: gettext, pgettext and ngettext of the questions, in their order. */
const SHOW = `
import gettext, json, sys
messages = gettext.GNUTranslations(open(sys.argv[1], "rb"))
print(json.dumps([getattr(messages, name)(*arguments) for name, *arguments in json.loads(sys.argv[2])]))`;
const show = (mo, questions) => JSON.parse(succeed("python3", "-c", SHOW, mo, JSON.stringify(questions)).out);

test("po: msgfmt finds every message translated, and programs show them", async () => {
  const { text, path } = await translateFile("app.po");
  const mo = join(folder, "app.mo");
  assert.match(succeed("msgfmt", "-c", "--statistics", "-o", mo, path).err, /^9 translated messages\.$/m);
  succeed("msgcmp", path, join(originals, "app.po"));
  assert.ok(text.endsWith(`#~ msgid "An old message"\n#~ msgstr "Un vieux message"\n`));
  const dogs = ["There is %d dog in the garden.", "There are %d dogs in the garden."];
  const [greeting, menu, room, none, one, two, file, name, house, lines, yes] = show(mo, [
    ["gettext", "Good morning."],
    ["pgettext", "menu", "The door is open."],
    ["pgettext", "room", "The door is open."],
    ["ngettext", ...dogs, 0],
    ["ngettext", ...dogs, 1],
    ["ngettext", ...dogs, 2],
    ["gettext", 'The file "%s" has %d lines.\n'],
    ["gettext", "Hello {name}, you have {count} new messages."],
    ["gettext", "The house of %s is big."],
    ["gettext", "The train is late.\nWe are waiting at the station.\n"],
    ["gettext", "Yes"],
  ]);
  assert.equal(greeting, await translateText("Good morning."));
  assert.equal(menu, await translateText("The door is open."));
  assert.equal(room, menu);
  assert.equal(none, one); // in French, none is singular
  assert.notEqual(two, one);
  for (const dog of [one, two]) assert.ok(dog.includes("%d") && !dogs.includes(dog), dog);
  assert.match(file, /%(1\$)?s.*%(2\$)?d|%2\$d.*%1\$s/);
  assert.match(name, /(?=.*\{name\}).*\{count\}/);
  assert.match(house, /%s/);
  assert.doesNotMatch(house, /petite/); // which was fuzzy
  assert.equal(lines.split("\n").length, 3);
  assert.equal(yes, "Oui, c'est fait");
});

test("po: msgfmt would find what a translation does wrong", async () => {
  const { text } = await translateFile("app.po");
  const wrong = [text.replace(/(msgstr\[1\] .*)%d/, "$1%s"), text.replace("charset=UTF-8", "charset=ASCII"),
    text.replace(/msgstr\[1\] .*\n/, "")];
  for (const damaged of wrong) {
    assert.notEqual(damaged, text);
    assert.notEqual(run("msgfmt", "-c", "-o", "/dev/null", keep("wrong.po", damaged)).status, 0);
  }
});

/* A model of another language, as far as its folder says. */
function modelInto(language) {
  const path = join(folder, language);
  mkdirSync(path);
  for (const name of readdirSync(model).filter((name) => name !== "manifest.json" && name !== "config.json"))
    symlinkSync(resolve(model, name), join(path, name));
  const config = JSON.parse(readFileSync(join(model, "config.json"), "utf8"));
  writeFileSync(join(path, "config.json"), JSON.stringify({ ...config, target: language }));
  return path;
}

/* How many forms messages get, and for which of 0, 1, 2, ... the singular is used. */
const forms = { ja: 1, de: 2, "pt-BR": 2, lv: 3, ga: 3, ro: 3, lt: 3, ru: 3, cs: 3, pl: 3, sl: 4, ar: 6 };
for (const [language, count] of Object.entries(forms))
  test(`po: msgfmt takes the ${count} forms of ${language}`, () => {
    const { out } = succeed(program, "translate", "--model", modelInto(language), join(originals, "app.po"));
    const path = keep(`${language}.po`, out), mo = join(folder, `${language}.mo`);
    assert.equal(out.match(/^msgstr\[\d\] ".+"$/gm).length, count);
    const fuzzy = count > 2 ? ", 1 fuzzy translation" : "";
    assert.match(succeed("msgfmt", "-c", "--statistics", "-o", mo, path).err,
      new RegExp(`${9 - (count > 2)} translated messages${fuzzy}\\.$`, "m"));
    succeed("msgfmt", "-c", "--use-fuzzy", "-o", mo, path);
    const dogs = ["There is %d dog in the garden.", "There are %d dogs in the garden."];
    const [one, five] = show(mo, [1, 5].map((n) => ["ngettext", ...dogs, n]));
    assert.equal(one !== five, count > 1);
    assert.ok(!dogs.includes(one) && !dogs.includes(five));
  });

/* ---- xliff ---- */

const xpath = (path, expression) => run("xmllint", "--nonet", "--xpath", expression, path).out.trim();
const number = (path, expression) => Number(xpath(path, `count(${expression})`));
const element = (name) => `*[local-name()='${name}']`;
/* Of the elements within those of this name: their names and identifiers. */
const marks = (path, name) =>
  [...xpath(path, `//${element(name)}`).matchAll(/<(\w+)(?=\s)[^>]*?\s(id|mid|startRef)="([^"]*)"/g)]
    .map((found) => found.slice(1).join(" ")).sort();

const xliffs = [
  { name: "app-1.2.xlf", schema: "xliff-core-1.2-strict.xsd", targets: 5,
    made: "//*[local-name()='target' and @state='translated']", count: 4, language: "//@target-language" },
  { name: "app-2.xlf", schema: "xliff-core-2.0.xsd", targets: 4,
    made: "//*[local-name()='segment' and @state='translated']/*[local-name()='target']", count: 3,
    language: "//@trgLang" },
];
for (const { name, schema, targets, made, count, language } of xliffs) {
  const validate = (path) => run("xmllint", "--nonet", "--noout", "--schema", join(schemas, schema), path);

  test(`${name}: valid, with a target for every source that lacked one`, async () => {
    const { source, text, path } = await translateFile(name);
    const original = join(originals, name);
    assert.deepEqual(validate(path), { status: 0, out: "", err: `${path} validates\n` });
    assert.deepEqual([number(path, `//${element("target")}`), number(path, made)], [targets, count]);
    assert.equal(number(path, `${made}[normalize-space() = '' or string() = string(../*[local-name()='source'])]`), 0);
    assert.equal(xpath(path, `string(${language})`), "fr");
    assert.equal(xpath(path, `string((${made})[1])`), await translateText("Good morning."));
    assert.match(xpath(path, `//*[@id='done']`), /final"[\s\S]*>Oui, c'est fait</);
    assert.equal(number(path, `//*[@id='code']//${element("target")}`), 0);
    for (const kept of ["source", "note", "seg-source", "data"])
      assert.equal(xpath(path, `//${element(kept)}`), xpath(original, `//${element(kept)}`));
    // inline elements of the sources, or of their segments, stand in the targets, too; none do in those that were there
    // before
    const inline = marks(original, "source").concat(marks(original, "seg-source"));
    assert.ok(inline.length > 2);
    assert.deepEqual(marks(path, "target"), inline.sort());
    assert.equal(text.split("\n").length,
      source.split("\n").length + count - (source.match(/state="new"|<target><\/target>/g) ?? []).length);
  });

  test(`${name}: the schema would find what a target does wrong`, async () => {
    const { text } = await translateFile(name);
    for (const damaged of [text.replace('state="translated"', 'state="perhaps"'),
      text.replace("</target>", "</target><target/>"), text.replace(/<target/, '<target id="1" idd="2"')]) {
      assert.notEqual(damaged, text);
      assert.notEqual(validate(keep("wrong.xlf", damaged)).status, 0);
    }
  });
}

/* ---- subtitles ---- */

/* cues: {id, start, end, settings, text}. */
function checkCues(cues, originals, count) {
  const times = ({ id, start, end, settings }) => ({ id, start, end, settings });
  const tags = ({ text }) => (text.match(/<[^>]*>|\{[^}]*\}/g) ?? []).sort();
  assert.equal(cues.length, count);
  assert.deepEqual(cues.map(times), originals.map(times));
  cues.forEach((cue, i) => {
    const lines = cue.text.split("\n"), before = originals[i].text.split("\n");
    assert.deepEqual(tags(cue), tags(originals[i]));
    assert.ok(lines.length >= before.length, cue.text);
    for (const line of lines) assert.ok([...line.replace(/<[^>]*>|\{[^}]*\}/g, "")].length <= MOST_CHARACTERS, line);
    assert.equal(cue.text !== originals[i].text, /[a-z]/.test(before[0]), cue.text);
  });
}

test("srt: subtitle reads the cues, with their times, translated", async () => {
  const { parseSync } = require("subtitle");
  const { source, text } = await translateFile("film.srt");
  const read = (srt) => parseSync(srt).map(({ type, data }) => ({ id: type, ...data }));
  checkCues(read(text), read(source), 6);
  assert.equal(read(text)[0].text, await translateText("Good morning, my friend."));
  assert.deepEqual(text.match(/^.*-->.*$/gm), source.match(/^.*-->.*$/gm)); // settings, which it does not tell
  assert.equal(read(text)[3].text.match(/^- /gm).length, 2);
});

test("vtt: node-webvtt reads the cues, with their times, names and settings, translated", async () => {
  const webvtt = require("node-webvtt");
  const { source, text } = await translateFile("film.vtt");
  const read = (vtt) => {
    const { valid, errors, cues, meta } = webvtt.parse(vtt, { meta: true, strict: true });
    assert.deepEqual([valid, errors], [true, []]);
    assert.deepEqual(meta, { Language: "en" });
    return cues.map(({ identifier, styles, ...cue }) => ({ id: identifier, settings: styles, ...cue }));
  };
  const film = await translateText("Good morning, my friend.");
  checkCues(read(text), read(source), 4);
  assert.equal(read(text)[0].text, `<v Roger>${film}</v>`);
  assert.ok(text.startsWith(source.slice(0, source.indexOf("first"))));
  assert.equal(text.match(/^NOTE/gm).length, 2);
});
