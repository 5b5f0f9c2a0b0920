/* Model folders for scripts that no shipped model writes: those of tests/golden with other words in their vocabularies.
 * The weights, and therefore the translations, are made up; tokens, offsets and attention are the daemon's. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const letters = /\p{L}/u;

/* Replace the vocabulary's lines that contain letters by these words, as far as they go. */
function replaceWords(path, words) {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n"), left = [...new Set(words)];
  writeFileSync(path, lines.map((line, id) => (id > 2 && letters.test(line) ? left.shift() ?? line : line)).join("\n")
    + "\n");
}

/* source, target: {code, words}. Returns the folder. */
export function scriptFolder(name, golden, [source, target]) {
  const folder = join(mkdtempSync(join(tmpdir(), "alignd-page-")), name), path = join(folder, "config.json");
  mkdirSync(folder);
  /* Some are links: copy their content, so that the originals stay unchanged. */
  for (const file of ["config.json", "model.safetensors", "source.vocab", "target.vocab"])
    copyFileSync(join("tests/golden", golden, file), join(folder, file));
  const config = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...config, name, source: source.code, target: target.code,
    limits: { max_source_tokens: 60, max_target_ratio: 1.5 } }));
  replaceWords(join(folder, "source.vocab"), source.words);
  replaceWords(join(folder, "target.vocab"), target.words);
  return folder;
}

/* A model folder under another name, with changes to its config.json. Returns the folder. */
export function renamedFolder(model, name, changes) {
  const folder = join(mkdtempSync(join(tmpdir(), "alignd-page-")), name);
  mkdirSync(folder);
  for (const file of readdirSync(model))
    if (!["config.json", "manifest.json"].includes(file)) symlinkSync(resolve(model, file), join(folder, file));
  const config = JSON.parse(readFileSync(join(model, "config.json"), "utf8"));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, name, ...changes }));
  return folder;
}

/* Each word alone, and after each prefix. */
const prefixed = (prefixes, words) => ["", ...prefixes].flatMap((prefix) => words.map((word) => prefix + word));

export const hebrew = { code: "he", words: prefixed(["ו", "ה", "ב", "ל", "מ", "כ", "ש"],
  ["ילד", "משחק", "שלג", "ילדה", "קוראת", "ספר", "ישן", "ים", "בית", "גדול"]) };
export const arabic = { code: "ar", words: prefixed(["و", "ف", "ال", "ب", "ل", "ك", "وال"],
  ["ولد", "يلعب", "ثلج", "بنت", "تقرأ", "كتاب", "قديم", "بحر", "بيت", "كبير"]) };
export const chinese = { code: "zh", words: [..."我喜欢雪你在哪里他们去学校吃饭看书天气很好今晚想见老师和朋友一起走路回家的人是不大小多少上下左右中外东西南北"] };
export const japanese = { code: "ja", words: [..."私は雪が好きです猫とい学校へ行ま日本語を話すあなたの家どこに本読むかるれさ見たくらそうもちよけこせ子水火木金土"] };
