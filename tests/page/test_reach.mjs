/* Accessibility: keyboard only, touch, and every width. The checks of axe are in test_axe.mjs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { holds, link, opened, sentence, target, text, translated, views, visit } from "./browser.mjs";

/* What each view shows once its answers have arrived. */
const MARKS = { map: ".map", confidence: ".step", ask: "#reference", beam: ".tree", compare: ".card .map",
  diagnostics: ".cover", step: "select", why: "#loss-map", links: "#links-map", corpus: ".drop", export: "pre" };
const ready = (page, view) => page.locator(`#panel ${MARKS[view]}`).first().waitFor();

/* ---- the keyboard ---- */

/* The element with the focus: the text of a word, the id of anything else. */
const focused = (page) => page.evaluate(() => {
  const node = window.deepFocus();
  return node === document.body ? "" : node.id && !node.matches(".unit") ? `#${node.id}` : node.textContent.trim();
});

/* Press Tab until an element that matches has the focus. */
async function tabTo(page, selector, key = "Tab") {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press(key);
    if (await page.evaluate((wanted) => window.deepFocus().matches(wanted), selector)) return;
  }
  assert.fail(`Tab does not reach ${selector}`);
}
async function press(page, ...keys) { for (const key of keys) await page.keyboard.press(key); }
async function openView(page, name) {
  await tabTo(page, "[role=tab]", "Shift+Tab");
  for (let presses = 0; presses < views.length && (await focused(page)) !== `#tab-${name}`; presses++)
    await page.keyboard.press("ArrowRight");
  assert.equal(await focused(page), `#tab-${name}`);
  await opened(page);
}

test("9: Tab, and arrows within lines of words, reach every control of each view, with a focus that is seen",
  async () => {
  for (const view of views) {
    await visit(link({ v: view }), async (page) => {
      await translated(page);
      await ready(page, view);
      for (let presses = 0; presses < 80; presses++) {
        await page.keyboard.press("Tab");
        const seen = await page.evaluate(() => {
          const node = window.deepFocus();
          if (node === document.body) return "end";
          node.dataset.reached = "";
          const style = getComputedStyle(node);
          return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 ? ""
            : node.outerHTML.slice(0, 120);
        });
        if (seen === "end") break;
        assert.equal(seen, "", `${view}: a focus that cannot be seen`);
      }
      /* Each group is one tab stop; arrow keys reach the rest. */
      for (const group of await page.locator("#result, #reading .line, .strip:has(button), .words").all()) {
        await group.locator("[tabindex='0']").focus();
        await page.keyboard.press("Home");
        for (let left = await group.locator("button, .unit, .word").count(); left > 0; left--) {
          await page.evaluate(() => { window.deepFocus().dataset.reached = ""; });
          await page.keyboard.press("ArrowRight");
        }
      }
      const missed = await page.evaluate(() =>
        window.deep("a[href], button, select, input, textarea, summary, [tabindex='0']")
        .filter((node) => node.checkVisibility() && !node.disabled && !node.matches("[role=tab]")
          && !("reached" in node.dataset)).map((node) => node.outerHTML.slice(0, 120)));
      assert.deepEqual(missed, [], view);
      await page.locator(`#tab-${view}`).focus();
      for (let k = 1; k <= views.length; k++) {
        await page.keyboard.press("ArrowRight");
        assert.equal(await focused(page), `#tab-${views[(views.indexOf(view) + k) % views.length]}`);
      }
    });
  }
});

test("9: by keyboard alone: text, model, search, width, examples, history", () => visit("", async (page) => {
  await translated(page);
  await tabTo(page, "#text");
  await press(page, "Control+a");
  await page.keyboard.type(sentence);
  await press(page, "Control+Enter");
  await page.locator("#history li").waitFor({ state: "attached" }); /* the first visit already shows this sentence */
  await tabTo(page, "#how summary");
  await press(page, "Enter");
  await tabTo(page, "#beam");
  await press(page, "ArrowUp", "Enter");
  await holds(page, () => location.hash.includes("b=6"));
  await tabTo(page, "#strategy", "Shift+Tab");
  await press(page, "ArrowDown");
  await holds(page, () => location.hash.includes("s=greedy"));
  await tabTo(page, "#model", "Shift+Tab");
  await press(page, "ArrowDown");
  await holds(page, () => location.hash.includes("m=fr-en"));
  await tabTo(page, "#examples button:nth-child(3)", "Shift+Tab");
  await press(page, "Enter");
  await target(page, "snow").waitFor();
  await tabTo(page, "#history summary");
  await press(page, "Enter");
  await tabTo(page, "#history li:last-child button");
  await press(page, "Enter");
  await target(page, "livre").waitFor();
  await tabTo(page, "#history .quiet");
  await press(page, "Enter");
  assert.equal(await page.locator("#history").isVisible(), false);
  assert.equal(await focused(page), "#text");
}));

