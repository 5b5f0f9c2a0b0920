/* /page/models.html: lists the models of this server; an administrator downloads and removes them. */
import { button, el, find } from "./dom.js";
import { t } from "./say.js";
import { languageName, speak, translatePage } from "./speak.js";

const POLL_MS = 1000, cards = new Map(), fetching = new Set();
let key = "", again, timer; /* the key is kept in memory only; again: the action to retry with a key */

async function ask(method, path, body) {
  const reply = await fetch(path, { method, body: body && JSON.stringify(body),
    headers: { ...(body && { "Content-Type": "application/json" }), ...(key && { Authorization: `Bearer ${key}` }) } });
  const said = await reply.json().catch(() => null);
  if (!reply.ok) throw Object.assign(new Error(said?.error ?? `The server answered ${reply.status}.`),
    { status: reply.status });
  return said;
}

const hide = (hidden) => { find("error").hidden = find("who").hidden = hidden; };
/* Show an error. If a key is missing, or another one is needed, ask for it and return true. */
function fail(error, act) {
  const asks = error.status === 401 || (error.status === 403 && key);
  find("error").textContent = error.status ? error.message : t("The server cannot be reached.");
  hide(false);
  find("who").hidden = !asks;
  if (asks) { again = act; find("key").select(); }
  return asks;
}
async function attempt(act) {
  hide(true);
  try { await act(); } catch (error) { fail(error, act); }
}

const say = (text) => { find("said").textContent = text; };

function remove({ name }) {
  if (!confirm(`${t("Remove")}: ${name}?`)) return;
  attempt(async () => {
    const { status } = await ask("DELETE", `/models/${encodeURIComponent(name)}`);
    await list();
    say(`${name}: ${t(status)}`);
    find("what").focus();
  });
}

/* A download has no `task`, and cannot be removed. */
function card(model) {
  const { name, source, target, state, progress, bytes } = model;
  const facts = [t(state), bytes > 0 && `${(bytes / 1e6).toFixed(1)} MB`, model.from, model.version, model.licence,
    model.reason];
  return el("section", { class: "card", "aria-label": name }, el("h2", {}, name),
    source && target && `${languageName(source)} → ${languageName(target)}`,
    el("p", { class: "note" }, facts.filter(Boolean).join(" · ")),
    state === "fetching" && el("p", {}, el("progress", { max: 1, value: progress, "aria-label": t("Progress") }),
      ` ${Math.floor(100 * progress)}%`),
    model.task && button(t("Remove"), () => remove(model), { "aria-label": `${t("Remove")}: ${name}` }));
}

/* Redraw only the cards that changed, so that the focus stays, and poll while a model is downloading or loading. */
async function list() {
  const { models } = await ask("GET", "/models"), seen = new Set();
  for (const model of models) {
    const { name, state, task } = model, id = `${!task} ${name}`, is = JSON.stringify(model), old = cards.get(id);
    seen.add(id);
    if (state === "fetching") fetching.add(name);
    else if (fetching.delete(name)) say(`${name}: ${t(state)}`);
    if (old?.is === is) continue;
    const node = card(model);
    if (old) old.node.replaceWith(node);
    else find("models").append(node);
    cards.set(id, { is, node });
  }
  for (const [id, { node }] of cards) if (!seen.has(id)) { node.remove(); cards.delete(id); }
  clearTimeout(timer);
  if (models.some(({ state }) => state === "fetching" || state === "loading")) timer = setTimeout(poll, POLL_MS);
}
let lost = false;
async function poll() {
  try {
    await list();
    if (lost) hide(true);
    lost = false;
  } catch (error) {
    lost = true;
    if (!fail(error, poll)) timer = setTimeout(poll, POLL_MS);
  }
}

find("get").addEventListener("submit", (event) => {
  event.preventDefault();
  const get = find("what").value.trim(), from = find("from").value;
  attempt(async () => {
    const { name, status } = await ask("POST", "/models", { get, from });
    say(`${name}: ${t(status)}`);
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
find("what").placeholder = "en-fr";
poll();
