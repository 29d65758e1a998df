/** Addresses of collectors. `test/tracing/` has a collector. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { exporterUrl } from "./open-telemetry.ts";

test("addresses are given to the exporter in its form", () => {
  for (const [endpoint, url] of [
    ["localhost:4317", "http://localhost:4317"],
    ["[::1]:4317", "http://[::1]:4317"],
    ["dns:///collector:4317", "http://collector:4317"],
    ["dns://8.8.8.8/collector:4317", "http://collector:4317"],
    ["dns:collector:4317", "http://collector:4317"],
    ["dns://collector:4317", "http://collector:4317"],
    ["unix:///run/otel.sock", "unix:///run/otel.sock"],
    ["unix:/run/otel.sock", "unix:///run/otel.sock"],
  ] as const) {
    assert.equal(exporterUrl(endpoint), url, endpoint);
  }
});
