/* Language of the page itself, and names of languages in it. */
import { spoken, t, use } from "./say.js";

export const LANGUAGES = ["en", "ar", "de", "es", "fr", "it", "ja", "nl", "pl", "pt", "zh"];

function wanted() {
  try {
    const kept = localStorage.getItem("alignd-language");
    if (LANGUAGES.includes(kept)) return kept;
  } catch { /* storage is forbidden */ }
  return navigator.languages.map((one) => one.split("-")[0]).find((one) => LANGUAGES.includes(one)) ?? "en";
}
/* Load the reader's language; the page stays English if that fails. */
export async function speak() {
  const one = wanted();
  try {
    if (one !== "en") use(one, (await import(`./${one}.js`)).default);
  } catch { /* the file cannot be loaded */ }
  document.documentElement.lang = spoken();
  document.documentElement.dir = spoken() === "ar" ? "rtl" : "ltr"; /* the whole page is mirrored */
}
export function speakNext(one) {
  try { localStorage.setItem("alignd-language", one); } catch { /* the choice is lost after the reload */ }
  location.reload();
}
/* Translate the texts of the HTML file: marked elements, and these attributes. */
export function translatePage() {
  if (spoken() === "en") return;
  for (const node of document.querySelectorAll("[data-say]")) node.textContent = t(node.textContent);
  for (const name of ["aria-label", "placeholder", "title"])
    for (const node of document.querySelectorAll(`[${name}]`)) node.setAttribute(name, t(node.getAttribute(name)));
}

const names = new Map(), PRIVATE = { "x-geoquery": "Questions as logic (GeoQuery)" };
/* Name of a language in the reader's language, or its code if it has no name. */
export function languageName(one) {
  if (!names.has(one)) {
    let name;
    try {
      name = new Intl.DisplayNames([spoken()], { type: "language" }).of(one);
    } catch { /* a private code, such as x-geoquery */ }
    names.set(one, PRIVATE[one] ? t(PRIVATE[one]) : name ?? one);
  }
  return names.get(one);
}
/* Common languages, for which there are models to get. */
export const MORE =
  "ar bg ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv nb nl pl pt ro ru sk sl sr sv th tr uk vi zh"
  .split(" ");
export const byName = (codes) => [...new Set(codes)]
  .sort((a, b) => languageName(a).localeCompare(languageName(b)));
export const count = (n) => n.toLocaleString(spoken());
