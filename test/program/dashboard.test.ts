/**
 * `binnacle dashboard`: its queries and those of the common board for API servers find metrics of a server, with the
 * labels that they ask for.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeYaml } from "#codec/yaml.ts";
import { type Api, eventually, temporaryFolder, withOwnServer } from "../harness.ts";
import { runProgram } from "./program.ts";

/** Labels that Prometheus adds to what it reads. */
const added = new Set(["job", "instance", "le"]);

/** Returns the labels of each metric in the text of `/metrics`. */
function labelsByMetric(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name, labels = ""] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)) {
    const known = found.get(name!) ?? new Set();
    for (const [, label] of labels.matchAll(/([a-z_]+)="/g)) known.add(label!);
    found.set(name!, known);
  }
  return found;
}

/** Fails unless each metric of a query is there, and has the labels that are selected or kept. */
function checkQuery(query: string, metrics: ReadonlyMap<string, ReadonlySet<string>>): void {
  const uses = [...query.matchAll(/([a-z_]+)\{([^}]*)\}/g)];
  assert.ok(uses.length > 0, query);
  const kept = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names]) => names!.split(/, ?/));
  for (const [, name, selector] of uses) {
    const labels = metrics.get(name!);
    assert.ok(labels !== undefined, `no metric ${name}: ${query}`);
    const selected = [...selector!.matchAll(/([a-z_]+)(?:=~|!~|=|!=)/g)].map(([, label]) => label!);
    for (const label of [...selected, ...kept]) {
      assert.ok(added.has(label) || labels.has(label), `${name} has no label ${label}: ${query}`);
    }
  }
}

/** Has a webhook fail, whose failures are ignored: some metrics are there from the first call. */
async function failWebhook(api: Api): Promise<void> {
  const { ns, configMaps } = await api.createNamespace();
  const webhook = {
    name: "never.example.com",
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    failurePolicy: "Ignore",
    timeoutSeconds: 1,
    clientConfig: { url: "https://127.0.0.1:1/" },
    namespaceSelector: { matchLabels: { [api.name("kubernetes.io/metadata.name")]: ns } },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
  };
  const path = `/apis/${api.name("admissionregistration.k8s.io")}/v1/validatingwebhookconfigurations`;
  (await api.post(path, { metadata: { name: "never" }, webhooks: [webhook] })).expect(201);
  let count = 0;
  await eventually(async () => {
    (await api.post(configMaps, { metadata: { name: `one-${count++}` } })).expect(201);
    const { text } = (await api.get("/metrics")).expect(200);
    assert.match(text, /^apiserver_admission_webhook_fail_open_count/m);
  });
}

/** The queries of the board "Kubernetes / API server" of kubernetes-mixin, and those of its rules, without selectors. */
const common = [
  'sum by (resource) (rate(apiserver_request_total{verb=~"LIST|GET",code=~"2.."}[5m]))',
  'sum(rate(apiserver_request_sli_duration_seconds_count{verb=~"POST|PUT|PATCH|DELETE",subresource!~"proxy|attach|log|exec|portforward"}[1d]))',
  'sum(rate(apiserver_request_sli_duration_seconds_bucket{verb=~"LIST|GET",scope=~"resource|",le="1"}[1d])) by (le, verb, scope)',
  "sum(rate(workqueue_adds_total{}[5m])) by (instance, name)",
  "sum(rate(workqueue_depth{}[5m])) by (instance, name)",
  "histogram_quantile(0.99, sum(rate(workqueue_queue_duration_seconds_bucket{}[5m])) by (instance, name, le))",
  "process_resident_memory_bytes{}",
  "rate(process_cpu_seconds_total{}[5m])",
];

withOwnServer(
  "the queries of the dashboard, its alerts and the common board find metrics and labels",
  {},
  async (api) => {
    await failWebhook(api);
    const metrics = await eventually(async () => {
      const { text } = (await api.get("/metrics")).expect(200);
      assert.match(text, /^apiserver_longrunning_requests\{/m, "controllers of the server watch soon");
      return labelsByMetric(text);
    });
    const folder = temporaryFolder();
    const board = JSON.parse((await runProgram(["dashboard"], folder)).stdout) as {
      readonly panels: readonly { readonly id: number; readonly targets?: readonly { readonly expr: string }[] }[];
    };
    const queries = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    assert.ok(queries.length > 15);
    assert.equal(new Set(board.panels.map(({ id }) => id)).size, board.panels.length);
    const rules = decodeYaml(Buffer.from((await runProgram(["dashboard", "--alerts"], folder)).stdout)).value as {
      readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
    };
    const alerts = rules.groups.flatMap((group) => group.rules);
    assert.ok(alerts.length > 5);
    for (const query of [...queries, ...alerts.map(({ expr }) => expr), ...common]) checkQuery(query, metrics);
  },
);

test("the dashboard is printed in the form that is asked for, and takes no arguments", async () => {
  const folder = temporaryFolder();
  assert.match((await runProgram(["dashboard", "-o", "yaml"], folder)).stdout, /^title: Binnacle$/m);
  assert.match((await runProgram(["dashboard", "--alerts", "-o", "json"], folder)).stdout, /^\{\n {2}"groups"/);
  const { code, stderr } = await runProgram(["dashboard", "more"], folder);
  assert.equal(code, 1);
  assert.match(stderr, /dashboard takes flags only/);
});
