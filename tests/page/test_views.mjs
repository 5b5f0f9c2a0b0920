/* Features 1 to 8 of the page: translation, attention, confidence, questions, beam, comparison, diagnostics, export. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, becomes, fits, holds, link, point, saved, sentence, set, source, target, text, translated, visit,
  widen } from "./browser.mjs";

const shade = (locator) => locator.evaluate((node) => Number(node.style.getPropertyValue("--w") || 0));

test("1: translates what is typed; pointing and focus shade both ways", () => visit("", async (page) => {
  await translated(page); /* the first visit shows an example */
  await page.locator("#text").fill("");
  await page.locator(".state").waitFor();
  await page.locator("#text").fill(sentence);
  await target(page, "livre").waitFor();
  const expected = (await ask("/translate", { text: sentence, model: "en-fr" })).translations[0].text;
  assert.equal(await text(page.locator(".line.target")), expected);
  await point(target(page, "livre"), async () => {
    assert.ok(await shade(source(page, "book")) > 0.5);
    assert.ok(await shade(source(page, "She")) < 0.1);
  });
  await point(source(page, "him"), async () => {
    assert.ok(await shade(target(page, "lui")) > 0.5);
    assert.equal(await shade(target(page, "livre")) > 0.2, false);
  });
  await target(page, "perdu").focus();
  assert.ok(await shade(source(page, "lost")) > 0.5);
  assert.match(await text(page.locator("#hint")), /perdu is aligned with lost/);
}));

test("1: threads lead from word to word, and follow what is pointed at", () => visit(link({}), async (page) => {
  await translated(page);
  /* Threads are drawn once the lines have been laid out. */
  await page.locator(".threads path[d]").first().waitFor({ state: "attached" });
  const middle = async (unit) => { const { x, width } = await unit.boundingBox(); return x + width / 2; };
  const ends = () =>  page.locator(".threads path").evaluateAll((list) => list.map((path) => {
    const box = path.ownerSVGElement.getBoundingClientRect(), at = (length) => path.getPointAtLength(length).x + box.x;
    return [at(0), at(path.getTotalLength()), Number(path.style.getPropertyValue("--w"))];
  }));
  await becomes(async () => {
    const from = await middle(source(page, "him")), to = await middle(target(page, "lui"));
    assert.equal((await ends()).filter(([a, b, w]) => Math.abs(a - from) < 1 && Math.abs(b - to) < 1 && w > 0.5).length,
      1);
  });
  await point(target(page, "livre"), async () => assert.equal(await page.locator(".threads.lit path.on").count(), 1));
}));

/* Number of threads that do not join their source word with their target word, whatever lines these are on. */
const strays = (page) => page.evaluate(() => {
  const places = (side) => window.deep(`#view .${side} .unit, .${side} .unit`)
    .map((word) => [...word.getClientRects()]), source = places("source"), target = places("target");
  const near = (boxes, { x, y }) => boxes?.some((box) => x > box.left - 2 && x < box.right + 2 && y > box.top - 4
    && y < box.bottom + 4);
  return window.deep(".threads path").filter((path) => {
    const [i, j] = path.dataset.cell.split(" ").map(Number), box = path.ownerSVGElement.getBoundingClientRect(),
      at = (length) => { const { x, y } = path.getPointAtLength(length); return { x: x + box.x, y: y + box.y }; };
    return !near(source[j], at(0)) || !near(target[i], at(path.getTotalLength()));
  }).length;
});
for (const words of [5, 30, 80, 300]) {
  test(`3: threads join the words of ${words}, from 320 to 2,560 px, and only those on the screen are drawn`,
    () => visit("", async (page) => {
    await translated(page);
    await page.evaluate((count) => {
      const word = (k) => ["mot", "phrase", "et", "montagne", "la"][k % 5],
        list = Array.from({ length: count }, (_, k) => word(k)), text = list.join(" "), places = [];
      for (let k = 0, at = 0; k < count; at += list[k].length + 1, k++)
        places.push({ start_utf16: at, end_utf16: at + list[k].length });
      const rows = list.map((_, i) => list.map((_, j) => (i === j ? 0.9 : 0)));
      document.getElementById("view")
        .result = { sentences: [{ source_text: text, text, source_tokens: list, tokens: list,
        offsets: { source: places, target: places }, words: { source: list, target: list,
        offsets: { source: places, target: places } }, attention: rows, soft_alignment: rows }] };
    }, words);
    for (const width of [320, 820, 1440, 2560]) {
      await widen(page, width);
      await page.locator("#view").evaluate((view) => view.scrollIntoView());
      await holds(page, (least) => window.deep(".threads path").length >= least, Math.min(words, 20));
      await becomes(async () => assert.equal(await strays(page), 0, `${width} px`));
      await fits(page, width);
      const { count, tall } = await page.evaluate(() => ({ count: window.deep(".threads path").length,
        tall: window.deep(".threads")[0].getBoundingClientRect().height > 4 * innerHeight }));
      assert.ok(!tall || count < words, `${count} threads at ${width} px`);
    }
    await page.locator("#view").evaluate((view) => view.scrollIntoView());
    await point(page.locator(".target .unit").first(),
      async () => assert.equal(await page.locator(".threads.lit path.on").count(), 1));
  }));
}

