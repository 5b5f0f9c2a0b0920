/* ICU's data (data.sh): which packages of it models need, and how they become one. */
import listed from "./icu/list.js";

/* Packages that a language needs in addition to its own. */
const ALSO = { ja: ["cjdict"], km: ["khmerdict"], lo: ["laodict"], my: ["burmesedict"], nb: ["no"], nn: ["no"],
  th: ["thaidict"], yue: ["zh", "cjdict"], zh: ["cjdict"] };

/* The codes of the languages that a model's config.json names. */
const codesOf = ({ source, target, variants = {}, languages = {} }) =>
  [source, target, ...Object.keys(variants), ...Object.keys(languages)];

/** The names of the packages for models with these configurations; the first is for all. */
export const packagesFor = (configs) => {
  const languages = configs.flatMap(codesOf).map((code) => code.split(/[-_]/)[0].toLowerCase());
  const wanted = new Set(languages.flatMap((language) => [language, ...ALSO[language] ?? []]));
  return ["common", ...listed.filter((name) => wanted.has(name))];
};

/* A package is a header, whose first two bytes are its length, and after it the number of entries, for each of them the
 * places of its name and of its bytes, counted from that number on and in the order of the names, and then these. */
const ENTRY = 8, ALIGNMENT = 16;
const aligned = (place) => Math.ceil(place / ALIGNMENT) * ALIGNMENT;
const headerOf = (bytes) => bytes[0] | bytes[1] << 8;

const entriesOf = (bytes) => {
  const body = bytes.subarray(headerOf(bytes)), view = new DataView(body.buffer, body.byteOffset, body.length);
  const places = Array.from({ length: view.getUint32(0, true) }, (_, i) =>
    [view.getUint32(4 + ENTRY * i, true), view.getUint32(8 + ENTRY * i, true)]);
  return places.map(([name, begin], i) => ({
    name: new TextDecoder().decode(body.subarray(name, body.indexOf(0, name))),
    bytes: body.subarray(begin, places[i + 1]?.[1]),
  }));
};

/** One package with the entries of all of them. */
export const join = (packages) => {
  const entries = packages.flatMap(entriesOf).sort((one, other) => (one.name < other.name ? -1 : 1));
  const names = entries.map(({ name }) => new TextEncoder().encode(`${name}\0`)), header = headerOf(packages[0]);
  const first = 4 + ENTRY * entries.length, end = first + names.reduce((sum, { length }) => sum + length, 0);
  const made = new Uint8Array(entries.reduce((sum, { bytes }) => sum + aligned(bytes.length), header + aligned(end)));
  const body = made.subarray(header), view = new DataView(made.buffer, header);
  made.set(packages[0].subarray(0, header));
  view.setUint32(0, entries.length, true);
  let name = first, place = aligned(end);
  entries.forEach(({ bytes }, i) => {
    view.setUint32(4 + ENTRY * i, name, true);
    view.setUint32(8 + ENTRY * i, place, true);
    body.set(names[i], name);
    body.set(bytes, place);
    name += names[i].length;
    place += aligned(bytes.length);
  });
  return made;
};
