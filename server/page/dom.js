/* Elements without innerHTML. */
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
export const find = (id) => document.getElementById(id);

const RTL = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;
/* The direction of a text, by its first letter. */
export const direction = (text) => (RTL.test(text) ? "rtl" : "ltr");

export const percent = (p) => (p >= 0.1 || p === 0 ? `${Math.round(100 * p)}%` : `${(100 * p).toFixed(1)}%`);
export const number = (x, digits = 2) => x.toFixed(digits).replace("-", "\u2212");

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { /* not a secure context: the old way */
    const area = el("textarea", { class: "sr", value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
