/* Twenty tasks, each done with the keyboard alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { becomes, holds, link, sentence, text, translated, visit } from "./browser.mjs";

const TWO = `${sentence} I like snow.`;

/* Move the focus with Tab, or with Shift+Tab, to an element that matches. */
async function to(page, selector) {
  for (const key of ["Tab", "Shift+Tab"]) {
    for (let presses = 0; presses < 70; presses++) {
      if (await page.evaluate((wanted) => window.deepFocus().matches(wanted), selector)) return;
      await page.keyboard.press(key);
    }
  }
  assert.fail(`Tab does not reach ${selector}`);
}
const keys = async (page, ...list) => { for (const key of list) await page.keyboard.press(key); };
const at = (page) => page.evaluate(() => window.deepFocus().id);
const result = (page) => text(page.locator("#result"));
const says = (page, part) => page.locator("#result", { hasText: part }).waitFor();
/* Go to the word of the result with this text. */
async function word(page, wanted) {
  await to(page, "#result .word");
  await keys(page, "Home");
  for (let k = 0; k < 40 && await page.evaluate(() => document.activeElement.textContent) !== wanted; k++)
    await keys(page, "ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), wanted);
}

const TASKS = {
  "translate a text": async (page) => {
    await to(page, "#text");
    await keys(page, "Control+a");
    await page.keyboard.type("Where is the train station?");
    await keys(page, "Control+Enter");
    await says(page, "gare");
  },
  "clear it, and write another": async (page) => {
    await to(page, "#clear");
    await keys(page, "Enter");
    assert.equal(await at(page), "text");
    await page.keyboard.type(TWO);
    await says(page, "neige");
  },
  "go to the next sentence": async (page) => {
    await to(page, "#next");
    await keys(page, "Enter");
    await page.locator("#which", { hasText: "Sentence 2 of 2" }).waitFor();
  },
  "come back to the first": async (page) => {
    await to(page, "#previous");
    await keys(page, "Enter");
    await page.locator("#which", { hasText: "Sentence 1 of 2" }).waitFor();
  },
  "take another word": async (page) => {
    await word(page, "livre");
    await keys(page, "Enter");
    await page.locator("#word .read", { hasText: /alternatives/ }).waitFor();
    await keys(page, "ArrowDown", "Enter");
    await page.locator("#undo").waitFor();
  },
  "take that back": async (page) => {
    await to(page, "#undo");
    await keys(page, "Enter");
    await says(page, "le livre qu");
  },
  "see what fits between both ends": async (page) => {
    await word(page, "livre");
    await keys(page, "Enter");
    await page.locator("#word .read", { hasText: /alternatives/ }).waitFor();
    await to(page, "#keep-both");
    await keys(page, "Enter");
    await page.locator("#keep-both[aria-pressed=true]").waitFor();
    await page.locator("#word .read", { hasText: /alternatives|nothing else/ }).waitFor();
    await keys(page, "Escape");
    await page.locator("#word").waitFor({ state: "hidden" });
  },
  "edit the translation": async (page) => {
    await to(page, "#edit");
    await keys(page, "Enter");
    await page.locator("#edited").waitFor();
    await keys(page, "Control+End");
    await page.keyboard.type(" Oui.");
    await holds(page, () => /[&#]e=/.test(location.hash));
    await keys(page, "Escape");
    assert.equal(await at(page), "edit");
    assert.match(await result(page), / Oui\.$/);
  },
  "go back to the model's own": async (page) => {
    await to(page, "#own-text");
    await keys(page, "Enter");
    await page.locator("#own-text").waitFor({ state: "hidden" });
    await holds(page, () => !/Oui/.test(document.getElementById("result").textContent)
      && !/Oui/.test(document.querySelector("alignd-attention").sentence.text));
  },
  "copy it": async (page) => {
    await to(page, "#copy");
    await keys(page, "Enter");
    await page.locator("#said", { hasText: "Copied." }).waitFor();
  },
  "make a word look elsewhere": async (page) => {
    await to(page, ".target .unit");
    await keys(page, "Enter");
    await to(page, ".source .unit");
    await keys(page, "ArrowRight", "Enter");
    await page.locator("#undo").waitFor();
    await to(page, "#undo");
    await keys(page, "Enter");
    await page.locator("#undo").waitFor({ state: "detached" });
  },
  "read the map": async (page) => {
    await to(page, ".map");
    await keys(page, "ArrowDown");
    await page.locator("#panel .read", { hasText: "is aligned with" }).waitFor();
  },
  "open another view": async (page) => {
    await to(page, "[role=tab]");
    await keys(page, "ArrowRight");
    assert.equal(await at(page), "tab-confidence");
    await page.locator("#panel .step").first().waitFor();
  },
  "see a token's alternatives": async (page) => {
    await to(page, "#panel button.step");
    await keys(page, "Enter");
    await page.locator("#popover li").nth(4).waitFor();
    await keys(page, "Escape");
    await page.locator("#popover").waitFor({ state: "hidden" });
  },
  "search with another width": async (page) => {
    await to(page, "#how summary");
    await keys(page, "Enter");
    await to(page, "#beam");
    await keys(page, "ArrowUp", "Enter");
    await holds(page, () => location.hash.includes("b=6"));
  },
  "have the language detected": async (page) => {
    await to(page, "#from");
    await keys(page, "Home");
    await holds(page, () => /English/.test(document.querySelector("#from option:checked").textContent));
  },
  "swap the languages": async (page) => {
    await to(page, "#swap");
    await keys(page, "Enter");
    await holds(page, () => location.hash.includes("m=fr-en"));
    await says(page, "snow");
  },
  "try an example": async (page) => {
    await to(page, "#examples button");
    await keys(page, "Enter");
    await translated(page);
  },
  "read the help, and choose a dark theme": async (page) => {
    await to(page, "#show-help");
    await keys(page, "Enter");
    await page.locator("#theme-dark").waitFor();
    await to(page, "#theme-dark");
    await keys(page, "Enter");
    await becomes(async () => assert.equal(await page.locator("#view").getAttribute("data-scheme"), "dark"));
    await keys(page, "Escape");
    await page.locator("#help").waitFor({ state: "hidden" });
  },
  "find a model": async (page) => {
    await to(page, ".top nav a");
    await keys(page, "Enter");
    await page.locator("#seek").waitFor();
    await to(page, "#seek");
    await page.keyboard.type("finn");
    await page.locator("#more .card:visible", { hasText: "alignd get en-fi" }).waitFor();
  },
};

test(`tasks: ${Object.keys(TASKS).length} by the keyboard alone`, () => visit(link({}), async (page) => {
  assert.equal(Object.keys(TASKS).length, 20);
  await translated(page);
  for (const [name, task] of Object.entries(TASKS)) {
    try {
      await task(page);
    } catch (error) {
      throw new Error(`${name}: ${error.message}`, { cause: error });
    }
  }
}));