test("1: models, searches, examples, history, a link", () => visit("", async (page) => {
  await translated(page);
  await set(page, "model", "geoquery");
  await page.getByRole("button", { name: "What is the population of Zurich?" }).click();
  await target(page, "zurich").waitFor();
  await set(page, "model", "fr-en");
  await page.getByRole("button", { name: "Un garçon joue dans la neige." }).click();
  await target(page, "snow").waitFor();
  await set(page, "strategy", "exact");
  await holds(page, () => location.hash.includes("s=exact"));
  await page.locator("#history summary").click();
  assert.ok(await page.locator("#history li").count() >= 2);
  const shared = await page.evaluate(() => location.href);
  await page.goto("about:blank");
  await page.goto(shared);
  await target(page, "snow").waitFor();
  assert.equal(await page.locator("#strategy").inputValue(), "exact");
  assert.equal(await page.locator("#model").inputValue(), "fr-en");
}));

test("1: what is typed and sent with Ctrl+Enter is asked once, and remembered, however slow the server",
  () => visit("", async (page) => {
  await translated(page);
  const asked = [];
  await page.route("**/translate", async (route) => {
    asked.push(route.request().postDataJSON().text);
    await new Promise((later) => setTimeout(later, 1000)); /* longer than the debounce */
    await route.continue();
  });
  /* In one task, because on a busy machine fill and press may be further apart than the debounce. */
  await page.locator("#text").evaluate((box, typed) => {
    box.value = typed;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
  }, sentence);
  await page.locator("#history li").waitFor({ state: "attached" });
  assert.deepEqual(asked, [sentence]);
}));

test("1: Ctrl+Enter while the same text is being asked does not ask again, and it is remembered",
  () => visit("", async (page) => {
  await translated(page);
  const asked = [];
  let answer;
  const pressed = new Promise((later) => { answer = later; });
  await page.route("**/translate", async (route) => {
    asked.push(route.request().postDataJSON().text);
    await pressed;
    await route.continue();
  });
  const sent = page.waitForRequest("**/translate"), other = "Where is the train station?";
  await page.locator("#text").fill(other);
  await sent;
  assert.equal(await page.locator("#history li").count(), 0);
  await page.locator("#text").press("Control+Enter");
  answer();
  await page.locator("#history li").waitFor({ state: "attached" });
  assert.deepEqual(asked, [other]);
}));

test("1: a text in another language than the model reads: says so, and offers a model that reads it",
  () => visit(link({ t: "Un garçon joue dans la neige avec son chien." }), async (page) => {
  await translated(page);
  assert.equal(await text(page.locator("#language")), "This looks like French, not English.Translate from French");
  await page.getByRole("button", { name: "Translate from French" }).click();
  await target(page, "snow").waitFor();
  assert.equal(await page.locator("#model").inputValue(), "fr-en");
  assert.equal(await page.evaluate(() => document.activeElement.id), "from");
  assert.equal(await page.locator("#language").isVisible(), false);
  await page.goBack(); /* changing the model was a step of its own */
  await page.locator("#language").waitFor();
  assert.equal(await page.locator("#model").inputValue(), "en-fr");
  await set(page, "model", "fr-en"); /* the wrong model's translation does not become the text */
  await target(page, "snow").waitFor();
  assert.match(await page.locator("#text").inputValue(), /^Un garçon/);
}));

