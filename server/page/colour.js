/* Colours of the pictures in the light and the dark theme. The scale of weights has a single hue and perceptually even
 * lightness (OKLab): more weight is darker in the light theme, and lighter in the dark one. */

const night = matchMedia("(prefers-color-scheme: dark)"), followers = new Set();
export const follow = () => followers.forEach((f) => f());
export function onTheme(f) {
  night.addEventListener("change", follow);
  followers.add(f);
}
export const offTheme = (f) => followers.delete(f);

/* Keys are the names of the style sheets' custom properties. */
export const LIGHT = { paper: "#faf9f6", card: "#ffffff", ink: "#1d1c24", muted: "#5a5864", line: "#e3e0d9",
  accent: "#3d3bb3", soft: "#eeedf9", warn: "#a04a00", heat: "#3d3bb3" };
export const DARK = { paper: "#131218", card: "#1c1b24", ink: "#ecebf2", muted: "#a9a6b8", line: "#32303e",
  accent: "#b0aeff", soft: "#292840", warn: "#ffb26b", heat: "#8f8cff" };

/* [L, chroma] of weights 0 and 1, and the extra chroma halfway between them. */
const BY_DAY = [[0.975, 0.006], [0.36, 0.18], 0.02], BY_NIGHT = [[0.25, 0.02], [0.86, 0.09], 0.07];
const HUE = (281 * Math.PI) / 180;

function hex(L, C) {
  const a = C * Math.cos(HUE), b = C * Math.sin(HUE);
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3,
    s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (x) =>
    Math.round(255 * Math.min(1, Math.max(0, x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055))).toString(16)
    .padStart(2, "0");
  return "#" + channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)
    + channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) +
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
}

/* [red, green, blue, alpha] of a computed colour, 0 to 1. */
function channels(colour) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].map((x) => x / 255);
}
const around = (node) => node.parentElement ?? node.getRootNode().host;
const isLight = (colour) => { const [r, g, b] = channels(colour); return 0.299 * r + 0.587 * g + 0.114 * b > 0.5; };

/* "light" or "dark", by the color-scheme that the element inherits or, on a page that declares none, by the colour of
 * its text. */
export function schemeOf(node) {
  const declared = getComputedStyle(node).colorScheme.split(" "), dark = declared.includes("dark");
  if (dark || declared.includes("light"))
    return dark && (!declared.includes("light") || night.matches) ? "dark" : "light";
  const outer = around(node);
  return outer && isLight(getComputedStyle(outer).color) ? "dark" : "light";
}
/* The background that the element stands on: "" if nothing around it has one, or if the page has set --alignd-paper. */
export function groundOf(node) {
  if (getComputedStyle(node).getPropertyValue("--alignd-paper")) return "";
  for (let one = around(node); one; one = around(one)) {
    const colour = getComputedStyle(one).backgroundColor;
    if (channels(colour)[3] > 0.99) return colour;
  }
  return "";
}

/* theme: "light" or "dark", otherwise that of the system. scale(weight): its colour. on(weight): black or white for
 * text on that colour, whichever has more contrast, at least 4.5. */
export function colours(theme) {
  const dark = (theme ?? schemeOf(document.documentElement)) === "dark", [[L0, C0], [L1, C1], more] = dark ? BY_NIGHT
    : BY_DAY;
  return { ...(dark ? DARK : LIGHT),
    scale(weight) {
      const w = Math.min(1, Math.max(0, weight));
      return hex(L0 + w * (L1 - L0), C0 + w * (C1 - C0) + 4 * w * (1 - w) * more);
    },
    on: (weight) => (L0 + weight * (L1 - L0) > 0.57 ? "#000000" : "#ffffff") };
}
