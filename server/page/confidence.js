/* How sure the model was: log-probabilities, entropies, and the five best tokens of each step. */
import { direction, el, keys, note, number, percent, roving } from "./dom.js";
import { t } from "./say.js";

/* Bars of probability and entropy for each token. onStep(i, button): optional, called when token i is chosen. */
export function strip(s, onStep) {
  const steps = s.tokens.map((token, i) => {
    const p = Math.exp(s.log_probs[i]), entropy = s.entropy?.[i] ?? 0;
    return el(onStep ? "button" : "div", { type: onStep && "button", class: p < 0.5 ? "step doubt" : "step",
      "aria-haspopup": onStep && "dialog", onclick: onStep && ((event) => onStep(i, event.currentTarget)) },
      el("span", { class: "bars", "aria-hidden": "true" }, el("i", { vars: { "--p": p.toFixed(4) } }),
        el("i", { vars: { "--p": Math.min(1, entropy / 4).toFixed(4) } })),
      el("span", { dir: "auto" }, token), el("small", {}, percent(p)),
        el("span", { class: "sr" }, t(", log-probability {0}, entropy {1} nats", number(s.log_probs[i]),
        number(entropy))));
  });
  const place = el("div", { class: "strip", dir: direction(s.text), role: "group", "aria-label": t("Tokens") }, steps);
  if (onStep) roving(place, steps);
  return place;
}

export function confidencePanel(panel, app) {
  const s = app.sentence();
  panel.append(keys([["accent", t("probability")], ["warn", t("below 50%")], ["muted", t("entropy, 4 nats high")]]),
    strip(s, app.asks() && ((i, button) => app.view.showAlternatives(i, button))),
    note(t("Log-probability {0}, score {1}.", number(s.log_prob), number(s.score, 3))
      + (app.asks() ? t(" Choose a token to see its alternatives.") : "")));
}
