/* Popover with the five best tokens of a decoding step. */
import { button, el, number, percent } from "./dom.js";
import { END } from "./sentence.js";
import { t } from "./say.js";

const GAP = 8, EDGE = 16; /* px to the button, and to the window's edges */

/* Place the popover below the button, or above it if it only fits there. */
export function beside(box, button) {
  const at = button.getBoundingClientRect(), mine = box.getBoundingClientRect(),
    below = innerHeight - at.bottom - mine.height - GAP >= 0;
  box.style.left =
    `${Math.max(EDGE, Math.min(innerWidth - mine.width - EDGE, at.left + at.width / 2 - mine.width / 2))}px`;
  box.style.top =
    `${below || at.top < mine.height + EDGE ? Math.min(at.bottom + GAP, innerHeight - mine.height - GAP) : at.top - mine.height - GAP}px`;
}

/* box: the popover; opener: the button that opens it; choose(token): called with the chosen token. */
export function alternatives(box, s, i, opener, choose) {
  box.replaceChildren(el("p", { class: "title" }, t("Instead of "), el("b", { dir: "auto" }, s.tokens[i])),
    el("ul", {}, s.top_k[i]
      .map(({ token, log_prob }) => el("li", {},
      button([el("span", { dir: "auto" }, token === END ? t("</s> (end here)") : token),
      el("span", {}, percent(Math.exp(log_prob)))],
      () => {
        box.hidePopover();
        choose(token);
      }, { disabled: token === s.tokens[i], vars: { "--p": Math.exp(log_prob).toFixed(4) } })))),
    el("p", { class: "read" }, t("Entropy {0} nats. Choose one to continue from there.", number(s.entropy[i]))));
  box.showPopover();
  beside(box, opener);
  box.querySelector("button:not(:disabled)")?.focus();
  /* In a shadow tree the browser does not restore the focus by itself, and `toggle` fires too late for a user who keeps
   * typing. */
  box.onbeforetoggle = (event) => {
    if (event.newState === "closed" && box.contains(box.getRootNode().activeElement))
      (opener.isConnected ? opener : box.getRootNode().host).focus();
  };
}
