/* Before the package is packed: copies the element and what it imports from the page's folder to src/, and the
 * licence. */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), page = dirname(here), out = join(here, "src"),
  wanted = ["element.js"];

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
for (const name of wanted) { /* grows while it is gone through */
  const text = readFileSync(join(page, name), "utf8");
  copyFileSync(join(page, name), join(out, name));
  for (const [, imported] of text.matchAll(/from "\.\/([\w-]+\.js)"/g))
    if (!wanted.includes(imported)) wanted.push(imported);
}
copyFileSync(join(page, "..", "..", "LICENSE"), join(here, "LICENSE"));
