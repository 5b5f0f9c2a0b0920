/* Attention's scale: one hue, lightness even to the eye (OKLab), darker is more on paper and lighter is more at night. */

const dark = matchMedia("(prefers-color-scheme: dark)");
export const onTheme = (f) => dark.addEventListener("change", f);
/* [L, chroma] of nothing and of all, how much more chroma there is halfway, and the hue. */
const ends = () => (dark.matches ? [[0.25, 0.02], [0.86, 0.09], 0.07] : [[0.975, 0.006], [0.36, 0.18], 0.02]);
const HUE = (281 * Math.PI) / 180;

function hex(L, C) {
  const a = C * Math.cos(HUE), b = C * Math.sin(HUE);
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3, s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (x) => Math.round(255 * Math.min(1, Math.max(0, x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055))).toString(16).padStart(2, "0");
  return "#" + channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) + channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) +
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
}

export function heat(weight) {
  const [[L0, C0], [L1, C1], more] = ends(), w = Math.min(1, Math.max(0, weight));
  return hex(L0 + w * (L1 - L0), C0 + w * (C1 - C0) + 4 * w * (1 - w) * more);
}
/* What can be read on it: of black and white the one with more contrast, 4.5 at least. */
export function heatInk(weight) {
  const [[L0], [L1]] = ends();
  return L0 + weight * (L1 - L0) > 0.57 ? "#000000" : "#ffffff";
}
export const ink = () => (dark.matches ? "#ecebf2" : "#1d1c24");
export const muted = () => (dark.matches ? "#a9a6b8" : "#5a5864");
export const paper = () => (dark.matches ? "#1c1b24" : "#ffffff");
export const accent = () => (dark.matches ? "#b0aeff" : "#3d3bb3");
export const warn = () => (dark.matches ? "#ffb26b" : "#a04a00");
