/** The allowed values of labels of metrics, in a running server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { domains, file, openServer, startObserved, withOwnServer } from "../harness.ts";

const seen = (text: string, metric: string): string[] => text.match(new RegExp(`^${metric}\\{.*$`, "gm")) ?? [];

withOwnServer(
  "values of a label that are not allowed are counted as unexpected [VER-26]",
  { allowMetricLabels: ["apiserver_request_total,verb=GET,POST", '"apiserver_request_total,code=200"'] },
  async (api) => {
    const { configMaps } = await api.createNamespace();
    (await api.get(configMaps)).expect(200);
    (await api.get(`${configMaps}/none`)).expect(404);
    const { text } = (await api.get("/metrics")).expect(200);
    const lines = seen(text, "apiserver_request_total").filter((line) => line.includes('resource="configmaps"'));
    assert.ok(
      lines.some((line) => line.includes('verb="GET"') && line.includes('code="unexpected"')),
      lines.join("\n"),
    );
    assert.ok(
      lines.some((line) => line.includes('verb="unexpected"') && line.includes('code="200"')),
      lines.join("\n"),
    );
    assert.ok(!/verb="LIST"|code="404"/.test(seen(text, "apiserver_request_total").join("\n")));
    assert.match(seen(text, "apiserver_request_duration_seconds_count").join("\n"), /verb="LIST"/);
    assert.match(text, /^cardinality_enforcement_unexpected_categorizations_total [1-9]/m);
  },
);

const verbs = "apiserver_request_total,verb";

for (const [name, text, problem] of [
  ["the values in a manifest are allowed", `${verbs}: GET\n`, undefined],
  ["a manifest that is no map of texts is logged, and allows every value", `${verbs}: [GET]\n`, /must be a text/],
] as const) {
  test(`${name} [VER-26]`, async () => {
    const { api, logged, close } = await startObserved("k8s.io", { allowMetricLabelsManifest: file("m.yaml", text) });
    try {
      await api.createNamespace();
      const lines = seen((await api.get("/metrics")).expect(200).text, "apiserver_request_total").join("\n");
      assert.equal(/verb="unexpected"/.test(lines), problem === undefined);
      assert.equal(/verb="POST"/.test(lines), problem !== undefined);
      assert.equal(
        logged.some((line) => problem?.test(line) === true),
        problem !== undefined,
      );
    } finally {
      await close();
    }
  });
}

for (const domain of domains) {
  test(`${domain}: the flag wins over the manifest, whose keys must name a label [VER-26]`, async () => {
    const manifest = file("m.yaml", "a b: c\n");
    await assert.rejects(openServer(domain, { allowMetricLabelsManifest: manifest }), {
      message: `${manifest}: invalid key "a b": must be metric,label`,
    });
    const server = await openServer(domain, {
      allowMetricLabelsManifest: manifest,
      allowMetricLabels: [`${verbs}=GET`],
    });
    await server.close();
  });
}
