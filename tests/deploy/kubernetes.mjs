// kubectl kustomize docker/kubernetes | node tests/deploy/kubernetes.mjs ALIGND; the same of the folders in it, with
// the kinds that these add Reads manifests, YAML documents, on standard input. Each must satisfy the schema that
// Kubernetes publishes for its kind (compiled in the package kubernetes-models) and hold no field that the schema
// lacks. Together they must fit: labels, ports, settings, times; and the pods must be as restricted as Kubernetes' Pod
// Security Standards ask. First the validator is shown faults, which it must find.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { checkMemory } from "./memory.mjs";

const SCHEMAS = {
  "v1 ConfigMap": "IoK8sApiCoreV1ConfigMap",
  "v1 Service": "IoK8sApiCoreV1Service",
  "apps/v1 Deployment": "IoK8sApiAppsV1Deployment",
  "autoscaling/v2 HorizontalPodAutoscaler": "IoK8sApiAutoscalingV2HorizontalPodAutoscaler",
  "networking.k8s.io/v1 NetworkPolicy": "IoK8sApiNetworkingV1NetworkPolicy",
  "policy/v1 PodDisruptionBudget": "IoK8sApiPolicyV1PodDisruptionBudget",
};

const MORE = { "batch/v1 Job": "IoK8sApiBatchV1Job", "networking.k8s.io/v1 Ingress": "IoK8sApiNetworkingV1Ingress" };
const MONITOR = "ComGithubPrometheusOperatorPrometheusOperatorPkgApisMonitoringV1ServiceMonitor.js";

const validators = new Map();
for (const [kind, schema] of Object.entries({ ...SCHEMAS, ...MORE })) {
  validators.set(kind, (await import(`./node_modules/kubernetes-models/_schemas/${schema}.mjs`)).validate);
}
const monitor = await import(`./node_modules/@kubernetes-models/prometheus-operator/_schemas/${MONITOR}`);
validators.set("monitoring.coreos.com/v1 ServiceMonitor", (monitor.default ?? monitor).validate);

// A compiled schema reads every field that it knows: what is left in unread afterwards is unknown to it.
function watched(value, path, unread) {
  if (value === null || typeof value !== "object") return value;
  const children = new Map();
  for (const [key, child] of Object.entries(value)) {
    unread.add(`${path}/${key}`);
    children.set(key, watched(child, `${path}/${key}`, unread));
  }
  return new Proxy(value, {
    get(target, key) {
      unread.delete(`${path}/${String(key)}`);
      return children.has(key) ? children.get(key) : target[key];
    },
  });
}

// What is wrong with a manifest, one sentence each.
function faults(manifest) {
  const kind = `${manifest?.apiVersion} ${manifest?.kind}`;
  const validate = validators.get(kind);
  if (!validate) return [`${kind} is no kind known here`];
  const unread = new Set();
  const valid = validate(watched(manifest, "", unread));
  const wrong = valid ? []
    : validate.errors.map((error) => `${error.instancePath}: ${error.keyword} ${JSON.stringify(error.params)}`);
  return [...wrong, ...[...unread].map((path) => `${path}: no such field`)];
}

function at(manifest, path) {
  return path.split("/").reduce((value, key) => value[key], manifest);
}

// The deployment with one thing changed.
function broken(deployment, path, key, value) {
  const copy = structuredClone(deployment);
  at(copy, path)[key] = value;
  return faults(copy);
}

function checkValidator(deployment) {
  const container = "spec/template/spec/containers/0";
  assert.deepEqual(broken(deployment, "spec", "replica", 2), ["/spec/replica: no such field"]);
  assert.deepEqual(broken(deployment, `${container}/securityContext`, "readonlyRootFilesystem", true), [
    "/spec/template/spec/containers/0/securityContext/readonlyRootFilesystem: no such field",
  ]);
  assert.match(broken(deployment, "spec", "replicas", "two")[0], /^\/spec\/replicas: type/);
  assert.match(broken(deployment, container, "imagePullPolicy", "Sometimes")[0], /imagePullPolicy: enum/);
  assert.match(broken(deployment, container, "name", undefined)[0], /containers\/0: required .*name/);
  assert.match(broken(deployment, container, "ports", { http: 8080 })[0], /ports: type/);
  assert.match(faults({ apiVersion: "v2", kind: "Service" })[0], /is no kind known here/);
}

