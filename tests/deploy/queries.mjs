// node tests/deploy/queries.mjs ALIGND PROMTOOL Each query of the alerts and of the dashboard must be one that
// Prometheus can read, on metrics that a running alignd has.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { startDaemon } from "../clients/daemon.mjs";

const [alignd, promtool] = process.argv.slice(2);
const OF_PROMETHEUS = new Set(["up"]);

function queries() {
  const alerts = parse(readFileSync("docker/alerts.yml", "utf8"))
    .groups.flatMap((group) => group.rules.map((rule) => rule.expr));
  const dashboard = JSON.parse(readFileSync("docker/grafana/dashboard.json", "utf8"));
  assert(dashboard.panels.length > 0);
  return [...alerts, ...dashboard.panels.flatMap((panel) => (panel.targets ?? []).map((target) => target.expr))];
}

// A metric stands before a selector, a range, an operator or a parenthesis, and no label does.
function metricsOf(query) {
  const bare = query.replace(/\{[^}]*\}/g, "").replace(/\b(by|without)\s*\([^)]*\)/g, "").replace(/\[[^\]]*\]/g, "")
    .replace(/\b(and|or|unless)\b/g, "");
  return [...bare.matchAll(/[a-z_]+(?!\w|\s*\()/g)].map((match) => match[0]);
}

function checkSyntax(all) {
  const folder = mkdtempSync(join(tmpdir(), "alignd-queries-"));
  const file = join(folder, "queries.yml");
  const rules = all.map((expr, index) => ({ record: `query:${index}`, expr }));
  writeFileSync(file, stringify({ groups: [{ name: "queries", rules }] }));
  try {
    execFileSync(promtool, ["check", "rules", file], { stdio: ["ignore", "ignore", "inherit"] });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function metricsOfDaemon() {
  const daemon = await startDaemon(alignd, ["weights/en-fr"]);
  try {
    await fetch(`${daemon.url}/translate`, { method: "POST", body: '{"text": "I am hungry."}' });
    const text = await (await fetch(`${daemon.url}/metrics`)).text();
    return new Set(text.split("\n").filter((line) => line && !line.startsWith("#"))
      .map((line) => line.match(/^\w+/)[0]));
  } finally {
    daemon.stop();
  }
}

const all = queries();
assert.deepEqual(metricsOf('sum by (le) (rate(a_total{code="5"}[5m])) / sum(b{x=~"y"}) > 0.1'), ["a_total", "b"]);
checkSyntax(all);
const known = await metricsOfDaemon();
for (const query of all) {
  const names = metricsOf(query);
  assert(names.length > 0, query);
  for (const name of names) assert(known.has(name) || OF_PROMETHEUS.has(name), `alignd has no metric ${name}`);
}
console.log(`${all.length} queries are of metrics that alignd has`);
