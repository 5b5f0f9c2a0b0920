/* The README's animation of a question: node moving.mjs ALIGND OUT.webp, from the top folder. A sentence is typed, its
 * translation appears, words are pointed at. Needs img2webp. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { begin, end, link, sentence, target, translated, visit } from "./browser.mjs";

const out = process.argv[3] ?? "moving.webp", folder = mkdtempSync(join(tmpdir(), "alignd-moving-")), frames = [];
const FRAME_MS = 80, TYPED = 3, STEPS = 4; /* characters per frame; frames per pointer movement */
const LOOK_MS = 1600, READ_MS = 2400;

async function frame(page, ms = FRAME_MS) {
  const path = join(folder, `${frames.length}.png`);
  await page.screenshot({ path });
  frames.push("-d", String(ms), path);
}

/* Set the value without an input event, so that the page does not translate before all is typed. */
async function type(page, text) {
  await page.locator("#text").focus();
  await frame(page, LOOK_MS / 2);
  for (let length = TYPED; length < text.length; length += TYPED) {
    await page.evaluate((part) => { document.getElementById("text").value = part; }, text.slice(0, length));
    await frame(page);
  }
  await page.locator("#text").fill(text);
  await translated(page);
  await page.locator(".threads path[d]").first().waitFor({ state: "attached" });
  await frame(page, LOOK_MS);
}

/* Screenshots have no pointer, so draw one that follows the mouse. */
async function showPointer(page) {
  await page.evaluate(() => {
    const pointer = document.createElementNS("http://www.w3.org/2000/svg", "svg"),
      arrow = document.createElementNS("http://www.w3.org/2000/svg", "path");
    for (const [name, value] of Object.entries({ width: 18, height: 26, viewBox: "0 0 18 26" }))
      pointer.setAttribute(name, value);
    for (const [name, value] of Object.entries({ d: "M1 1v19l5-4 3 8 4-2-4-7h7z", fill: "#000", stroke: "#fff",
      "stroke-width": 1.5 })) arrow.setAttribute(name, value);
    Object.assign(pointer.style, { position: "fixed", pointerEvents: "none", zIndex: 9, left: "-99px" });
    pointer.append(arrow);
    document.body.append(pointer);
    addEventListener("pointermove",
      ({ clientX, clientY }) => Object.assign(pointer.style, { left: `${clientX}px`, top: `${clientY}px` }), true);
  });
}

async function pointAt(page, from, word) {
  const box = await target(page, word).boundingBox(), to = { x: box.x + box.width / 2, y: box.y + box.height * 0.6 };
  for (let step = 1; step <= STEPS; step++) {
    await page.mouse.move(from.x + ((to.x - from.x) * step) / STEPS, from.y + ((to.y - from.y) * step) / STEPS);
    await frame(page);
  }
  await page.locator("#hint b").first().waitFor();
  await frame(page, READ_MS);
  return to;
}

await begin();
await visit(link({ t: "" }), async (page) => {
  await page.locator(".state").waitFor();
  await type(page, sentence);
  await showPointer(page);
  let at = { x: 640, y: 540 };
  for (const word of ["livre", "perdu", "lui"]) at = await pointAt(page, at, word);
}, { width: 820, height: 690 });
await end();
execFileSync("img2webp", ["-loop", "0", "-min_size", "-lossless", "-m", "6", ...frames, "-o", out],
  { stdio: ["ignore", "ignore", "inherit"] });
rmSync(folder, { recursive: true });
