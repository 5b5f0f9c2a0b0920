/* /docs: one operation or object at a time, as the address says, and a form that sends each request to this server. */
import { button, copy, el } from "./dom.js";

const SECRET = /^\/(models|v2|v3)/; /* what a key may be needed for; a key is typed, never kept */

/* A request as it is typed: {method, path, body}. */
function sender(section, method, path, body) {
  const address = el("input", { "aria-label": "Address", value: path, spellcheck: "false" }), text = body === undefined ? null : el("textarea", { "aria-label": "Body", rows: Math.min(14, body.split("\n").length + 1), spellcheck: "false", value: body });
  const key = el("input", { type: "password", "aria-label": "API key, if the server asks for one", placeholder: "API key, if needed", autocomplete: "off" }), out = el("pre", { class: "reply", role: "status", hidden: true });
  async function send(event) {
    event.preventDefault();
    out.hidden = false;
    out.textContent = "\u2026";
    const began = performance.now();
    try {
      const reply = await fetch(address.value, { method: method.toUpperCase(), headers: { ...(text && { "Content-Type": "application/json" }), ...(key.value && { "X-Api-Key": key.value }) }, ...(text && { body: text.value }) });
      const said = await reply.text();
      let shown = said;
      try { shown = JSON.stringify(JSON.parse(said), null, 1).replace(/\[\s+([-\d.e,\s]+?)\s+\]/g, (_, list) => `[${list.replace(/\s+/g, " ")}]`); } catch { /* no JSON: as it is */ }
      out.textContent = `${reply.status} ${reply.statusText}, ${Math.round(performance.now() - began)} ms, ${said.length} characters\n${shown.slice(0, 20000)}`;
    } catch (error) {
      out.textContent = `The server cannot be reached: ${error.message}`;
    }
  }
  section.append(el("form", { onsubmit: send }, el("h4", {}, "Try it"), el("div", { class: "row" }, el("code", {}, method.toUpperCase()), address, (text || SECRET.test(path)) && key, el("button", {}, "Send")), text, out));
}

const pretty = (body) => { try { return JSON.stringify(JSON.parse(body), null, 1); } catch { return body; } };
for (const section of document.querySelectorAll("section[data-method]")) {
  const { method, path } = section.dataset, examples = [...section.querySelectorAll("pre")];
  for (const pre of examples) pre.before(button("Copy", () => copy(pre.textContent), { class: "copy" }));
  const [, body] = / -d '([^]*)'$/.exec(examples[0]?.textContent ?? "") ?? [];
  if (body !== undefined || method === "get") sender(section, method, path, body && pretty(body.replaceAll("'\\''", "'")));
}

/* Only what the address names is shown; without it the list and the first words. */
const links = [...document.querySelectorAll("nav a")], filter = document.getElementById("filter");
function show() {
  const id = decodeURIComponent(location.hash.slice(1)), section = id && document.getElementById(id);
  document.body.classList.toggle("one", section?.tagName === "SECTION");
  for (const one of document.querySelectorAll("section")) one.classList.toggle("shown", one === section);
  for (const link of links) link.hash === location.hash ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  if (section) scrollTo(0, 0);
}
filter.parentElement.hidden = false;
filter.addEventListener("input", () => {
  for (const link of links) link.parentElement.hidden = !link.textContent.toLowerCase().includes(filter.value.trim().toLowerCase());
});
addEventListener("hashchange", show);
document.body.classList.add("live");
if (!location.hash) location.replace("#translate");
show();