// https://kubernetes.io/docs/concepts/security/pod-security-standards/, level restricted
function checkRestricted(pod) {
  const [container] = pod.containers;
  assert.equal(pod.securityContext.runAsNonRoot, true);
  assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault");
  assert.equal(container.securityContext.allowPrivilegeEscalation, false);
  assert.deepEqual(container.securityContext.capabilities.drop, ["ALL"]);
  assert.equal(container.securityContext.readOnlyRootFilesystem, true);
  for (const key of ["hostNetwork", "hostPID", "hostIPC"]) assert.equal(pod[key], undefined, key);
  for (const { name, ...kinds } of pod.volumes ?? [])
    assert.match(Object.keys(kinds).join(), /^(persistentVolumeClaim|emptyDir)$/, name);
}

function checkTogether(manifests) {
  const of = (kind) => manifests.find((manifest) => manifest.kind === kind);
  const deployment = of("Deployment"), pod = deployment.spec.template, [container] = pod.spec.containers;
  const settings = of("ConfigMap");
  const selected = (labels) => assert.deepEqual({ ...pod.metadata.labels, ...labels }, pod.metadata.labels,
    "a selector that selects nothing");
  const ports = container.ports.map((port) => port.name);

  selected(deployment.spec.selector.matchLabels);
  const services = manifests.filter((manifest) => manifest.kind === "Service");
  services.forEach((service) => selected(service.spec.selector));
  selected(of("PodDisruptionBudget").spec.selector.matchLabels);
  selected(of("NetworkPolicy").spec.podSelector.matchLabels);
  pod.spec.topologySpreadConstraints.forEach((constraint) => selected(constraint.labelSelector.matchLabels));

  for (const service of services) service.spec.ports.forEach((port) => assert(ports.includes(port.targetPort)));
  for (const rule of of("NetworkPolicy").spec.ingress) rule.ports.forEach((port) => assert(ports.includes(port.port)));
  for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
    assert(ports.includes(container[probe].httpGet.port), probe);
  assert.equal(container.livenessProbe.httpGet.path, "/health");
  assert.equal(container.readinessProbe.httpGet.path, "/ready");

  const target = of("HorizontalPodAutoscaler").spec.scaleTargetRef;
  assert.deepEqual([target.apiVersion, target.kind, target.name],
    [deployment.apiVersion, "Deployment", deployment.metadata.name]);
  assert.equal(deployment.spec.replicas, undefined, "replicas would be set back by each apply");
  assert.equal(container.envFrom[0].configMapRef.name, settings.metadata.name);
  assert.match(container.image, /^alignd:\d/);

  const preStop = Number(container.lifecycle.preStop.exec.command.at(-1)),
    grace = Number(settings.data.ALIGND_GRACE_MS) / 1000;
  assert(pod.spec.terminationGracePeriodSeconds >= preStop + grace + 5, "a drain would be killed");
}

// What an overlay adds must meet what is there: the Ingress and the ServiceMonitor a Service and its port, a volume the
// place where the models are looked for, which nobody writes.
function checkOverlay(manifests) {
  const of = (kind) => manifests.find((manifest) => manifest.kind === kind),
    services = manifests.filter((manifest) => manifest.kind === "Service");
  const has = (service, port) => service.spec.ports.some(({ name }) => name === port);
  for (const rule of of("Ingress")?.spec.rules ?? []) {
    for (const { backend } of rule.http.paths) {
      assert(services.some(({ metadata }) => metadata.name === backend.service.name));
      assert(has(services.find(({ metadata }) => metadata.name === backend.service.name), backend.service.port.name));
    }
    assert(of("Ingress").spec.tls.some(({ hosts }) => hosts.includes(rule.host)), "a host without a certificate");
  }
  const monitor = of("ServiceMonitor")?.spec;
  if (monitor) {
    const meant = services.filter(({ metadata }) => Object.entries(monitor.selector.matchLabels)
      .every(([key, value]) => metadata.labels[key] === value));
    assert.equal(meant.length, 1, "one Service is meant");
    for (const { port, path } of monitor.endpoints) assert(has(meant[0], port) && path === "/metrics");
  }
  const { containers: [container], volumes = [] } = of("Deployment").spec.template.spec;
  assert.deepEqual((container.volumeMounts ?? []).map(({ name }) => name), volumes.map(({ name }) => name));
  for (const mount of container.volumeMounts ?? [])
    assert(mount.readOnly && of("ConfigMap").data.ALIGND_MODELS === mount.mountPath);
}

