/* The theme that the reader has chosen for the page: "light", "dark", or "" for the system's. */
import { follow } from "./colour.js";

const STORED = "alignd-theme";
export function chosenTheme() {
  try { return localStorage.getItem(STORED) ?? ""; } catch { return ""; }
}
/* Show a theme, by default the chosen one. The style sheets' rules for dark systems then hold always, or never. */
export function useTheme(name) {
  try { if (name !== undefined) localStorage.setItem(STORED, name); } catch { /* it is lost after a reload */ }
  name ??= chosenTheme();
  document.documentElement.style.colorScheme = name;
  for (const rule of [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])) {
    if (rule.media && (rule.dark ??= /dark/.test(rule.media.mediaText)))
      rule.media.mediaText = { light: "not all", dark: "all" }[name] ?? "(prefers-color-scheme: dark)";
  }
  follow();
}
