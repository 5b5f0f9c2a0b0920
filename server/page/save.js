/* Saving of files that the page makes. */
import { el } from "./dom.js";

export function save(name, blob) {
  const url = URL.createObjectURL(blob), link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
