/* node static.mjs PACKAGE FOLDER MODEL...: writes a folder to FOLDER that any host of static files can serve, below any
 * path: the page, the npm package as its engine, and models. From the top folder of alignd's sources. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packed, folder, ...models] = process.argv.slice(2);
if (models.length === 0) {
  console.error("usage: make static DIR=FOLDER [MODEL=\"en-fr ...\"]");
  process.exit(2);
}
const PAGE = "server/page", ENGINE = "engine";
/* Files of the page that only a daemon serves, and of the package that only programs use. */
const SERVED = /^models\.|^docs\./, PROGRAMS = /^(types|icu|package\.json|README\.md|index\.d\.ts)$/;
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; base-uri 'none'; " +
  "form-action 'none'";

const send = (names, to) =>
  execFileSync("sh", [`${PAGE}/embed.sh`, "--to", to, ...names.map((name) => join(PAGE, name))]);
const replace = (text, before, after) => {
  if (!text.includes(before))
    throw new Error(`${PAGE}/index.html lacks ${before}`);
  return text.replace(before, after);
};

mkdirSync(join(folder, "page"), { recursive: true });
const isOfPage = (name) => /\.(css|js|svg)$/.test(name) && !SERVED.test(name) && name !== "embed.js";
send(readdirSync(PAGE).filter(isOfPage), join(folder, "page"));
send(["index.html", "embed.js"], folder);

const named = models.map((model) => basename(model));
const index = replace(readFileSync(join(folder, "index.html"), "utf8"), "<html lang=\"en\">",
  `<html lang="en" data-engine="${ENGINE}/index.js" data-models="${named.map((name) => `${name}/`).join(" ")}">`);
writeFileSync(join(folder, "index.html"), replace(index, "<meta charset=\"utf-8\">",
  `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${POLICY}">`));

for (const name of readdirSync(packed).filter((one) => !PROGRAMS.test(one)))
  cpSync(join(packed, name), join(folder, ENGINE, name), { recursive: true });
const { packagesFor } = await import(pathToFileURL(resolve(packed, "data.js")));
const configs = models.map((model) => JSON.parse(readFileSync(join(model, "config.json"), "utf8")));
for (const name of ["list.js", ...packagesFor(configs).map((one) => `${one}.dat.gz`)])
  cpSync(join(packed, "icu", name), join(folder, ENGINE, "icu", name));

models.forEach((model, i) => {
  const { files } = JSON.parse(readFileSync(join(model, "manifest.json"), "utf8"));
  const wanted = ["manifest.json", "README.md", ...Object.keys(files)];
  for (const name of wanted.filter((one) => existsSync(join(model, one))))
    cpSync(join(model, name), join(folder, named[i], name));
});
