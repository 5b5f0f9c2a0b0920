/* Series of pictures to look at: node series.mjs ALIGND FOLDER [NAME...], from the top folder. NAME: typing, word,
 * edit, also, arabic. Of typing, a word's panel and an edit there is a picture of each step. lengths.mjs has texts by
 * length. */
import { mkdirSync } from "node:fs";
import { begin, end, holds, link, program, text, translated, visit } from "./browser.mjs";
import { startDaemon } from "../clients/daemon.mjs";
import { THEMES, WIDTHS, wordsOf } from "./lengths.mjs";

const folder = process.argv[3] ?? "series", only = process.argv.slice(4),
  TYPED = "The old man gave the children some bread.";
const daemon = await startDaemon(program, ["weights/en-fr", "weights/en-de", "weights/fr-en"]);
const settled = (page) => page.locator("#result[aria-busy=false]").waitFor();
/* Picture k of a series. */
const step = (page, name, k) => page.screenshot({ path: `${folder}/${name}-${String(k).padStart(2, "0")}.png` });
const open = (hash, body, how = {}) => visit(hash, body, { daemon, ...how });

const SERIES = {
  typing: () => open(link({ t: "" }), async (page) => {
    const words = TYPED.split(/(?<= )/);
    await page.locator("#text").focus();
    for (const [k, word] of words.entries()) {
      await page.keyboard.type(word, { delay: 60 });
      await settled(page);
      await step(page, "typing", k);
      console.log(`typing-${k}: ${await page.locator("#text").inputValue()}| ${await text(page.locator("#result"))}`);
    }
  }),
  word: () => open(link({}), async (page) => {
    let k = 0;
    await page.locator("#result .word", { hasText: "livre" }).click();
    const found = () => page.locator("#word .read", { hasText: /alternatives|nothing else/ }).waitFor();
    await found();
    await step(page, "word", k++);
    for (const id of ["keep-after", "keep-both", "keep-before"]) {
      await page.locator(`#${id}`).click();
      await found();
      await step(page, "word", k++);
    }
    await page.locator("#word li button:enabled").first().click();
    await page.locator("#undo").waitFor();
    await step(page, "word", k++);
  }, { height: 1100 }),
  edit: () => open(link({}), async (page) => {
    await page.locator("#result .word").first().waitFor();
    await page.locator("#edit").click();
    await step(page, "edit", 0);
    await page.locator("#edited").fill("Elle lui donna le cahier qu'il avait perdu hier.");
    await holds(page, () => /[&#]e=/.test(location.hash));
    await step(page, "edit", 1);
    await page.keyboard.press("Escape");
    await step(page, "edit", 2);
    await page.locator("#own-text").click();
    await holds(page, () => !/cahier/.test(document.getElementById("result").textContent));
    await step(page, "edit", 3);
  }),
  also: async () => {
    for (const width of WIDTHS) for (const words of [8, 30])
      await open(link({ t: wordsOf(words), al: "de", k: words === 8 ? 0 : 1 }), async (page) => {
        await page.locator("#also alignd-attention .target .unit").first().waitFor();
        await page.screenshot({ path: `${folder}/also-${words}-${width}.png` });
      }, { width, height: 2400 }); /* threads are drawn where they are seen */
  },
  arabic: async () => {
    for (const width of WIDTHS) for (const theme of THEMES)
      await open(link({}), async (page) => {
        await translated(page);
        await page.screenshot({ path: `${folder}/arabic-${width}-${theme}.png`, fullPage: true });
      }, { width, theme, locale: "ar" });
  },
};

mkdirSync(folder, { recursive: true });
await begin();
try {
  for (const name of only.length ? only : Object.keys(SERIES)) await SERIES[name]();
} finally {
  await end();
  daemon.stop();
}
