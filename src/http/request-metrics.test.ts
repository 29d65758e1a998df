/** Metrics of requests: upstream's names and labels, bounded for any input. */
import assert from "node:assert";
import { test } from "node:test";
import { Metrics } from "#std/metrics.ts";
import type { RequestInfo } from "./api-request.ts";
import { RequestMetrics } from "./request-metrics.ts";

const claims: RequestInfo = {
  isResourceRequest: true,
  path: "/api/v1/namespaces/n/persistentvolumeclaims/c",
  verb: "get",
  apiPrefix: "api",
  group: "",
  version: "v1",
  namespace: "n",
  resource: "persistentvolumeclaims",
  subresource: "",
  name: "c",
  parts: ["persistentvolumeclaims", "c"],
};

function requestMetrics(served: ReadonlySet<string> = new Set(["persistentvolumeclaims", "ConfigMap"])) {
  const metrics = new Metrics();
  const requests = new RequestMetrics({
    metrics,
    isServed: ({ resource }) => served.has(resource),
    hasKind: (_group, _version, kind) => served.has(kind),
  });
  const lines = (name: string): string[] =>
    metrics
      .print()
      .split("\n")
      .filter((line) => line.startsWith(name));
  return { requests, lines };
}

void test("a request is counted with upstream's labels, its time and its size", () => {
  const { requests, lines } = requestMetrics();
  requests.record({ info: claims, url: claims.path }, 200, 0.03, 1500);
  requests.record({ info: { ...claims, verb: "create", name: "" }, url: `${claims.path}?dryRun=All` }, 201, 0.001, 10);
  requests.record({ info: { ...claims, verb: "list", name: "", namespace: "" }, url: claims.path }, 200, 1, 10);
  const target = 'group="",version="v1",resource="persistentvolumeclaims",subresource=""';
  assert.deepStrictEqual(lines("apiserver_request_total"), [
    `apiserver_request_total{verb="GET",dry_run="",${target},scope="resource",component="apiserver",code="200"} 1`,
    `apiserver_request_total{verb="POST",dry_run="All",${target},scope="resource",component="apiserver",code="201"} 1`,
    `apiserver_request_total{verb="LIST",dry_run="",${target},scope="cluster",component="apiserver",code="200"} 1`,
  ]);
  const labels = `verb="GET",dry_run="",${target},scope="resource",component="apiserver"`;
  const duration = lines(`apiserver_request_duration_seconds_bucket{${labels}`);
  assert.strictEqual(duration.length, 24);
  assert.deepStrictEqual(
    duration.slice(0, 3).map((line) => line.slice(line.indexOf("le="))),
    ['le="0.005"} 0', 'le="0.025"} 0', 'le="0.05"} 1'],
  );
  assert.match(lines("apiserver_response_sizes_sum")[0]!, / 1500$/);
});

void test("the label of a verb says what a request does, not its method", () => {
  const { requests, lines } = requestMetrics(new Set(["persistentvolumeclaims", "pods"]));
  const url = claims.path;
  const patch = { ...claims, verb: "patch" };
  const headers = { "content-type": "application/apply-patch+yaml; charset=utf-8" };
  requests.record({ info: patch, url, headers }, 200, 0.01, 10);
  requests.record({ info: patch, url, headers: { "content-type": "application/json-patch+json" } }, 200, 0.01, 10);
  const pod = { ...claims, resource: "pods" };
  for (const [subresource, verb] of [
    ["log", "get"],
    ["exec", "create"],
    ["proxy", "deletecollection"],
    ["status", "get"],
  ] as const) {
    requests.record({ info: { ...pod, subresource, verb }, url, bodyBytes: 5 }, 200, 0.01, 10);
  }
  requests.record({ info: { ...claims, name: "", verb: "deletecollection" }, url, bodyBytes: 5 }, 200, 0.01, 10);
  requests.record({ info: { ...claims, verb: "list" }, url }, 200, 0.01, 10);
  const seen = lines("apiserver_request_total").map((line) => {
    const of = (label: string): string => new RegExp(`${label}="(\\w*)"`).exec(line)![1]!;
    return [of("verb"), of("subresource"), of("scope")].join(" ");
  });
  assert.deepStrictEqual(seen, [
    "APPLY  resource",
    "PATCH  resource",
    "CONNECT log resource",
    "CONNECT exec resource",
    "CONNECT proxy resource",
    "GET status resource",
    "DELETE  namespace",
    "LIST  namespace",
  ]);
  assert.deepStrictEqual(lines("apiserver_request_body_size_bytes_count"), [
    'apiserver_request_body_size_bytes_count{resource="persistentvolumeclaims",verb="patch"} 0',
    'apiserver_request_body_size_bytes_count{resource="persistentvolumeclaims",verb="delete_collection"} 1',
  ]);
  assert.strictEqual(lines("apiserver_response_sizes_count").length, 2, "of reads alone");
});