test("9: by keyboard alone: a word is pinned, looks elsewhere, and back", () => visit(link({}), async (page) => {
  await translated(page);
  const first = await text(page.locator(".line.target"));
  await tabTo(page, ".source .unit");
  await press(page, "ArrowRight", "ArrowRight");
  assert.equal(await focused(page), "him");
  assert.match(await text(page.locator("#hint")), /Point at a word/);
  await tabTo(page, ".target .unit");
  await press(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "Enter");
  assert.equal(await text(page.locator(".unit.pinned")), "livre");
  assert.equal(await focused(page), "livre");
  await press(page, "Escape");
  assert.equal(await page.locator(".unit.pinned").count(), 0);
  assert.equal(await focused(page), "livre");
  await press(page, "Enter");
  await tabTo(page, "#see");
  await press(page, "Enter");
  await page.locator("#popover").waitFor();
  await press(page, "Escape");
  assert.equal(await focused(page), "#see");
  await tabTo(page, ".source .unit", "Shift+Tab");
  await press(page, "Home", "ArrowRight", "ArrowRight", "Enter");
  await page.locator("#undo").waitFor();
  assert.match(await text(page.locator("#answer h2")), /livre” looks at “him”/);
  assert.equal(await focused(page), "him"); /* the redrawn word has the focus */
  await tabTo(page, "#undo");
  await press(page, "Enter");
  assert.equal(await text(page.locator(".line.target")), first);
}));

test("9: the focus goes back from a popover at once, and stays where a click has put it",
  () => visit(link({}), async (page) => {
  await translated(page);
  await target(page, "livre").click();
  const alternatives = async () => { await page.locator("#see").click(); await page.locator("#popover").waitFor(); };
  await alternatives();
  /* Within one task, before any event can be handled. */
  assert.equal(await page.evaluate(() => {
    window.deep("#popover")[0].hidePopover();
    return window.deepFocus().id;
  }), "see");
  await alternatives();
  await page.locator("#text").click();
  await page.locator("#popover").waitFor({ state: "hidden" });
  /* Wait until the popover's events have fired. */
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))));
  assert.equal(await focused(page), "#text");
}));

test("9: by keyboard alone: the map view", () => visit(link({}), async (page) => {
  await translated(page);
  await openView(page, "map");
  await tabTo(page, "#show-Lines");
  await press(page, "Enter");
  await page.locator("#panel .lines").waitFor();
  await tabTo(page, "#show-Table");
  await press(page, "Space");
  await page.locator("#panel table").waitFor();
  await tabTo(page, "#show-Heat", "Shift+Tab");
  await press(page, "Enter");
  await tabTo(page, "#show-Subwords");
  await press(page, "Enter");
  await tabTo(page, "#with-end");
  await press(page, "Space");
  await page.locator("#panel .sides text[data-end]").waitFor();
  await tabTo(page, "#threshold");
  await press(page, "ArrowRight", "ArrowRight");
  assert.equal(await page.locator("#threshold").inputValue(), "0.02");
  await tabTo(page, "#map");
  await press(page, "ArrowDown", "Enter");
  assert.match(await text(page.locator("#panel .read")), /pinned/);
  await press(page, "Escape");
  await tabTo(page, "#show-Force", "Shift+Tab");
  await press(page, "Enter");
  await tabTo(page, "#map");
  await press(page, "ArrowDown", "ArrowRight", "Enter");
  await page.locator("#undo").waitFor();
  await press(page, "Control+z");
  assert.equal(await page.locator("#undo").count(), 0);
}));

