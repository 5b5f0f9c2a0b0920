/* The most multiply-adds of int8 a second that WebAssembly's SIMD128 allows, by the loop of wasm_ceiling.c, in Node:
 * node tests/bench/wasm_ceiling.mjs (clang-14 and lld-14 come with Debian's emscripten). Of five runs, after another:
 * the median, the least and the greatest, by the time of processors. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const RUNS = 5, TIMES = 2e7, MULTIPLIED = 128; /* by each time */
const folder = mkdtempSync(join(tmpdir(), "wasm-ceiling-")), file = join(folder, "ceiling.wasm");
execFileSync("clang-14", ["--target=wasm32", "-O2", "-msimd128", "-nostdlib", "-Wl,--no-entry", "-o", file,
  new URL("wasm_ceiling.c", import.meta.url).pathname]);
const { instance } = await WebAssembly.instantiate(readFileSync(file));
rmSync(folder, { recursive: true });

const rates = [];
for (let i = 0; i <= RUNS; i++) { /* the first one compiles */
  const before = process.cpuUsage();
  instance.exports.multiply(TIMES);
  const { user, system } = process.cpuUsage(before);
  rates[i] = TIMES * MULTIPLIED / (user + system) / 1e3;
}
const [least, , median, , greatest] = rates.slice(1).sort((a, b) => a - b).map((rate) => rate.toFixed(1));
console.log(`${median} (${least} - ${greatest}) G multiply-adds/s`);