void test("durations are also counted without the time in queues and of webhooks, and by the field validation of writes", () => {
  const { requests, lines } = requestMetrics();
  requests.record({ info: claims, url: claims.path, queuedMs: 700, webhooksMs: 200 }, 200, 1, 10);
  const sum = Number(lines("apiserver_request_sli_duration_seconds_sum")[0]!.split(" ").at(-1));
  assert.ok(Math.abs(sum - 0.1) < 1e-9, String(sum));
  const info = { ...claims, verb: "create" };
  for (const query of ["", "?fieldValidation=Strict&dryRun=All", "?x=1&fieldValidation=Strict", "?fieldValidation=x"]) {
    requests.record({ info, url: `${claims.path}${query}` }, 201, 0.001, 10);
  }
  assert.deepStrictEqual(lines("field_validation_request_duration_seconds_count"), [
    'field_validation_request_duration_seconds_count{field_validation=""} 1',
    'field_validation_request_duration_seconds_count{field_validation="Ignore"} 0',
    'field_validation_request_duration_seconds_count{field_validation="Strict"} 2',
    'field_validation_request_duration_seconds_count{field_validation="Warn"} 0',
    'field_validation_request_duration_seconds_count{field_validation="invalid"} 1',
  ]);
});

void test("bodies are counted by resource and verb, and requests of the server itself once more", () => {
  const { requests, lines } = requestMetrics();
  const target = { info: { ...claims, verb: "patch" }, url: claims.path };
  requests.record({ ...target, bodyBytes: 120_000 }, 200, 0.01, 10);
  requests.record({ ...target, bodyBytes: 0, isOwn: true }, 200, 0.01, 10);
  // A body that was not read counts as none, and neither does that of a read.
  requests.record(target, 403, 0.01, 10);
  requests.record({ info: claims, url: claims.path, bodyBytes: 7 }, 200, 0.01, 10);
  const labels = 'resource="persistentvolumeclaims",verb="patch"';
  assert.deepStrictEqual(lines("apiserver_request_body_size_bytes").slice(0, 2), [
    `apiserver_request_body_size_bytes_bucket{${labels},le="50000"} 1`,
    `apiserver_request_body_size_bytes_bucket{${labels},le="150000"} 2`,
  ]);
  assert.deepStrictEqual(lines("apiserver_request_body_size_bytes_sum"), [
    `apiserver_request_body_size_bytes_sum{${labels}} 120000`,
  ]);
  assert.deepStrictEqual(lines("apiserver_selfrequest_total"), [
    'apiserver_selfrequest_total{verb="PATCH",resource="persistentvolumeclaims",subresource=""} 1',
  ]);
  const unknown = { ...claims, verb: "patch", resource: "r1" };
  requests.record({ info: unknown, url: claims.path, bodyBytes: 7 }, 404, 0.01, 10);
  assert.strictEqual(lines("apiserver_request_body_size_bytes_sum").length, 1);
});

