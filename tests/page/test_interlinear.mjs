/* Sentences that wrap: each line of the source above its line of the translation, and no thread through a letter. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { becomes, link, point, translated, visit } from "./browser.mjs";
import { wordsOf } from "./lengths.mjs";

const WIDTHS = [390, 820, 1440];
/* One sentence of so many words. */
const oneOf = (count) => `${wordsOf(count).replace(/[.\n]+/g, " ").replace(/ +/g, " ").trim()}.`;

/* Threads that touch a letter: points of the paths within the letters of a word. */
const crossings = (page) => page.evaluate(() => {
  const { shadowRoot } = document.getElementById("view"), wrong = [];
  const letters = [...shadowRoot.querySelectorAll(".unit")].flatMap((word) => [...word.getClientRects()].map((rect) => {
    const size = parseFloat(getComputedStyle(word).fontSize), middle = (rect.top + rect.bottom) / 2;
    return { word: word.textContent, left: rect.left, right: rect.right, top: middle - size * 0.45,
      bottom: middle + size * 0.4 };
  }));
  const svg = shadowRoot.querySelector(".threads"), box = svg.getBoundingClientRect();
  for (const path of svg.querySelectorAll("path:not(.apart)")) {
    const length = path.getTotalLength();
    for (let k = 0; k <= 40; k++) {
      const at = path.getPointAtLength((length * k) / 40), x = at.x + box.left, y = at.y + box.top;
      const hit = letters.find((one) => x > one.left && x < one.right && y > one.top && y < one.bottom);
      if (hit) { wrong.push(`${path.dataset.cell}: ${hit.word}`); break; }
    }
  }
  if (Math.abs(box.width - svg.parentNode.clientWidth) > 1) wrong.push("not drawn for this width yet");
  return { wrong, paths: svg.querySelectorAll("path").length, apart: svg.querySelectorAll(".apart").length };
});

for (const count of [8, 30, 80, 250]) {
  for (const whole of count === 30 || count === 80 ? [0, 1] : [0]) {
    test(`interlinear: ${count} words${whole ? " in one sentence" : ""}: no thread crosses a letter at ${WIDTHS} px`,
      () => visit(link({ t: whole ? oneOf(count) : wordsOf(count), ...(whole && { whole: 1 }) }), async (page) => {
      await translated(page);
      await page.locator("#result[aria-busy=false]").waitFor();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 6000 }); /* all of it is drawn */
        await becomes(async () => {
          const { wrong, paths } = await crossings(page);
          assert.deepEqual(wrong, [], `${width} px`);
          assert.ok(paths > 5, `${paths} paths at ${width} px`);
        });
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px`);
      }
    }, { width: WIDTHS[0] }));
  }
}

test("interlinear: source lines stand above their lines; a link that leaves its line has two marks that light together",
  () => visit(link({ t: oneOf(60), whole: 1 }), async (page) => {
  await translated(page);
  await page.locator("#view .pair.inter").waitFor();
  await becomes(async () => assert.ok((await crossings(page)).apart > 0));
  /* Most of each word's weight is on the line above it. */
  const { near, all } = await page.evaluate(() => {
    const { shadowRoot } = document.getElementById("view"), top = (id) => shadowRoot.getElementById(id)
      .getBoundingClientRect().top;
    const gaps = [...shadowRoot.querySelectorAll(".threads path")].map((path) => {
      const [i, j] = path.dataset.cell.split(" ");
      return top(`s0-target-${i}`) - top(`s0-source-${j}`);
    });
    return { near: gaps.filter((gap) => gap > 0 && gap < 90).length, all: gaps.length };
  });
  assert.ok(near > 0.8 * all, `${near} of ${all}`);
  const cell = await page.locator("#view .threads .apart").first().getAttribute("data-cell"), [i] = cell.split(" ");
  await page.locator(`#view [id="s0-target-${i}"]`).scrollIntoViewIfNeeded();
  await point(page.locator(`#view [id="s0-target-${i}"]`));
  await page.locator(`#view .threads .apart.on[data-cell="${cell}"]`).waitFor({ state: "attached" });
  /* Both texts are still texts: no words are lost, and the arrow keys go through each. */
  const words = await page.locator("#view .line.source .unit:not(.end)").allTextContents();
  assert.equal(words.join("").replace(/\W/g, ""), oneOf(60).replace(/\W/g, ""));
}, { width: 820, height: 3000 }));
