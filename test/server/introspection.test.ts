/** Metrics of rules and gates, results of health checks, and the level of the log, as a server tells them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crds, custom, definition } from "../crds.ts";
import { domains, eventually, startsServers, usingObserved, withOwnServer } from "../harness.ts";

withOwnServer("metrics tell gates, the times of rules, and those of plugins and steps", {}, async (api) => {
  const group = "rules.example.com";
  const schema = {
    type: "object",
    properties: { size: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 0" }] } },
  };
  (await api.post(crds, definition(group, { schema }))).expect(201);
  const widgets = `/apis/${group}/v1/widgets`;
  await eventually(async () => (await api.get(widgets)).expect(200));
  (await api.post(widgets, custom(group, "a", { size: 1 }))).expect(201);
  (await api.post(widgets, custom(group, "b", { size: 0 }))).expect(422);
  const { text } = (await api.get("/metrics")).expect(200);
  const valueOf = (series: string): number => {
    const line = text.split("\n").find((one) => one.startsWith(`${series} `));
    assert.ok(line !== undefined, `${series} is missing`);
    return Number(line.slice(series.length + 1));
  };
  assert.equal(valueOf("apiserver_cel_evaluation_duration_seconds_count"), 2);
  assert.ok(valueOf("apiserver_cel_compilation_duration_seconds_count") > 0);
  assert.equal(valueOf('kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"}'), 0);
  assert.equal(valueOf('kubernetes_feature_enabled{name="AdmissionWebhookMatchConditions",stage=""}'), 1);
  const isLinux = process.platform === "linux";
  if (isLinux) assert.ok(valueOf("process_virtual_memory_bytes") > valueOf("process_resident_memory_bytes"));
  if (isLinux) assert.ok(valueOf("process_virtual_memory_max_bytes") >= valueOf("process_virtual_memory_bytes"));
  assert.deepEqual([valueOf("hidden_metrics_total") > 0, valueOf("disabled_metrics_total")], [true, 0]);
  assert.ok(valueOf('registered_metrics_total{stability_level="STABLE",deprecated_version=""}') > 5);
  const create = 'operation="CREATE",rejected="false",type="admit"';
  const steps = valueOf(`apiserver_admission_step_admission_duration_seconds_count{${create}}`);
  assert.ok(steps >= 3);
  assert.equal(
    valueOf(`apiserver_admission_controller_admission_duration_seconds_count{name="Priority",${create}}`),
    steps,
  );
  assert.equal(valueOf(`apiserver_admission_step_admission_duration_seconds_summary_count{${create}}`), steps);
});

withOwnServer(
  "metrics tell of lists, of the watch cache, of bodies and of the server's own requests",
  {},
  async (api) => {
    const templates = `/api/v1/namespaces/${(await api.createNamespace()).ns}/podtemplates`;
    const template = { spec: { containers: [{ name: "c", image: "i" }] } };
    for (const name of ["a", "b", "c"]) (await api.post(templates, { metadata: { name }, template })).expect(201);
    const next = (await api.get(`${templates}?limit=2`)).expect(200).string("metadata.continue");
    (await api.get(`${templates}?limit=2&continue=${encodeURIComponent(next)}`)).expect(200);
    (await api.get(`${templates}?labelSelector=a`)).expect(200);
    const watch = await api.watch(`${templates}?resourceVersion=0`);
    await watch.take(3);
    (await api.delete(`${templates}/a`)).expect(200);
    await watch.take(1);
    const { text } = (await api.get("/metrics")).expect(200);
    const valueOf = (series: string): number => {
      const line = text.split("\n").find((one) => one.startsWith(`${series} `));
      assert.ok(line !== undefined, `${series} is missing`);
      return Number(line.slice(series.length + 1));
    };
    const cached = 'resource_prefix="/podtemplates"';
    const of = 'resource="podtemplates"';
    // The server may have listed them before they were there.
    assert.equal(valueOf(`apiserver_cache_list_returned_objects_total{${cached}}`), 2);
    assert.equal(valueOf(`apiserver_cache_list_fetched_objects_total{${cached},index=""}`), 5);
    assert.ok(valueOf(`apiserver_cache_list_total{${cached},index=""}`) >= 2);
    assert.ok(valueOf(`apiserver_watch_cache_consistent_read_total{${of},success="true",fallback="false"}`) >= 2);
    assert.equal(valueOf(`apiserver_storage_list_total{${of}}`), 1);
    assert.equal(valueOf(`apiserver_storage_list_returned_objects_total{${of}}`), 1);
    assert.equal(valueOf(`apiserver_watch_cache_events_received_total{${of}}`), 4);
    assert.ok(valueOf(`apiserver_watch_cache_events_dispatched_total{${of}}`) >= 1);
    assert.equal(valueOf(`apiserver_watch_cache_initializations_total{${of}}`), 1);
    assert.ok(valueOf(`apiserver_watch_cache_resource_version{${of}}`) > 4);
    assert.equal(valueOf(`apiserver_request_body_size_bytes_count{${of},verb="create"}`), 3);
    assert.match(text, /^apiserver_selfrequest_total\{verb="[A-Z]+",resource="[a-z]+",subresource=""\} [1-9]/m);
  },
);

withOwnServer(
  "/metrics/slis tells the last result of each health check and how often it was asked for",
  {},
  async (api) => {
    const checks = async (): Promise<readonly string[]> =>
      (await api.get("/metrics/slis"))
        .expect(200)
        .text.split("\n")
        .filter((line) => line.includes('name="ping",') && line.includes('type="livez"'));
    assert.deepEqual(await checks(), []);
    (await api.get("/livez")).expect(200);
    (await api.get("/livez?verbose")).expect(200);
    (await api.get("/livez/ping")).expect(200);
    (await api.get("/livez?exclude=ping")).expect(200);
    assert.deepEqual(await checks(), [
      'kubernetes_healthcheck{name="ping",type="livez"} 1',
      'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 2',
    ]);
    assert.equal((await api.delete("/metrics/slis")).expect(200).text, "metrics reset\n");
    assert.deepEqual(await checks(), []);
  },
);

for (const domain of domains) {
  test(`${domain}: PUT /debug/flags/v changes how much the log says`, {
    skip: startsServers ? false : "reads the log of its own server",
  }, async () => {
    const flag = "/debug/flags/v";
    await usingObserved(domain, {}, async ({ api, logged }) => {
      const put = (body: string) => api.put(flag, body);
      const requestLines = () => logged.filter((line) => line.includes("/livez")).length;
      assert.match((await api.get("/debug/flags")).expect(200).text, /<tr>v<br>/);
      assert.equal((await put("0")).expect(200).text, "successfully set klog.logging.verbosity to 0\n");
      (await api.get("/livez")).expect(200);
      const before = requestLines();
      (await put("6")).expect(200);
      (await api.get("/livez")).expect(200);
      assert.deepEqual([before, requestLines() > 0], [0, true]);
      assert.equal((await put("a")).expect(400).text, 'strconv.ParseUint: parsing "a": invalid syntax\n');
      assert.equal((await api.get(flag)).expect(406).text, "unsupported http method\n");
      (await api.get(flag, { as: "alice" })).expectFailure(403, "Forbidden");
    });
  });
}