void test("odd verbs, paths and resources never become labels (CVE-2020-8552)", () => {
  const { requests, lines } = requestMetrics();
  for (let i = 0; i < 20_000; i++) {
    const verb = i % 2 === 0 ? "get" : `verb${i}`;
    const info = { ...claims, verb, group: `g${i}`, resource: `r${i}`, subresource: `s${i}`, version: `v${i}` };
    requests.record({ info, url: claims.path }, 404, 0.001, 10);
    requests.record(
      { info: { ...claims, isResourceRequest: false, path: `/p${i}`, verb }, url: `/p${i}` },
      404,
      0.001,
      10,
    );
  }
  const total = lines("apiserver_request_total");
  assert.ok(total.length <= 4, total.join("\n"));
  assert.strictEqual(
    total.map((line) => Number(line.split(" ").at(-1))).reduce((a, b) => a + b),
    40_000,
  );
});

void test("known paths outside the API are counted by their first part", () => {
  const { requests, lines } = requestMetrics();
  requests.record(
    { info: { ...claims, isResourceRequest: false, path: "/livez/ping", name: "", namespace: "" }, url: "/livez/ping" },
    200,
    0,
    2,
  );
  assert.deepStrictEqual(lines("apiserver_request_total"), [
    'apiserver_request_total{verb="GET",dry_run="",group="",version="",resource="",subresource="/livez",scope="",component="",code="200"} 1',
  ]);
});

void test("a deprecated version that is asked for sets its gauge to 1 [EVENT-11, EVENT-12]", () => {
  const { requests, lines } = requestMetrics();
  requests.requestedDeprecated(claims, "1.35");
  requests.requestedDeprecated(claims, "1.35");
  assert.deepStrictEqual(lines("apiserver_requested_deprecated_apis"), [
    'apiserver_requested_deprecated_apis{group="",version="v1",resource="persistentvolumeclaims",subresource="",removed_release="1.35"} 1',
  ]);
});

void test("watch events are counted by kind", () => {
  const { requests, lines } = requestMetrics();
  requests.watch("", "v1", "ConfigMap").sent(1500, 3);
  assert.deepStrictEqual(lines("apiserver_watch_events_total"), [
    'apiserver_watch_events_total{group="",version="v1",kind="ConfigMap"} 3',
  ]);
  assert.match(lines("apiserver_watch_events_sizes_sum")[0]!, / 4500$/);
});

void test("metrics of a resource go with it, and begin again when it comes back", () => {
  const served = new Set(["persistentvolumeclaims", "widgets", "Widget"]);
  const { requests, lines } = requestMetrics(served);
  const widgets = { ...claims, group: "example.com", resource: "widgets" };
  const use = (): void => {
    requests.record({ info: widgets, url: widgets.path }, 200, 0.03, 1500);
    requests.terminated({ info: widgets, url: widgets.path }, 429);
    requests.requestedDeprecated(widgets, "");
    requests.watch("example.com", "v1", "Widget").sent(10, 1);
  };
  requests.record({ info: claims, url: claims.path }, 200, 0.03, 1500);
  const without = lines("").filter((line) => line !== "");
  use();
  const underWay = requests.longRunning({ info: { ...widgets, verb: "watch" }, url: widgets.path });
  underWay.add(1);
  const all = lines("").length;
  assert.ok(all > without.length + 50, `${all} lines`);
  served.delete("widgets");
  served.delete("Widget");
  assert.deepStrictEqual(
    lines("").filter((line) => line.includes("widgets") || line.includes("Widget")),
    [],
  );
  assert.deepStrictEqual(
    lines("apiserver_request").filter((line) => line.includes("widgets")),
    [],
  );
  assert.strictEqual(lines("apiserver_request_total{").length, 1);
  underWay.add(-1);
  served.add("widgets").add("Widget");
  use();
  use();
  const again = lines("apiserver_request_total{").filter((line) => line.includes("widgets"));
  assert.match(again.join("\n"), /^apiserver_request_total\{[^\n]*resource="widgets"[^\n]*\} 2$/);
});
