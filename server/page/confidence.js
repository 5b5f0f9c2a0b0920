/* How sure the model was: log-probabilities, entropies, and the five best tokens of each step. */
import { el, find, percent, number, roving, direction } from "./dom.js";
import { END } from "./sentence.js";

/* A bar for each token. onStep(i, button) may be left out. */
export function strip(s, onStep) {
  const steps = s.tokens.map((token, i) => {
    const p = Math.exp(s.log_probs[i]), entropy = s.entropy?.[i] ?? 0;
    return el(onStep ? "button" : "div", { type: onStep && "button", class: p < 0.5 ? "step doubt" : "step", "aria-haspopup": onStep && "dialog", onclick: onStep && ((event) => onStep(i, event.currentTarget)) },
      el("span", { class: "bars", "aria-hidden": "true" }, el("i", { vars: { "--p": p.toFixed(4) } }), el("i", { vars: { "--p": Math.min(1, entropy / 4).toFixed(4) } })),
      el("span", { dir: "auto" }, token), el("small", {}, percent(p)), el("span", { class: "sr" }, `, log-probability ${number(s.log_probs[i])}, entropy ${number(entropy)} nats`));
  });
  const place = el("div", { class: "strip", dir: direction(s.text), role: "group", "aria-label": "Tokens" }, steps);
  if (onStep) roving(place, steps);
  return place;
}

/* The popover of step i's alternatives, at a button. */
export function alternatives(app, s, i, button) {
  const box = find("popover");
  box.replaceChildren(el("p", { class: "title" }, "Instead of ", el("b", { dir: "auto" }, s.tokens[i])),
    el("ul", {}, s.top_k[i].map(({ token, log_prob }) => el("li", {}, el("button", { type: "button", disabled: token === s.tokens[i], vars: { "--p": Math.exp(log_prob).toFixed(4) },
      onclick: () => { box.hidePopover(); app.questions.choose(i, token); } },
      el("span", { dir: "auto" }, token === END ? "</s> (end here)" : token), el("span", {}, percent(Math.exp(log_prob))))))),
    el("p", { class: "read" }, `Entropy ${number(s.entropy[i])} nats. Choose one to continue from there.`));
  box.showPopover();
  const at = button.getBoundingClientRect(), mine = box.getBoundingClientRect();
  box.style.left = `${Math.max(16, Math.min(innerWidth - mine.width - 16, at.left + at.width / 2 - mine.width / 2))}px`;
  box.style.top = `${at.bottom + mine.height + 16 > innerHeight && at.top > mine.height + 16 ? at.top - mine.height - 8 : Math.min(at.bottom + 8, innerHeight - mine.height - 8)}px`;
  box.querySelector("button:not(:disabled)")?.focus();
  box.ontoggle = (event) => { if (event.newState === "closed" && button.isConnected) button.focus(); };
}

export function confidencePanel(panel, app) {
  const s = app.sentence();
  panel.append(el("div", { class: "keys" },
    el("span", { vars: { "--c": "var(--accent)" } }, "probability"), el("span", { vars: { "--c": "var(--warn)" } }, "below 50%"), el("span", { vars: { "--c": "var(--muted)" } }, "entropy, 4 nats high")),
    strip(s, (i, button) => alternatives(app, s, i, button)),
    el("p", { class: "note" }, `Log-probability ${number(s.log_prob)}, score ${number(s.score, 3)}. Choose a token to see its alternatives.`));
}
