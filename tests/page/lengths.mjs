/* Screenshots of texts of 8, 30, 80 and 250 words, at three widths, in both themes: node lengths.mjs ALIGND FOLDER
 * [WORDS...], from the top folder. */
import { mkdirSync } from "node:fs";
import { begin, end, translated, visit } from "./browser.mjs";

const SENTENCES = ["The old man gave the children some bread.",
  "When they had finished eating, they went down to the river, where a small boat was waiting for them under the trees.",
  "Nobody knew who had left it there, but it looked as if it had been painted in the morning.",
  "The water was cold and clear, and the wind came from the north.",
  "My sister wanted to cross the river before dark, because our mother was waiting on the other side.",
  "We took what we needed, closed the door of the house and walked slowly through the garden.",
  "It was the last day of the summer, and we all knew that school would begin again on Monday.",
    "Some of us were happy, others were sad, and my brother did not say a word."];
/* A text of `count` words: these sentences, repeated as needed, with a paragraph break after every fourth. */
export function wordsOf(count) {
  const list = [];
  for (let k = 0; list.length < count; k++) {
    const words = SENTENCES[k % SENTENCES.length].split(" ");
    if (k && k % 4 === 0) words[0] = `\n\n${words[0]}`;
    list.push(...words);
  }
  return list.slice(0, count).join(" ").replaceAll(" \n", "\n").replace(/[^.]$/, "$&.");
}
export const COUNTS = [8, 30, 80, 250], WIDTHS = [390, 820, 1440], THEMES = ["light", "dark"];

if (process.argv[1]?.endsWith("lengths.mjs")) {
  const folder = process.argv[3] ?? "lengths", counts = process.argv.slice(4).map(Number);
  mkdirSync(folder, { recursive: true });
  await begin();
  for (const count of counts.length ? counts : COUNTS) {
    for (const width of WIDTHS) {
      for (const theme of THEMES) {
        await visit(`#${new URLSearchParams({ t: wordsOf(count), m: "en-fr" })}`, async (page) => {
          await translated(page);
          await page.locator(".reading:not(.busy)").waitFor();
          await page.locator(".target .unit").nth(5).hover();
          await page.screenshot({ path: `${folder}/${count}-${width}-${theme}.png`, fullPage: true });
        }, { width, theme });
      }
    }
  }
  await end();
}
