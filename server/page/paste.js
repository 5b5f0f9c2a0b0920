/* Pasted rich text: the box shows its plain text, and a copy of the translation has its markup. */
import * as api from "./api.js";

const KEPT = "a,b,strong,i,em,u,s,sub,sup,code,p,br,h1,h2,h3,h4,ul,ol,li,table,tr,td,th,blockquote,span,div";
let pasted = { text: "", html: "" };

/* The markup of a text, without scripts, styles, and attributes but the addresses of links. */
function clean(html) {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  for (const node of body.querySelectorAll("script,style,template")) node.remove();
  for (const node of [...body.querySelectorAll("*")]) {
    for (const { name } of [...node.attributes])
      if (name !== "href" || !/^(https?|mailto):/.test(node.getAttribute(name))) node.removeAttribute(name);
    if (!node.matches(KEPT)) node.replaceWith(...node.childNodes);
  }
  return body;
}

/* html: what the clipboard has; text: all of the box after it was pasted. */
export function keep(html, text) {
  const body = clean(html), same = (one) => one.replace(/\s+/g, "");
  pasted = same(body.textContent) === same(text) && body.querySelector("a,b,strong,i,em,u,s,h1,h2,h3,h4,li,td,code")
    ? { text, html: body.innerHTML } : { text: "", html: "" };
}

/* Copy the translation of what was pasted with its markup; false if that is not what is translated. */
export async function copyRich(app) {
  const { answer } = app;
  if (!pasted.text || answer?.of !== pasted.text || answer.unedited || app.questions.current()) return false;
  const asked = api.ask("/translate", { ...app.search(), text: pasted.html, format: "html", include: [] })
    .then(({ translations }) => translations[0].text);
  const blob = (type, made) => asked.then((html) => new Blob([made(html)], { type }));
  await navigator.clipboard.write([new ClipboardItem({ "text/html": blob("text/html", (html) => html),
    "text/plain": blob("text/plain", () => answer.text) })]);
  return true;
}
