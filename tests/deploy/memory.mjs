// node tests/deploy/memory.mjs ALIGND COMPOSE: the memory that the service alignd is allowed must be what it may need.
// kubernetes.mjs does the same for the pods. The formula is that of server/OPERATIONS.md, Memory.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const KI = 1024, MI = KI * KI;
const SHIPPED = 200 * MI; // what the models of the image take together (/models: bytes)
const ROW_TOKENS = 200, STEPS = 200; // of the sentences whose searches are kept

// "2G", "2Gi", "64k", "1048576"; powers of 1024, as alignd and docker compose have them.
export function bytes(text) {
  const found = /^([0-9.]+)([kKMGT]?)i?$/.exec(String(text));
  assert(found, `${text} is not a size`);
  return Number(found[1]) * KI ** " KMGT".indexOf((found[2] || " ").toUpperCase());
}

// Milliseconds: "10s", "10000".
function milliseconds(text) {
  const [, number, unit] = /^([0-9.]+)(ms|s|min|h)?$/.exec(String(text));
  return Number(number) * { ms: 1, s: 1000, min: 60000, h: 3600000 }[unit ?? "ms"];
}

// What a daemon with these variables may take, in bytes; the others are as --help says.
export function needed(alignd, settings) {
  const help = execFileSync(alignd, ["--help"], { encoding: "utf-8" });
  const value = (name) => settings[name] || new RegExp(`\\[${name}; default ([^\\]]+)\\]`).exec(help)?.[1];
  const size = (name) => bytes(value(name)), count = (name) => Number(value(name));
  const workers = count("ALIGND_WORKERS"), queue = count("ALIGND_QUEUE"), threads = Math.ceil(workers / 4);
  const rows = workers * count("ALIGND_ROWS") * 9 / 8, body = size("ALIGND_MAX_BODY_BYTES");
  assert(count("ALIGND_CONNECTIONS") > 0, "connections without a limit of their own");
  return (
    2 * (size("ALIGND_MODEL_MEMORY") || SHIPPED) + 60 * MI +
    count("ALIGND_CONNECTIONS") * body +
    32 * MI + threads * 3 * (12 * body + 24 * MI + count("ALIGND_DOCUMENT_SENTENCES") * 4 * KI) +
    size("ALIGND_REQUEST_MEMORY") + queue * 64 * KI +
    workers * 9 / 8 * size("ALIGND_DECODE_MEMORY") +
    rows * STEPS * (4 * ROW_TOKENS + 300) +
    5 * MI * workers * milliseconds(value("ALIGND_DEADLINE_MS")) / 1000 +
    threads * 3 * (64 + 8) * MI + threads * 3 * 2 * size("ALIGND_MAX_REPLY_BYTES") + size("ALIGND_REPLY_MEMORY") +
    threads * 13 * MI + size("ALIGND_CACHE_BYTES") + size("ALIGND_KEEP_FILES_BYTES")
  );
}

export function checkMemory(alignd, settings, limit) {
  const least = needed(alignd, settings);
  assert(bytes(limit) >= least, `${limit} are less than the ${(least / MI).toFixed(0)} MiB that alignd may take`);
  console.log(`memory: at most ${(least / MI).toFixed(0)} MiB of ${limit}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , alignd, file] = process.argv;
  const defaults = (text) => String(text).replace(/\$\{[A-Z_]+:-([^}]*)\}/g, "$1");
  const service = parse(readFileSync(file, "utf-8")).services.alignd;
  const settings = Object.fromEntries(Object.entries(service.environment)
    .map(([name, text]) => [name, defaults(text)]));
  checkMemory(alignd, settings, defaults(service.deploy.resources.limits.memory));
}
