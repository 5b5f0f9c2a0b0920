/* Helpers that build elements without innerHTML. */
import { decimals, t } from "./say.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);
export const button = (says, onclick, props) => el("button", { type: "button", onclick, ...props }, says);
export const toggle = (says, on, onclick, props) => button(says, onclick, { "aria-pressed": String(on), ...props });
export const group = (label, ...content) => el("div", { class: "group", role: "group", "aria-label": label }, content);
export const note = (...says) => el("p", { class: "note" }, says);
/* Colour legend: [[name of a custom property, label], ...]. */
export const keys = (list) => el("div", { class: "keys" },
  list.map(([name, says]) => el("span", { vars: { "--c": `var(--${name})` } }, says)));
export const find = (id) => document.getElementById(id);

const RTL = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;
/* Direction of a text, by its first letter. */
export const direction = (text) => (RTL.test(text) ? "rtl" : "ltr");

/* Arrow keys (in text direction), Home and End move the focus within list(); with `columns` it is a grid, and up and
 * down move by a row. rest(one): one has the focus. */
export function rovingIn(place, list, rest, columns = 0) {
  place.addEventListener("focusin", (event) => { if (list().includes(event.target)) rest(event.target); });
  place.addEventListener("keydown", (event) => {
    const all = list(), at = all.indexOf(event.target), on = direction(place.textContent) === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + on, ArrowLeft: at - on, Home: 0, End: all.length - 1,
      ...(columns && { ArrowUp: at - columns, ArrowDown: at + columns }) }[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    all[to]?.focus();
  });
}
/* Roving tabindex: the buttons are one tab stop, at first the pressed one. */
export function roving(place, buttons, columns = 0) {
  const rest = (chosen) => { for (const button of buttons) button.tabIndex = button === chosen ? 0 : -1; };
  rest(buttons.find((button) => button.getAttribute("aria-pressed") === "true") ?? buttons[0]);
  rovingIn(place, () => buttons, rest, columns);
}

/* Numbers as the reader's language writes them. */
export const number = (x, digits = 2) => decimals(digits).format(x).replace("-", "\u2212");
export const percent = (p) => t("{0}%", p >= 0.1 || p === 0 ? Math.round(100 * p) : number(100 * p, 1));

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { /* not a secure context: fall back to execCommand */
    const area = el("textarea", { class: "sr", value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
