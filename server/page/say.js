/* Texts in the reader's language. English is in the modules; each other language has a file (de.js, fr.js), keyed by
 * the English text. */

let words = {}, code = "en";
/* {0}, {1}, ... are replaced by the values. */
export const t = (text, ...values) => (words[text] ?? text).replace(/\{(\d)\}/g, (_, k) => values[k]);
export const spoken = () => code;
export function use(one, list) { [code, words] = [one, list]; }

const formats = [];
export const decimals = (digits) => (formats[digits] ??= new Intl.NumberFormat(code,
  { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false }));
