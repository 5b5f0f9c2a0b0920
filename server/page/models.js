/* /page/models.html: lists the models of this server; an administrator downloads and removes them. */
import { useTheme } from "./theme.js";
import { button, el, find } from "./dom.js";
import { spoken, t } from "./say.js";
import { byName, count, languageName, MORE, speak, translatePage } from "./speak.js";

const POLL_MS = 1000, IDLE_MS = 10000, cards = new Map(), fetching = new Set();
let key = "", again, timer; /* the key is kept in memory only; again: the action to retry with a key */

async function ask(method, path, body) {
  const reply = await fetch(path, { method, body: body && JSON.stringify(body),
    headers: { ...(body && { "Content-Type": "application/json" }), ...(key && { Authorization: `Bearer ${key}` }) } });
  const said = await reply.json().catch(() => null);
  if (!reply.ok) throw Object.assign(new Error(said?.error ?? `The server answered ${reply.status}.`),
    { status: reply.status });
  return said;
}

const hide = (hidden) => { find("error").hidden = hidden; };
/* Who may not change models sees a sentence that says how, and no buttons. */
function mayChange(may) {
  find("may-not").hidden = find("who").hidden = may;
  document.body.classList.toggle("may-not", !may);
}
/* Show an error. If a key is missing, or another one is needed, ask for it and return true. */
function fail(error, act) {
  const asks = error.status === 401 || error.status === 403;
  find("error").textContent = error.status ? error.message : t("The server cannot be reached.");
  hide(false);
  if (!asks) return false;
  mayChange(false);
  again = act;
  find("who").open = true;
  find("key").select();
  return true;
}
async function attempt(act) {
  hide(true);
  try {
    await act();
  } catch (error) { fail(error, act); }
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

/* Only models of a language that is sought, by its name or code. */
function seek() {
  const sought = find("seek").value.trim().toLocaleLowerCase();
  for (const node of document.querySelectorAll("[data-found]")) node.hidden = !node.dataset.found.includes(sought);
}

const HUB = "en", megabytes = (bytes) => bytes > 0 && `${(bytes / 1e6).toFixed(1)} MB`;
const SAYS = { reading: "Reading Mozilla's list.", failed: "Mozilla's list cannot be read now.",
  offline: "This server downloads nothing (--offline)." };
/* The list, if the server knows it; otherwise languages between which and English Mozilla may have models. */
const guessed = () => MORE.flatMap((code) => [{ source: HUB, target: code }, { source: code, target: HUB }]);
let had = {}; /* what can be had; a list that is known is not asked for again */
const bar = (value) => el("p", {}, el("progress", { max: 1, value, "aria-label": t("Progress") }),
  ` ${Math.floor(100 * value)}%`);
/* Lists by language the models that can be downloaded, each with its command. */
function offer(models, { state, models: list }) {
  const here = new Set(models.filter(({ task }) => task).map((one) => `${one.source}-${one.target}`)), by = new Map(),
    ready = state === "ready", coming = new Map(models.filter((one) => one.state === "fetching")
    .map(({ name, progress }) => [name.replace("mozilla:", ""), progress]));
  for (const one of ready ? list : guessed()) {
    const pair = `${one.source}-${one.target}`, code = one.source === HUB ? one.target : one.source;
    if (!here.has(pair)) by.set(code, [...(by.get(code) ?? []), { ...one, pair, progress: coming.get(pair) }]);
  }
  find("listed").textContent = ready ? t("{0} pairs of languages in Mozilla's list.", count(list.length))
    : `${SAYS[state] ? `${t(SAYS[state])} ` : ""}${t(
      "Mozilla may have models between English and each of these: alignd get --list en- lists what it has.")}`;
  for (const code of byName([...by.keys()])) put("more", `${state} ${code}`, by.get(code), (pairs) => {
    const names = pairs.map(({ pair }) => pair);
    return el("section", { class: "card none", "aria-label": languageName(code),
      "data-found": `${languageName(code)} ${code} ${names.join(" ")}`.toLocaleLowerCase() },
      el("h3", {}, languageName(code)), el("p", { class: "note" }, `alignd get ${names.join(" ")}`),
      pairs.map(({ pair, progress, ...one }) => [
        ready && el("p", { class: "note" }, [`${languageName(one.source)} \u2192 ${languageName(one.target)}`,
        megabytes(one.bytes), one.from, one.version, one.licence].filter(Boolean).join(" \u00b7 ")),
        progress >= 0 ? bar(progress) : state !== "offline" && button(`${t("Download")}: ${pair}`,
          () => order(pair, "mozilla"))]));
  });
}

/* When a model was used, in words. */
function used({ in_use: now, idle_s: seconds }) {
  if (now) return t("in use");
  if (!(seconds >= 0)) return "";
  const [unit, size] = seconds < 3600 ? ["minute", 60] : seconds < 86400 ? ["hour", 3600] : ["day", 86400];
  return t("used {0}", new Intl.RelativeTimeFormat(spoken(), { numeric: "auto" })
    .format(-Math.floor(seconds / size), unit));
}

/* A download has no `task`, and cannot be removed. */
function card(model) {
  const { name, source, target, state, progress, bytes } = model;
  const facts = [t({ cold: "installed", ready: "loaded" }[state] ?? state), model.used,
    megabytes(bytes), model.from, model.version, model.licence,
    model.attribution, model.quality && t("estimates quality"), model.reason];
  const named = source && target ? `${languageName(source)} → ${languageName(target)}` : "";
  return el("section", { class: "card", "aria-label": name, "data-found": `${name} ${named}`.toLocaleLowerCase() },
    el("h3", {}, name),
    named,
    el("p", { class: "note" }, facts.filter(Boolean).join(" · ")),
    state === "fetching" && bar(progress),
    model.task && button(t("Remove"), () => remove(model), { "aria-label": `${t("Remove")}: ${name}` }));
}

let seen = new Set();
/* Draw the card of what is so, unless it is there: the focus stays in those that did not change. */
function put(place, id, what, draw) {
  const is = JSON.stringify(what), old = cards.get(id);
  seen.add(id);
  if (old?.is === is) return;
  const node = draw(what), focused = old?.node.contains(document.activeElement);
  if (old) old.node.replaceWith(node);
  else find(place).append(node);
  if (focused) Object.assign(node, { tabIndex: -1 }).focus();
  cards.set(id, { is, node });
}
/* Poll often while something changes. */
async function list() {
  const { models, administrator } = await ask("GET", "/models");
  if (had.state !== "ready") had = await ask("GET", "/models/available").catch(() => ({ state: "unknown" }));
  mayChange(administrator);
  seen = new Set();
  for (const { in_use: now, idle_s: idle, ...one } of models) {
    const { name, state, task } = one;
    if (state === "fetching") fetching.add(name);
    else if (fetching.delete(name)) say(`${name}: ${t(state)}`);
    put("models", `${!task} ${name}`, { ...one, used: used({ in_use: now, idle_s: idle }) }, card);
  }
  offer(models, had);
  for (const [id, { node }] of cards) if (!seen.has(id)) { node.remove(); cards.delete(id); }
  seek();
  clearTimeout(timer);
  const soon = had.state === "reading" || models.some(({ state }) => state === "fetching" || state === "loading");
  timer = setTimeout(poll, soon ? POLL_MS : IDLE_MS);
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

const order = (get, from) => attempt(async () => {
  const { name, status } = await ask("POST", "/models", { get, from });
  say(`${name}: ${t(status)}`);
  await list();
});
find("get").addEventListener("submit", (event) => {
  event.preventDefault();
  order(find("what").value.trim(), find("from").value);
});
/* An example of a name, as each source has them. */
const EXAMPLE = { mozilla: "en-fr", opus: "en-fi", argos: "en-es", hf: "Helsinki-NLP/opus-mt-en-fi" };
const example = () => { find("what").placeholder = EXAMPLE[find("from").value]; };
find("from").addEventListener("change", example);
find("seek").addEventListener("input", seek);
find("who").addEventListener("submit", (event) => {
  event.preventDefault();
  key = find("key").value.trim();
  attempt(async () => {
    await list();
    if (document.body.matches(".may-not"))
      throw Object.assign(new Error(t("This key is not an administrator's.")), { status: 403 });
    await again?.();
    again = undefined;
  });
});

useTheme();
await speak();
translatePage();
example();
poll();