test("1: of the models that read a language, the one that writes the same, else the other direction, else the first",
  () => visit(link({}), async (page) => {
  await translated(page);
  const chosen = (model, language, names) => page.evaluate(async ([own, code, served]) => {
    const model = (name) => {
      const [source, target] = name.split("-");
      return { name, source, target, task: target === "logic" ? "parsing" : "translation" };
    };
    return (await import("/page/task.js")).readerOf(served.map(model), code, model(own))?.name;
  }, [model, language, names]);
  assert.equal(await chosen("en-fr", "de", ["de-logic", "de-es", "de-en", "de-fr"]), "de-fr");
  assert.equal(await chosen("en-fr", "de", ["de-logic", "de-es", "de-en"]), "de-en");
  assert.equal(await chosen("en-fr", "de-AT", ["en-fr", "de-logic", "de-es"]), "de-es");
  assert.equal(await chosen("en-fr", "de", ["en-fr", "de-logic"]), undefined);
}));

test("1: swap translates back what is there, unless something else has been typed",
  () => visit(link({ t: "A boy plays in the snow." }), async (page) => {
  await translated(page);
  const there = await text(page.locator(".line.target"));
  await page.locator("#swap").click();
  await target(page, "snow").waitFor();
  assert.equal(await page.locator("#text").inputValue(), there);
  assert.deepEqual(await Promise.all(["from", "to"].map((id) => page.locator(`#${id}`).inputValue())), ["fr", "en"]);
  await page.route("**/translate", () => {}); /* never answered */
  await page.locator("#text").fill("J'aime la neige et le vent.");
  await page.locator("#swap").click();
  await holds(page, () => document.getElementById("from").value === "en");
  assert.equal(await page.locator("#text").inputValue(), "J'aime la neige et le vent.");
}));

test("1: a link to a sample throws the same dice", () => visit(link({ s: "sample", v: "export" }), async (page) => {
  await translated(page);
  await holds(page, () => location.hash.includes("seed="));
  const drawn = await text(page.locator(".line.target")), shared = await page.evaluate(() => location.href);
  assert.match(await text(page.locator("#panel pre")), /"seed":\d+/);
  await page.goto("about:blank");
  await page.goto(shared);
  await translated(page);
  assert.equal(await text(page.locator(".line.target")), drawn);
}));

test("1: a translation streams in", () => visit(link({ s: "greedy", t: "" }), async (page) => {
  await page.locator(".state").waitFor();
  await page.evaluate(() => {
    window.seen = new Set();
    new MutationObserver(() => {
      const waiting = document.querySelector(".wait");
      if (waiting?.textContent) window.seen.add(waiting.textContent);
    }).observe(document.body, { childList: true, subtree: true });
  });
  await page.locator("#text").fill(sentence);
  await target(page, "livre").waitFor();
  const seen = await page.evaluate(() => [...window.seen]), whole = await text(page.locator(".line.target"));
  assert.ok(seen.length > 1, `${seen.length} parts`);
  assert.ok(seen.every((part) => whole.startsWith(part)), `${seen}`);
}));

test("1: markup is text", () => visit(link({ t: "<img src=x onerror=alert(1)> & <b>snow</b>", v: "export" }),
  async (page) => {
  await translated(page);
  await page.locator("#go").click();
  await page.locator("#history summary").click();
  /* Tags and symbols before the words are kept in the translation, but belong to no sentence. */
  assert.equal(await text(page.locator(".line.source")), "snow");
  assert.match(await text(page.locator("#history li")), /^<img src=x/);
  assert.equal(await page.locator("main img, #result b").count(), 0);
}));