// Runs the pods' script in a folder, with the program in place of alignd that numbers lines: the shares are the whole,
// and a pod whose file exists ends at once.
function checkScript(script, pods) {
  const folder = mkdtempSync(join(tmpdir(), "alignd-job-")),
    source = Array.from({ length: 100 }, (_, i) => `line ${i}\n`).join("");
  for (const name of ["corpus", "share"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "corpus/source.txt"), source);
  writeFileSync(join(folder, "alignd"), '#!/bin/sh\n[ "$1 $2" = "translate --output" ] && cat >"$3"\n',
    { mode: 0o755 });
  const run = (index) => execFileSync("/bin/sh", ["-ec", script.replaceAll(/\/(?=corpus|share)/g, `${folder}/`)],
    { env: { PATH: `${folder}:${process.env.PATH}`, JOB_COMPLETION_INDEX: String(index) } });
  const parts = () => Array.from({ length: pods }, (_, i) => readFileSync(join(folder, `corpus/part-${i}.txt`), "utf8"))
    .join("");
  for (let i = 0; i < pods; i++) run(i);
  assert.equal(parts(), source, "the shares are not the source");
  writeFileSync(join(folder, "corpus/part-0.txt"), "done\n");
  run(0);
  assert(parts().startsWith("done\n"), "a share that was done was done again");
  rmSync(folder, { recursive: true });
}

// Each pod has a share of its own.
function checkJob({ spec }) {
  const pod = spec.template.spec, [container] = pod.containers, [script] = container.args;
  assert.equal(spec.completionMode, "Indexed");
  assert.equal(spec.completions, spec.parallelism);
  checkScript(script, spec.completions);
  assert(container.env.some(({ name }) => name === "JOB_COMPLETION_INDEX"));
  for (const { name, mountPath } of container.volumeMounts) {
    assert(pod.volumes.some((volume) => volume.name === name));
    assert(script.includes(`${mountPath}/`));
  }
}

// Each setting must be an option of alignd's.
function checkSettings(settings, alignd) {
  const help = execFileSync(alignd, ["--help"], { encoding: "utf8" });
  for (const name of Object.keys(settings.data))
    assert(help.includes(`[${name};`) || help.includes(`[${name}]`), `alignd has no ${name}`);
}

const manifests = parseAllDocuments(readFileSync(0, "utf8")).map((document) => {
  assert.deepEqual(document.errors, []);
  return document.toJS();
});
const job = manifests.find((manifest) => manifest.kind === "Job");
if (!job) checkValidator(manifests.find((manifest) => manifest.kind === "Deployment"));
for (const manifest of manifests) {
  const found = faults(manifest);
  for (const fault of found) console.error(`${manifest.kind}${fault}`);
  if (found.length > 0) process.exit(1);
}
const [alignd, ...added] = process.argv.slice(2), expected = job ? ["Job"]
  : [...Object.keys(SCHEMAS).map((kind) => kind.split(" ")[1]), ...added];
assert.deepEqual(manifests.map(({ kind }) => kind).sort(), expected.sort());
checkRestricted((job ?? manifests.find((manifest) => manifest.kind === "Deployment")).spec.template.spec);
if (job) {
  checkJob(job);
} else {
  checkTogether(manifests);
  checkOverlay(manifests);
  const settings = manifests.find((manifest) => manifest.kind === "ConfigMap");
  checkSettings(settings, alignd);
  const { limits } = manifests.find((manifest) => manifest.kind === "Deployment").spec.template.spec.containers[0]
    .resources;
  checkMemory(alignd, { ...settings.data, ALIGND_WORKERS: limits.cpu }, limits.memory);
}
console.log(`${manifests.length} manifests are valid and fit together`);
