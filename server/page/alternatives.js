/* The five best tokens of a step, in a popover. */
import { button, el, number, percent } from "./dom.js";
import { END } from "./sentence.js";
import { t } from "./say.js";

const GAP = 8, EDGE = 16; /* px to the button, and to the window's edges */

/* Below the button, or above it where there is more room; never over it. */
function place(box, button) {
  const at = button.getBoundingClientRect(), mine = box.getBoundingClientRect(),
    below = innerHeight - at.bottom - mine.height - GAP >= 0;
  box.style.left =
    `${Math.max(EDGE, Math.min(innerWidth - mine.width - EDGE, at.left + at.width / 2 - mine.width / 2))}px`;
  box.style.top =
    `${below || at.top < mine.height + EDGE ? Math.min(at.bottom + GAP, innerHeight - mine.height - GAP) : at.top - mine.height - GAP}px`;
}

/* box: the popover; opener: the button that opens it; choose(token). */
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
  place(box, opener);
  box.querySelector("button:not(:disabled)")?.focus();
  /* Within a shadow tree the browser itself does not give the focus back; and toggle comes too late for who types
   * on. */
  box.onbeforetoggle = (event) => {
    if (event.newState === "closed" && box.contains(box.getRootNode().activeElement))
      (opener.isConnected ? opener : box.getRootNode().host).focus();
  };
}