test("2: heat map, lines, table; words, subwords, </s>, threshold, values, pins",
  () => visit(link({}), async (page) => {
  await translated(page);
  const map = page.locator("#panel .map"), sheet = page.locator("#panel .sheet"), read = page.locator("#panel .read");
  const words = await map.locator("rect").count();
  await map.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await text(read), /^lui is aligned with him: [6-9]\d% \(0\.[6-9]/);
  await page.keyboard.press("Enter");
  assert.match(await text(read), /pinned/);
  await point(page.locator("h1"));
  assert.match(await text(read), /pinned/);
  await map.focus();
  await page.keyboard.press("Escape");
  assert.equal(await text(read), "");
  await map.evaluate((svg) => svg.scrollIntoView({ block: "center" })); /* the page's height depends on the fonts */
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
  /* Mouse events may arrive late. */
  await read.filter({ hasText: "is aligned with" }).waitFor();
  await page.mouse.click(box.x + box.width * 0.6, box.y + box.height * 0.5);
  await read.filter({ hasText: "pinned" }).waitFor();
  assert.equal(await sheet.locator("text[font-weight='700']").count(), 2);
  assert.equal(await page.locator("#with-end").count(), 0); /* an alignment of words omits </s> */
  await page.getByRole("button", { name: "Subwords" }).click();
  await page.locator("#with-end").check();
  assert.ok(await map.locator("rect").count() > words);
  assert.ok((await sheet.locator("text").allTextContents()).includes("\u2581book"));
  const colours = () =>
    map.evaluate((svg) => new Set([...svg.querySelectorAll("rect")].map((rect) => rect.getAttribute("fill"))).size);
  const before = await colours();
  await page.getByRole("slider").fill("0.5");
  assert.ok(await colours() < before);
  await page.getByRole("slider").fill("0");
  await page.getByRole("button", { name: "Lines" }).click();
  await page.locator("#panel .lines").waitFor();
  assert.ok(await map.locator("path").count() > 8);
  await map.focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await text(read), /is aligned with/);
  await page.getByRole("button", { name: "Table" }).click();
  const expected = (await ask("/attention",
    { text: sentence, model: "en-fr", include: ["tokens", "soft_alignment", "eos"] })).results[0].sentences[0];
  assert.equal(await page.locator("#panel tbody tr").count(), expected.tokens.length);
  assert.equal(await page.locator("#panel tbody tr").nth(1).locator("td").nth(2).textContent(),
    expected.soft_alignment[1][2].toFixed(3));
}));

test("3: a pinned word's alternatives, by mouse", () => visit(link({}), async (page) => {
  await translated(page);
  await target(page, "livre").click();
  await page.locator("#see").click();
  await page.locator("#popover li").nth(4).waitFor();
  assert.equal(await page.locator("#popover li").count(), 5);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Unpin" }).click();
  assert.equal(await page.locator(".unit.pinned").count(), 0);
}));

test("2: numbers can be read on every shade, and more weight is further from the paper", async () => {
  for (const theme of ["light", "dark"]) {
    await visit(link({}), async (page) => {
      await translated(page);
      const shades = await page.evaluate(async () => {
        const { scale, on } = (await import("/page/colour.js")).colours();
        return Array.from({ length: 101 }, (_, k) => [scale(k / 100), on(k / 100)]);
      });
      const light = (hex) => [[1, 0.2126], [3, 0.7152], [5, 0.0722]].reduce((sum, [at, part]) => {
        const c = parseInt(hex.slice(at, at + 2), 16) / 255;
        return sum + part * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      }, 0);
      for (const [k, [ground, ink]] of shades.entries()) {
        const [low, high] = [light(ground), light(ink)].sort((a, b) => a - b),
          step = k ? light(ground) - light(shades[k - 1][0]) : 0;
        assert.ok((high + 0.05) / (low + 0.05) >= 4.5, `${theme}, ${k}%: ${ink} on ${ground}`);
        assert.ok(!k || (theme === "dark" ? step > 0 : step < 0), `${theme}, ${k}%`);
      }
    }, { theme });
  }
});