test("9: by keyboard alone: confidence, questions, beam, compare, export", () => visit(link({}), async (page) => {
  await translated(page);
  await tabTo(page, "[role=tab]");
  await press(page, "ArrowRight");
  assert.equal(await focused(page), "#tab-confidence");
  await tabTo(page, ".step");
  await press(page, "ArrowRight", "ArrowRight", "Enter");
  await page.locator("#popover").waitFor();
  await press(page, "Tab", "Enter");
  await page.locator("#undo").waitFor();
  await press(page, "Control+z");

  await tabTo(page, "[role=tab]");
  await press(page, "ArrowRight");
  await tabTo(page, "#reference");
  await page.keyboard.type("Elle lui a rendu son livre.");
  await press(page, "Tab", "Enter");
  await page.locator("#panel .card").nth(1).waitFor();

  await openView(page, "beam");
  await page.locator(".tree").waitFor();
  await tabTo(page, "#penalty");
  await press(page, "ArrowLeft");
  assert.equal(await text(page.locator("#panel .bar output")), "0.95");

  await openView(page, "compare");
  await page.locator("#panel .map").nth(1).waitFor();
  await tabTo(page, "#text-b");
  await press(page, "Control+a");
  await page.keyboard.type("He is late.");
  await tabTo(page, "#panel .primary");
  await press(page, "Enter");
  await page.locator("#panel .card", { hasText: "retard" }).waitFor();
  await tabTo(page, "#strategy-b", "Shift+Tab");
  await press(page, "ArrowDown");
  await page.locator("#panel h3", { hasText: "B: en-fr, sample" }).waitFor();

  await openView(page, "export");
  await tabTo(page, "#panel .buttons button");
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  assert.equal(download.suggestedFilename(), "alignment.png");
}));

/* ---- touch ---- */

test("9: on a phone, the chosen tab of a link is in view", () => visit(link({ v: "export" }), async (page) => {
  await translated(page);
  const tab = await page.locator("#tab-export").boundingBox();
  assert.ok(tab.x >= 0 && tab.x + tab.width <= 390, JSON.stringify(tab));
}, { width: 390, height: 844, hasTouch: true }));

test("9: on a phone, everything that can be pressed is 40 px high, and wide if it is no word", async () => {
  for (const view of views) {
    await visit(link({ v: view, eos: 1 }), async (page) => {
      await translated(page);
      await ready(page, view);
      if (view === "confidence") { await page.locator(".step").nth(2).tap(); await page.locator("#popover").waitFor(); }
      const small = await page.evaluate(() => window.deep("button, select, input, textarea, summary")
        .filter((node) => node.checkVisibility()).map((node) => {
        const { width, height } = (["checkbox", "file"].includes(node.type) ? node.closest("label") : node)
          .getBoundingClientRect();
        return { width: Math.round(width), height: Math.round(height), html: node.outerHTML.slice(0, 90),
          word: node.matches(".unit") };
      }).filter(({ width, height, word }) => height < 40 || (!word && width < 40)));
      assert.deepEqual(small, [], view);
    }, { width: 390, height: 844, hasTouch: true, isMobile: true });
  }
});

test("1: on a phone, a tap shows where a word looks, another one asks", () => visit("", async (page) => {
  await translated(page);
  await page.locator(".target .unit").nth(1).tap();
  await page.locator(".unit.pinned").waitFor();
  assert.match(await text(page.locator("#hint")), /is aligned with|looks most at/);
  await page.locator(".source .unit").first().tap();
  await page.locator("#undo").waitFor();
}, { width: 390, height: 844, hasTouch: true, isMobile: true }));

test("9: in forced colours, what is chosen differs from what is not", () => visit(link({ v: "why" }), async (page) => {
  await page.locator("#loss-map").waitFor();
  const colour = (selector, name) => page.locator(selector).first()
    .evaluate((node, wanted) => getComputedStyle(node)[wanted], name);
  for (const place of [".words", "#panel .bar", "#look"])
    assert.notEqual(await colour(`${place} [aria-pressed=true]`, "backgroundColor"),
    await colour(`${place} [aria-pressed=false]`, "backgroundColor"), place);
  assert.notEqual(await colour(".tabs [aria-selected=true]", "borderBottomColor"),
    await colour(".tabs [aria-selected=false]", "borderBottomColor"));
}, { forcedColors: "active" }));

test("9: on paper, one page: the sentence, its threads, the map, and nothing to press",
  () => visit(link({}), async (page) => {
  await translated(page);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  for (const selector of ["#text", "#go", ".tabs", "#panel .bar"])
    assert.equal(await page.locator(selector).isVisible(), false, selector);
  for (const selector of [".line.source", ".threads", "#panel .map"])
    assert.equal(await page.locator(selector).first().isVisible(), true, selector);
  const pages = String(await page.pdf({ format: "A4", printBackground: true })).match(/\/Type \/Page\b/g);
  assert.equal(pages.length, 1);
}));
