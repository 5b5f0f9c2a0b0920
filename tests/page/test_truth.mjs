/* The page tells the truth: all views show the same values, and these are the daemon's; weight on </s> is visible; a
 * model that was not trained to align does not claim to. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { startDaemon } from "../clients/daemon.mjs";
import { ask, becomes, link, point, program, sentence, target, text, translated, visit } from "./browser.mjs";

const SENTENCES = 50;
const everyday = readFileSync("weights/gold/en-fr-everyday.tsv", "utf8").trim().split("\n").slice(0, SENTENCES)
  .map((line) => line.split("\t")[3]);
const LOOKS = [["alignment", "soft_alignment"], ["attention", "attention"]];

/* A model with an alignment head and made-up weights. */
let daemon;
before(async () => { daemon = await startDaemon(program, ["tests/golden/alignment-luong-gru"]); });
after(() => daemon?.stop());

/* Runs in the page. What each view shows: matrices [rows][columns], the hint for each row, and the coverage. */
async function gather() {
  /* Pictures are drawn after the current script has ended. */
  const all = window.deep, next = () => new Promise((done) => setTimeout(done));
  const press = (name) => {
    all("#panel button, .tabs button").find((button) => button.textContent === name).click();
    return next();
  };
  const grid = (rows, columns) => Array.from({ length: rows }, () => new Array(columns).fill(0));
  const rows = all(".target .unit").length, columns = all(".source .unit").length, threads = grid(rows, columns),
    lines = grid(rows, columns), said = [], read = grid(rows, columns);
  /* Threads are drawn once the browser reports that they are on the screen. */
  while (!all(".threads path").length) await next();
  for (const path of all(".threads path")) {
    const [i, j] = path.dataset.cell.split(" ");
    threads[i][j] = Number(path.style.getPropertyValue("--w"));
  }
  for (const unit of all(".target .unit")) {
    unit.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    said.push(all("#hint")[0].textContent);
    unit.closest(".line").dispatchEvent(new PointerEvent("pointerleave"));
  }
  const shades = all(".target .unit").map((unit) => {
    unit.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    const row = all(".source .unit").map((word) => Number(word.style.getPropertyValue("--w")));
    unit.closest(".line").dispatchEvent(new PointerEvent("pointerleave"));
    return row;
  });
  await press("Map");
  await press("Heat map");
  const map = all("svg.map")[0], box = map.getBoundingClientRect(), { layout } = map,
    out = all("#map-view")[0].shadowRoot.querySelector(".read");
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      if ((i + 2 * j) % 3) { read[i][j] = null; continue; } /* a third of the cells will do */
      map.dispatchEvent(new PointerEvent("pointermove",
        { clientX: box.x + layout.x(j) + layout.cell / 2, clientY: box.y + layout.y(i) + layout.cell / 2 }));
      read[i][j] = Number(/\((\d\.\d{4})\)$/.exec(out.textContent)[1]);
    }
  }
  await press("Lines");
  while (!all(".lines path").length) await next(); /* its script is loaded when it is wanted */
  for (const path of all(".lines path")) {
    const [i, j] = path.dataset.cell.split(" ");
    lines[i][j] = (Number(path.getAttribute("stroke-width")) - 1) / 5;
  }
  await press("Table");
  const table = all("tbody tr").map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent)));
  await press("Heat map");
  await press("Diagnostics");
  const coverage = all(".cover .say").map((cell) => Number(cell.textContent));
  return { threads, shades, read, lines, table, said, coverage };
}

/* The daemon's words and matrix, with </s> as the last column. */
async function expected(source, name, model = "en-fr", post = ask) {
  const s = (await post("/attention", { text: source, model, include: ["words", "tokens", "eos"] })).results[0]
    .sentences[0];
  return { words: s.words, rows: s.words[name].map((row) => [...row, 1 - row.reduce((sum, w) => sum + w, 0)]) };
}

function near(found, rows, within, what, least = 0) {
  assert.equal(found.length, rows.length, what);
  rows.forEach((row, i) => row.forEach((w, j) => {
    const shown = found[i][j] === null || (w < least && found[i][j] === 0) ? w : found[i][j];
    assert.ok(Math.abs(shown - w) <= within, `${what}, row ${i}, column ${j}: ${found[i][j]} instead of ${w}`);
  }));
}

