/* Shows errors where they occurred, with a way to continue. */
import { el, button } from "./dom.js";
import { useKey } from "./api.js";
import { t } from "./say.js";

const KEPT = "Your text is still here.";
/* By status: a title, or "" to use the server's message, and advice. */
const WORDS = {
  0: ["The server cannot be reached.", KEPT],
  401: ["This server requires an API key.", "It is kept only until you close this tab."],
  403: ["The server does not accept this key.", ""],
  429: ["The server is busy.", KEPT],
  503: ["", KEPT],
  504: ["That took longer than the server allows.", "Try a shorter text or a narrower beam."],
};

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/* Count down in a note and then call act(), unless the note has been removed or hidden by then. */
function countDown(seconds, act) {
  const note = el("span", { class: "count", "aria-hidden": "true" });
  const say = () => { note.textContent = t("Trying again in {0} s", seconds); };
  const timer = setInterval(() => {
    seconds--;
    if (seconds > 0 && note.isConnected && note.checkVisibility()) return say();
    clearInterval(timer);
    if (seconds <= 0 && note.isConnected && note.checkVisibility()) act();
  }, 1000);
  say();
  return note;
}

/* Ask for the server's API key, and then call act(). */
function askKey(act) {
  const key = el("input", { type: "password", id: "key", autocomplete: "off", required: true });
  return el("form", { class: "again", onsubmit: (event) => {
    event.preventDefault();
    useKey(key.value.trim());
    act();
  } }, el("label", {}, t("Key "), key), el("button", { class: "primary" }, t("Use it")));
}

/* Show an error. again(): retries. A busy server is retried after a countdown, an unreachable one when the network is
 * back. */
export function fail(place, error, again) {
  const [title, advice] = WORDS[error.status] ?? ["", ""];
  place.replaceChildren(el("strong", {}, title ? t(title) : sentence(error.message)),
    advice && el("span", {}, t(advice)));
  place.hidden = false;
  if (!again) return;
  if (error.status === 401 || error.status === 403) return place.append(askKey(again));
  const row = el("span", { class: "again" }, button(t("Try again"), again));
  place.append(row);
  if (error.status === 429 || error.status === 503) row.append(countDown(Math.max(1, error.retryAfter), again));
  if (error.status === 0) addEventListener("online", () => {
    if (row.isConnected && row.checkVisibility()) again();
  }, { once: true });
}

/* The same, in a new paragraph. */
export function failure(error, again) {
  const place = el("p", { class: "error", role: "alert" });
  fail(place, error, again);
  return place;
}
