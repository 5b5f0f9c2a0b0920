/* npm runs this before it packs the package. It copies the element with all modules that it imports from the page's
 * folder to src/, and the licence to the package's folder. */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), page = dirname(here), out = join(here, "src"),
  wanted = ["element.js"];

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
for (const name of wanted) { /* the loop appends to the list */
  const text = readFileSync(join(page, name), "utf8");
  copyFileSync(join(page, name), join(out, name));
  for (const [, imported] of text.matchAll(/(?:from |import\()"\.\/([\w-]+\.js)"/g))
    if (!wanted.includes(imported)) wanted.push(imported);
}
copyFileSync(join(page, "..", "..", "LICENSE"), join(here, "LICENSE"));