test("3, 4: confidence; an alternative is taken, compared and undone",
  () => visit(link({ v: "confidence" }), async (page) => {
  await translated(page);
  const first = await text(page.locator(".line.target").first());
  const { log_probs, top_k } = (await ask("/attention",
    { text: sentence, model: "en-fr", include: ["log_probs", "top_k", "eos"] })).results[0].sentences[0];
  assert.equal(await page.locator(".step").count(), log_probs.length);
  assert.match(await text(page.locator(".step").nth(2)),
    new RegExp(`log-probability .${Math.abs(log_probs[2]).toFixed(2)}, entropy`));
  await page.locator(".step").nth(2).click();
  await page.locator("#popover li").nth(4).waitFor();
  assert.equal(await page.locator("#popover li").count(), 5);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#popover").isVisible(), false);
  await page.locator(".step").nth(2).click();
  await page.locator("#popover li button", { hasText: top_k[2][1].token }).first().click();
  await page.locator("#answer .card").nth(1).waitFor();
  assert.ok(await page.locator("#answer .card").nth(1).locator("mark").count() > 0);
  const prefix = `Elle lui ${top_k[2][1].token.slice(1)}`;
  const asked = (await ask("/translate", { text: sentence, model: "en-fr", prefix })).translations[0].text;
  assert.equal(await text(page.locator("#answer .card").nth(1).locator(".line")), asked);
  assert.equal(await text(page.locator("#reading .line.target")), asked);
  await page.locator("#undo").click();
  assert.equal(await text(page.locator("#reading .line.target")), first);
}));

test("4: attention is forced by a click, by the keyboard and by dragging, and undone",
  () => visit(link({}), async (page) => {
  await translated(page);
  const first = await text(page.locator(".line.target").first());
  await page.locator(".target .unit").nth(4).click();
  await page.locator(".source .unit").nth(2).click();
  await page.locator("#answer h2").waitFor();
  assert.match(await text(page.locator("#answer h2")), /livre” looks at “him”/);
  const after = await text(page.locator("#answer .card").nth(1).locator(".line"));
  const { source_tokens } = (await ask("/attention", { text: sentence, model: "en-fr" })).results[0].sentences[0];
  const weights = source_tokens.map((token) => (token === "\u2581him" ? 1 : 0));
  assert.equal(after, (await ask("/attention",
    { text: sentence, model: "en-fr", force_attention: [{ step: 4, weights }] })).results[0].text);
  await page.locator("h1").click();
  await page.keyboard.press("Control+z");
  assert.equal(await text(page.locator("#reading .line.target")), first);
  await page.getByRole("button", { name: "Force by dragging" }).click();
  const map = page.locator("#panel .map");
  await map.evaluate((svg) => svg.scrollIntoView({ block: "center" }));
  const box = await map.boundingBox(), cell = await map.locator("rect").nth(35).boundingBox();
  await page.mouse.move(cell.x + 5, cell.y + 5);
  await page.mouse.down();
  await page.mouse.move(cell.x + 5 + 1.2 * cell.width, cell.y + 5, { steps: 4 });
  await page.mouse.up();
  await page.locator("#undo").waitFor();
  assert.ok(box.width > 0);
  await page.locator("#undo").click();
  await map.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator("#undo").waitFor();
}));

test("4: a reference is scored", () => visit(link({ v: "ask" }), async (page) => {
  await translated(page);
  const mine = "Elle lui a rendu son livre.";
  await page.locator("#reference").fill(mine);
  await page.getByRole("button", { name: "Score it" }).click();
  await page.locator("#panel .map").waitFor();
  const { log_prob } = (await ask("/attention", { text: sentence, model: "en-fr", translation: mine })).results[0]
    .sentences[0];
  assert.ok((await text(page.locator("#panel .card").nth(1))).includes(Math.abs(log_prob).toFixed(2)));
  assert.equal(await text(page.locator("#panel .card").nth(1).locator(".line")), mine);
}));

test("5: the tree; the slider reorders the n best", () => visit(link({ v: "beam" }), async (page) => {
  await page.locator(".tree").waitFor();
  const { beam, hypotheses } = (await ask("/attention", { text: sentence, model: "en-fr", beam_size: 5, n_best: 5,
    include: ["beam", "tokens", "eos"] })).results[0].sentences[0];
  const count = (state) => beam.filter((node) => node.state === state).length;
  assert.equal(await page.locator(".tree").getAttribute("aria-label"),
    `Search tree: ${count("kept")} kept, ${count("pruned")} pruned, ${count("finished")} finished nodes`);
  for (const p of [0, 0.5, 2]) {
    await page.locator("#penalty").fill(String(p));
    const order = hypotheses.map((h) => [h.log_prob / h.tokens.length ** p, h.text]).sort((a, b) => b[0] - a[0])
      .map((h) => h[1] || "(nothing)");
    assert.deepEqual(await page.locator(".ranks .line").allTextContents(), order);
  }
}));