/* Row i: index and name of the source word that the hint must name, or of the end. */
function best(name, { words, rows }, i) {
  const linked = words.alignment.find(([, at]) => at === i), most = rows[i].indexOf(Math.max(...rows[i]));
  const j = name === "soft_alignment" ? (linked ? linked[0] : rows[i].length - 1) : most;
  return [j, words.source[j] ?? "the end of the sentence"];
}

for (const [look, name] of LOOKS) {
  test(
    `truth: threads, shades, heat map, lines, table, hints and diagnostics say the same, and what the daemon says: ${look}`, () => visit(link({ t: everyday[0], look }), async (page) => {
    for (const source of everyday) {
      await page.evaluate((hash) => { location.hash = hash; }, link({ t: source, look }));
      await page.locator(".line.source", { hasText: source }).waitFor();
      await page.locator(".reading:not(.busy)").waitFor();
      /* An alignment of words omits </s>. */
      const found = await page.evaluate(gather), given = await expected(source, name), { rows: all } = given,
        rows = look === "alignment" ? all.map((row) => row.slice(0, -1)) : all;
      near(found.threads, rows, 0.002, `threads of ${source}`, 0.052);
      near(found.shades, rows, 0.002, `shades of ${source}`);
      near(found.read, rows, 0.0015, `heat map of ${source}`);
      near(found.lines, rows, 0.003, `lines of ${source}`, 0.022);
      near(found.table, rows, 0.002, `table of ${source}`);
      const aligned = (await expected(source, "soft_alignment")).rows;
      found.coverage.forEach((sum, j) =>
        assert.ok(Math.abs(sum - aligned.reduce((total, row) => total + row[j], 0)) < 0.01, `coverage of ${source}`));
      found.said.forEach((words, i) => {
        const [j, label] = best(name, given, i);
        if (rows[i][j] === undefined) return assert.ok(words.includes("is aligned with no word"), words);
        const percent = Number(/([\d.]+)%/.exec(words)[1]);
        assert.ok(words.startsWith(given.words.target[i]) && words.includes(label), `${words}: ${label} in ${source}`);
        assert.ok(Math.abs(percent - 100 * rows[i][j]) <= 0.6, `${words}: ${rows[i][j]}`);
      });
    }
  }));
}

test("truth: the bar under a word is the daemon's estimate that it is right, and the hint says it",
  () => visit(link({}), async (page) => {
  const { quality, words } = (await ask("/attention",
    { text: sentence, model: "en-fr", include: ["words", "quality", "eos"] })).results[0].sentences[0];
  const bars = () => page.locator(".target .unit")
    .evaluateAll((list) => list.map((unit) => [unit.textContent, unit.style.getPropertyValue("--q")]));
  await translated(page);
  assert.deepEqual(await bars(), quality.words.map((q, k) => [words.target[k], q.toFixed(2)]));
  assert.match(await page.locator(".target .unit.rated").first()
    .evaluate((node) => getComputedStyle(node).backgroundImage), /gradient/);
  for (const k of [0, quality.words.length - 1]) {
    await point(page.locator(".target .unit").nth(k), async () => assert.match(await text(page.locator("#hint")),
      new RegExp(`; ${Math.round(100 * quality.words[k])}% likely to be right$`)));
  }
  await page.getByRole("button", { name: "Subwords" }).click();
  assert.equal(await page.locator(".target .unit.rated").count(), 0, "tokens are not rated");
}));

test("truth: what lies on the end of the sentence is seen, not shared out",
  () => visit(link({ t: "tom house ladder", m: "alignment-luong-gru", look: "attention" }), async (page) => {
  await translated(page);
  const post = async (path, body) =>
    (await fetch(`${daemon.url}${path}`, { method: "POST", body: JSON.stringify(body) })).json();
  const { rows } = await expected("tom house ladder", "attention", "alignment-luong-gru", post),
    end = rows[0].length - 1;
  const worst = rows.map((row) => row[end]).indexOf(Math.max(...rows.map((row) => row[end])));
  assert.ok(rows[worst][end] > 0.5, "the sentence is one whose attention lies there");
  const mark = page.locator(".source .unit.end");
  await point(page.locator(".target .unit").nth(worst), async () => {
    assert.ok(Math.abs(await mark.evaluate((node) => Number(node.style.getPropertyValue("--w"))) - rows[worst][end])
      < 0.002);
    assert.match(await mark.evaluate((node) => getComputedStyle(node).backgroundImage), /gradient/);
    assert.match(await text(page.locator("#hint")), /looks most at the end of the sentence/);
    assert.equal(await page.locator(`.threads path.rest.on[data-cell="${worst} ${end}"]`).count(), 1);
  });
  assert.equal(await page.locator("#panel .map path.hatch").count(), 1);
}, { daemon }));

