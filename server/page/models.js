/* /page/models.html: the models of this server; an administrator downloads and removes them. */
import { button, el, find } from "./dom.js";
import { t } from "./say.js";
import { languageName, speak, translatePage } from "./speak.js";

const POLL_MS = 1000, cards = new Map(), fetching = new Set();
let key = "", again, timer; /* the key stays in memory; again: what was refused without one */

async function ask(method, path, body) {
  const reply = await fetch(path, { method, body: body && JSON.stringify(body), headers: { ...(body && { "Content-Type": "application/json" }), ...(key && { Authorization: `Bearer ${key}` }) } });
  const said = await reply.json().catch(() => null);
  if (!reply.ok) throw Object.assign(new Error(said?.error ?? `The server answered ${reply.status}.`), { status: reply.status });
  return said;
}

/* Does something that may be refused; a key is asked for where one is missing, or another is needed. */
async function attempt(act) {
  find("error").hidden = true;
  try {
    await act();
    find("who").hidden = true;
  } catch (error) {
    find("error").textContent = error.status ? error.message : t("The server cannot be reached.");
    find("error").hidden = false;
    if (error.status !== 401 && !(error.status === 403 && key)) return;
    again = act;
    find("who").hidden = false;
    find("key").select();
  }
}

const say = (text) => { find("said").textContent = text; };

function remove({ name }) {
  if (!confirm(`${t("Remove")}: ${name}?`)) return;
  attempt(async () => {
    const { status } = await ask("DELETE", `/models/${encodeURIComponent(name)}`);
    await list();
    say(`${name}: ${status}`);
    find("what").focus();
  });
}

/* served: not a download */
function card(model, served) {
  const { name, source, target, state, progress, bytes } = model;
  const facts = [state, bytes > 0 && `${(bytes / 1e6).toFixed(1)} MB`, model.from, model.version, model.licence, model.reason];
  return el("section", { class: "card", "aria-label": name }, el("h2", {}, name), source && target && `${languageName(source)} → ${languageName(target)}`,
    el("p", { class: "note" }, facts.filter(Boolean).join(" · ")),
    state === "fetching" && el("p", {}, el("progress", { max: 1, value: progress, "aria-label": t("Progress") }), ` ${Math.floor(100 * progress)}%`),
    served && button(t("Remove"), () => remove(model), { "aria-label": `${t("Remove")}: ${name}` }));
}

/* Draws what has changed, so that the focus stays where it is; asks again while something is downloaded. */
async function list() {
  clearTimeout(timer);
  const { models } = await ask("GET", "/models"), seen = new Set();
  for (const model of models) {
    const down = model.state === "fetching", served = !down && !(model.state === "failed" && !model.source);
    const id = `${served} ${model.name}`, is = JSON.stringify(model), old = cards.get(id);
    seen.add(id);
    if (down) fetching.add(model.name);
    else if (fetching.delete(model.name)) say(`${model.name}: ${model.state}`);
    if (old?.is === is) continue;
    const node = card(model, served);
    if (old) old.node.replaceWith(node);
    else find("models").append(node);
    cards.set(id, { is, node });
  }
  for (const [id, { node }] of cards) if (!seen.has(id)) { node.remove(); cards.delete(id); }
  if (models.some(({ state }) => state === "fetching" || state === "loading")) timer = setTimeout(() => attempt(list), POLL_MS);
}

find("get").addEventListener("submit", (event) => {
  event.preventDefault();
  const get = find("what").value.trim(), from = find("from").value;
  attempt(async () => {
    const { name, status } = await ask("POST", "/models", { get, from });
    say(`${name}: ${status}`);
    await list();
  });
});
find("who").addEventListener("submit", (event) => {
  event.preventDefault();
  key = find("key").value.trim();
  attempt(again);
});

await speak();
translatePage();
attempt(list);