test("6: two models, two searches, two sentences", () => visit(link({ v: "compare" }), async (page) => {
  await page.locator("#panel .map").nth(1).waitFor();
  await page.locator("#text-b").fill("She gave her the book that he had found.");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator("#panel mark").first().waitFor();
  const cells = await page.locator("#panel .map")
    .evaluateAll((maps) => maps.map((map) => map.querySelectorAll("rect")[3].getAttribute("width")));
  assert.equal(cells[0], cells[1]);
  /* only models that read the text */
  assert.deepEqual(await page.locator("#model-b option").allTextContents(), ["en-fr", "geoquery"]);
  await page.locator("#model-b").selectOption("geoquery");
  await page.locator("#panel .card h3", { hasText: "B: geoquery" }).waitFor();
}));

test("6: all sentences of two texts, on one scale",
  () => visit(link({ v: "compare", t: "She is late. He waits for her." }), async (page) => {
  await page.locator("#panel .map").nth(3).waitFor();
  const texts = async () => page.locator("#panel .card .line").allTextContents();
  const sentences = async (t, strategy) => (await ask("/translate", { text: t, model: "en-fr", strategy }))
    .translations[0].sentences.map((s) => s.text);
  const ours = await sentences("She is late. He waits for her.", "beam");
  assert.deepEqual((await texts()).filter((_, k) => k % 2 === 0), ours);
  await page.locator("#text-b").fill("He is late. She waits for him. I am happy.");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator("#panel .none").waitFor();
  const theirs = await sentences("He is late. She waits for him. I am happy.", "greedy");
  assert.deepEqual(await texts(), [ours[0], theirs[0], ours[1], theirs[1], theirs[2]]);
  const sizes = await page.locator("#panel .map")
    .evaluateAll((maps) => maps.map((map) => map.querySelectorAll("rect")[1].getAttribute("width")));
  assert.equal(sizes.length, 5);
  assert.equal(new Set(sizes).size, 1);
}));

test("7: coverage, repetitions, unknown and copied words", async () => {
  await visit(link({ v: "diagnostics" }), async (page) => {
    await page.locator(".cover .word").first().waitFor();
    const { words } = (await ask("/attention", { text: sentence, model: "en-fr", include: ["words"] })).results[0]
      .sentences[0];
    const book = words.source.indexOf("book"), sum = words.soft_alignment.reduce((total, row) => total + row[book], 0);
    assert.ok(Math.abs(parseFloat(await page.locator(".cover .say").nth(4).textContent()) - sum) < 0.02);
  });
  await visit(link({ t: "Tom lives in Boston.", v: "diagnostics" }), async (page) => {
    await page.locator(".card").nth(2).waitFor();
    assert.match(await text(page.locator(".card").nth(2)), /Tom, Boston/);
  });
  await visit(link({ v: "diagnostics" }), async (page) => {
    const found = await page.evaluate(async () => (await import("/page/diagnostics.js"))
      .repetitions("il a dit il a dit non non".split(" ")));
    assert.deepEqual(found, ["il a dit (2 times)", "non (2 times)"]);
  });
});

test("8: exports", () => visit(link({ v: "export" }), async (page) => {
  await page.getByRole("button", { name: "PNG", exact: true }).waitFor();
  const s = (await ask("/attention", { text: sentence, model: "en-fr" })).results[0].sentences[0];
  assert.deepEqual([...(await saved(page, "PNG")).subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  assert.match(String(await saved(page, "SVG")), /^<svg [^]*livre[^]*<\/svg>$/);
  const csv = String(await saved(page, "CSV")).trim().split("\r\n");
  assert.equal(csv[0].split(",")[5], "book");
  assert.ok(csv.every((line) => line.split(",").length === csv[0].split(",").length));
  assert.deepEqual(JSON.parse(await saved(page, "JSON")).attention, s.attention);
  assert.equal(String(await saved(page, "Pharaoh")).trim(), s.alignment.map(([j, i]) => `${j}-${i}`).join(" "));
  assert.match(await text(page.locator("#panel pre")), /^curl -s http:\/\/127[^]*\/attention -d '\{"text":"She gave/);
  assert.match(await text(page.locator("footer")), /not the same as alignment/);
}));
