/* Export of a sentence and its picture as one self-contained HTML file. It includes the element's modules and their
 * data, and needs neither a server nor a network. */

const FROM = /(from |import\()"\.\/([\w-]+\.js)"/g, PREFIX = "alignd/";
const STYLE =
  "html { color-scheme: light dark } body { margin: 0 auto; max-width: 72rem; padding: 1.5rem clamp(1rem, 4vw, " +
    "3rem); background: #faf9f6; color: #1d1c24; font: 15px/1.5 system-ui, sans-serif } svg { max-width: 100% } " +
      "alignd-attention + alignd-attention { margin-top: 1.5rem } @media (prefers-color-scheme: dark) { body { " +
        "background: #131218; color: #ecebf2 } }";
/* Allow only the file's own scripts and styles. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const START =
  `import "${PREFIX}element.js"; const result = JSON.parse(document.getElementById("result").textContent); for (const view of document.querySelectorAll("alignd-attention")) view.result = result;`;

/* The element's modules as an import map of data: URLs. */
async function importMap() {
  const imports = {}, wanted = ["element.js", "linemap.js"];
  for (const name of wanted) { /* grows during the loop */
    const reply = await fetch(new URL(name, import.meta.url));
    if (!reply.ok) throw new Error(`${name}: ${reply.status}`);
    const text = await reply.text();
    for (const [, how, imported] of text.matchAll(FROM))
      if (how === "from " && !wanted.includes(imported)) wanted.push(imported);
    imports[PREFIX + name] =
      `data:text/javascript;charset=utf-8,${encodeURIComponent(text.replace(FROM, `$1"${PREFIX}$2"`))}`;
  }
  return { imports };
}

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);
/* Escape <, so that no end tag or comment begins within a script. */
const json = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");
const tag = (name, attributes) =>
  `<${name}${Object.entries(attributes).filter(([, value]) => value !== false).map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join("")}>`;

/* result: what the elements show; views: the attributes of each element; svg: fallback without scripts. */
export async function toHtml({ title, result, views, svg }) {
  return ["<!doctype html>", "<html lang=\"en\">", "<meta charset=\"utf-8\">",
    tag("meta", { "http-equiv": "Content-Security-Policy", content: POLICY }),
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    "<meta name=\"color-scheme\" content=\"light dark\">", `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<script type="importmap">${json(await importMap())}</script>`, "<main>",
    ...views.map((attributes) => `${tag("alignd-attention", attributes)}</alignd-attention>`),
    `<noscript>${svg}</noscript>`, "</main>",
    `<script type="application/json" id="result">${json(result)}</script>`, `<script type="module">${START}</script>`,
      ""].join("\n");
}