test("truth: alignment is what is shown first, attention one click away, and a link keeps it",
  () => visit("#" + new URLSearchParams({ t: "tom is in the house", m: "alignment-luong-gru" }), async (page) => {
  await translated(page);
  const sums = async () => {
    await page.locator(".threads path").first().waitFor({ state: "attached" });
    return page.locator(".threads path").evaluateAll((list) => list.map((path) => path.style.getPropertyValue("--w"))
      .join(" "));
  };
  assert.equal(await page.locator("#look-alignment").getAttribute("aria-pressed"), "true");
  assert.match(await text(page.locator("#look .note")), /^Alignment:/);
  const aligned = await sums();
  await page.locator("#look-attention").click();
  assert.match(await text(page.locator("#look .note")), /^Attention: what the decoder looked at/);
  assert.notEqual(await sums(), aligned);
  assert.equal(await page.locator("#look-attention").evaluate((node) => node === document.activeElement), true);
  const attended = await sums();
  await page.reload();
  await translated(page);
  await becomes(async () => assert.equal(await sums(), attended));
}, { daemon }));

test("truth: a model without an alignment head says so",
  () => visit(link({ m: "geoquery", t: "What is the population of Zurich?" }), async (page) => {
  await translated(page);
  await page.locator("#look .note", { hasText: /^This model has no alignment head/ }).waitFor();
  await page.locator("#look-attention").click();
  assert.match(await text(page.locator("#look .note")), /^Attention:/);
}, { before: (page) => page.route("**/models", async (route) => { /* even if the shipped model has one */
  const reply = await route.fetch(), body = await reply.json();
  for (const model of body.models) model.alignment_head = false;
  await route.fulfill({ json: body });
}) }));

test("truth: names that are copied are aligned with themselves",
  () => visit(link({ m: "geoquery", t: "What is the population of Zurich?" }), async (page) => {
  for (const question of ["What is the population of NAME?", "Which rivers run through NAME?", "Where is NAME?",
    "what is the lowest point in NAME?"]) {
    for (const name of ["Texas", "Zurich"]) {
      const s = (await ask("/attention", { text: question.replace("NAME", name), model: "geoquery",
        include: ["words"] })).results[0].sentences[0];
      const at = s.words.target.indexOf(name.toLowerCase()), links = s.words.alignment.filter(([, i]) => i === at)
        .map(([j]) => s.words.source[j]);
      assert.deepEqual(links, [name], `${question}: ${s.text}`);
    }
  }
  await point(target(page, "zurich"), async () => assert.match(await text(page.locator("#hint")),
    /^zurich is aligned with Zurich, /));
}));

test("truth: left out: hardly aligned, and the translation is no less likely without it",
  () => visit(link({ t: sentence, v: "diagnostics" }), async (page) => {
  await translated(page);
  await page.locator(".cover:not([aria-busy])").waitFor();
  const verdicts = () => page.locator(".cover [role=listitem]")
    .evaluateAll((list) =>
    list.map((row) => [row.querySelector(".word").textContent, row.querySelector(".verdict").textContent])
    .filter(([, says]) => says.startsWith("left out?")).map(([word]) => word));
  assert.deepEqual(await verdicts(), []);
  /* a translation that lacks a word */
  const found = await page.evaluate(async ([text, translation]) => {
    const { leftOut } = await import("/page/diagnostics.js");
    const reply = await (await fetch("/attention",
      { method: "POST", body: JSON.stringify({ text, translation, model: "en-fr",
      include: ["tokens", "offsets", "words", "soft_alignment", "attention"] }) })).json();
    return (await leftOut(reply.results[0].sentences[0], "en-fr", 1)).map((item) => item.label);
  }, ["The old man is reading a book in the garden.", "Le vieil homme lit un livre."]);
  assert.deepEqual(found, ["garden"]);
}));
