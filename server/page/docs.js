/* /docs: shows the operation or object that the URL's fragment names, with a form that sends the request to this
 * server. */
import { button, copy, el } from "./dom.js";

const SENTENCE = "Where is the train station?";
/* Initial values of fields and parameters without an example, by name. */
const SAMPLES = { text: SENTENCE, q: SENTENCE, source: "en", target: "fr", source_lang: "en", target_lang: "fr",
  name: "winter", entries: "snow\tneige",
  dictionaries: [{ source_lang: "en", target_lang: "fr", entries: "snow\tneige" }], document_key: "", get: "en-de",
  from: "mozilla", tl: "fr" };
const { paths, components } = await (await fetch("openapi.json")).json();

/* Fields of an object's schema, and the names of the required ones: all, if the schema does not say. */
function fieldsOf(schema) {
  const { properties = {}, required = Object.keys(properties) } = schema?.$ref
    ? components.schemas[schema.$ref.split("/").at(-1)] : schema ?? {};
  return { properties, required };
}
/* Initial body of a request: undefined, JSON text, or {name: input} for a form with a file. */
function bodyOf({ requestBody }) {
  const { "application/json": json, "multipart/form-data": form } = requestBody?.content ?? {};
  if (json) {
    const [example] = Object.values(json.examples ?? {}), { required } = fieldsOf(json.schema);
    return JSON.stringify(example ? example.value
      : Object.fromEntries(required.map((name) => [name, SAMPLES[name] ?? ""])), null, 1);
  }
  if (!form) return undefined;
  const { properties, required } = fieldsOf(form.schema), input = (name) => (name === "file" ? { type: "file" }
    : { value: required.includes(name) ? SAMPLES[name] : "", spellcheck: "false" });
  return Object.fromEntries(Object.keys(properties)
    .map((name) => [name, el("input", { ...input(name), required: required.includes(name) })]));
}
/* The path with sample values in its query. A GET whose parameters are not described has the fields of the POST. */
function addressOf(path, method, { parameters }) {
  const fields = method === "get" ? fieldsOf(paths[path].post?.requestBody?.content["application/json"]?.schema)
    .required : [];
  const usual = (name) => ["text", "q", "target"].includes(name), names = parameters
    ? parameters.filter((one) => one.in === "query" && (one.required || usual(one.name)))
    : fields.filter(usual).map((name) => ({ name }));
  const query = new URLSearchParams(names.map(({ name, example }) => [name, example ?? SAMPLES[name] ?? ""]));
  return query.size ? `${path}?${query}` : path;
}

function sender(section, method, path, operation) {
  const body = bodyOf(operation), isText = typeof body === "string",
    address = el("input", { "aria-label": "Address", value: addressOf(path, method, operation), spellcheck: "false" });
  const text = isText && el("textarea", { "aria-label": "Body", rows: Math.min(14, body.split("\n").length + 1),
    spellcheck: "false", value: body }), inputs = isText ? {} : body ?? {};
  const key = el("input", { type: "password", "aria-label": "API key, if the server asks for one",
    placeholder: "API key, if needed", autocomplete: "off" }),
    out = el("pre", { class: "reply", role: "status", hidden: true });
  const filled = () => {
    const form = new FormData();
    for (const [name, { files, value }] of Object.entries(inputs)) if (value) form.set(name, files?.[0] ?? value);
    return form;
  };
  async function send(event) {
    event.preventDefault();
    out.hidden = false;
    const [open] = /\{\w+\}/.exec(address.value) ?? [];
    out.textContent = open ? `Write a value in place of ${open} in the address.` : "\u2026";
    if (open) return address.focus();
    const began = performance.now();
    try {
      const reply = await fetch(address.value,
        { method: method.toUpperCase(), headers: { ...(text && { "Content-Type": "application/json" }),
        ...(key.value && { "X-Api-Key": key.value }) },
        ...(body !== undefined && { body: text ? text.value : filled() }) });
      const said = await reply.text();
      let shown = said;
      try {
        shown = JSON.stringify(JSON.parse(said), null, 1).replace(/\[\s+([-\d.e,\s]+?)\s+\]/g,
          (_, list) => `[${list.replace(/\s+/g, " ")}]`);
      } catch { /* not JSON: shown as it is */ }
      out.textContent =
        `${reply.status} ${reply.statusText}, ${Math.round(performance.now() - began)} ms, ${said.length} characters\n${shown.slice(0, 20000)}`;
    } catch (error) {
      out.textContent = `The server cannot be reached: ${error.message}`;
    }
  }
  section.append(el("form", { onsubmit: send }, el("h3", {}, "Try it"),
    el("div", { class: "row" }, el("code", {}, method.toUpperCase()), address, operation.security.length > 0 && key,
    el("button", {}, "Send")),
    Object.entries(inputs).map(([name, input]) => el("label", { class: "field" }, el("code", {}, name), input)),
      text, out));
}

const here = new URL(".", location.href).href.slice(0, -1); /* examples are for this server */
for (const section of document.querySelectorAll("section[data-method]")) {
  const { method, path } = section.dataset;
  for (const pre of section.querySelectorAll("pre")) {
    pre.textContent = pre.textContent.replace("localhost:8080", here);
    pre.before(button("Copy", () => copy(pre.textContent), { class: "copy" }));
  }
  sender(section, method, path, paths[path][method]);
}

/* The style sheet shows only the section that the fragment names. */
const links = [...document.querySelectorAll("nav a")], filter = document.getElementById("filter");
function mark() {
  for (const link of links) link.hash === location.hash ? link.setAttribute("aria-current", "page")
    : link.removeAttribute("aria-current");
}
filter.addEventListener("input", () => {
  for (const link of links)
    link.parentElement.hidden = !link.textContent.toLowerCase().includes(filter.value.trim().toLowerCase());
});
addEventListener("hashchange", mark);
if (!location.hash) location.replace("#translate");
mark();
