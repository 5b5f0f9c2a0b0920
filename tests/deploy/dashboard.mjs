// node tests/deploy/dashboard.mjs docker/grafana/dashboard.json is a dashboard by the schema that Grafana publishes
// (types, in the package @grafana/schema): no field is wrong or unknown to it. Its panels have places of their own,
// what they show comes from the data source that is chosen, and each variable that is used is there. First the compiler
// is shown faults, which it must find.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = import.meta.dirname, COLUMNS = 24,
  BUILT_IN = new Set(["__rate_interval", "__interval", "__range", "__all"]);
const TYPES = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler",
  "--target", "es2022"];

// What the compiler says; nothing: it is one.
function faults(dashboard) {
  const work = mkdtempSync(join(FOLDER, "node_modules/dashboard-"));
  try {
    const file = join(work, "dashboard.ts");
    writeFileSync(file,
      `import type { Dashboard } from "@grafana/schema";\nexport const dashboard: Dashboard = ${JSON.stringify(dashboard, null, 1)};\n`);
    return spawnSync(process.execPath, [join(FOLDER, "node_modules/typescript/bin/tsc"), ...TYPES, file],
      { encoding: "utf8" }).stdout;
  } finally {
    rmSync(work, { recursive: true });
  }
}

function overlap(a, b) {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function checkPlaces(panels) {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, "two panels with one id");
  panels.forEach(({ title, gridPos: place }, index) => {
    assert(place.x >= 0 && place.x + place.w <= COLUMNS, `${title}: beyond the last column`);
    for (const other of panels.slice(0, index))
      assert(!overlap(place, other.gridPos), `${title} lies on ${other.title}`);
  });
}

function checkVariables({ panels, templating }) {
  const names = new Set(templating.list.map(({ name }) => name));
  for (const name of ["datasource", "instance", "model"]) assert(names.has(name), `no variable ${name}`);
  const used = JSON.stringify({ panels, templating }).matchAll(/\$\{?(\w+)/g);
  for (const [, name] of used) assert(names.has(name) || BUILT_IN.has(name), `no variable ${name}`);
  for (const panel of panels.filter(({ type }) => type !== "row")) {
    assert.equal(panel.datasource.uid, "${datasource}", panel.title);
    assert(panel.targets.length > 0, panel.title);
  }
}

const dashboard = JSON.parse(readFileSync("docker/grafana/dashboard.json", "utf8"));
for (const wrong of [{ panels: [{ type: 1 }] }, { pannels: [] },
  { templating: { list: [{ name: "a", type: "querry" }] } }]) {
  assert.notEqual(faults({ ...dashboard, ...wrong }), "", `taken for a dashboard: ${JSON.stringify(wrong)}`);
}
assert.equal(faults(dashboard), "");
checkPlaces(dashboard.panels);
checkVariables(dashboard);
const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
console.log(`${dashboard.panels.length} panels in the rows ${rows.join(", ")} fit Grafana's schema`);
