/**
 * After an error of the disk, clients get a message that the server must be restarted, and so do log, health and
 * metrics.
 */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "#std/log.ts";
import { Api, domains, eventually, openServer, temporaryFolder } from "../harness.ts";
import { configMap } from "../objects.ts";

for (const domain of domains) {
  test(`${domain}: a write that fails ends all writes, and everybody is told of the restart that it takes`, async () => {
    const fails = join(temporaryFolder(), "fails");
    const dataDir = join(temporaryFolder(), "data");
    const lines: string[] = [];
    const log = openLog({ format: "json", verbosity: 0, write: (line) => void lines.push(line) });
    const server = await openServer(
      domain,
      { storage: "disk", dataDir },
      { log, storageFaults: { failWhile: fails, segmentRows: 1000 } },
    );
    const api = new Api(server);
    try {
      const { configMaps: maps } = await api.createNamespace();
      (await api.post(maps, configMap("before", { a: "1" }))).expect(201);
      const { metadata } = (await api.get(maps)).expect(200).value as { metadata: { resourceVersion: string } };
      (await api.get("/metrics")).has({});
      writeFileSync(fails, "");
      const message =
        /^Internal error occurred: the store has failed, and takes no writes until the server is started again: a write failed \(disk I\/O error \(injected\)\)$/;
      const large = configMap("large", { a: "x".repeat(100_000) });
      for (const write of [
        () => api.post(maps, configMap("after")),
        () => api.post(maps, large),
        () => api.patch(`${maps}/before`, { data: { a: "2" } }),
        () => api.delete(`${maps}/before`),
      ]) {
        (await write()).expectFailure(500, "InternalError", message);
      }
      rmSync(fails);
      (await api.post(maps, configMap("later"))).expectFailure(500, "InternalError", message);

      // Reads continue, also of old versions.
      (await api.get(`${maps}/before`)).expect(200, { "data.a": "1" });
      (await api.get(`${maps}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`)).expect(200);
      for (const path of ["/livez", "/readyz", "/healthz"]) {
        const answer = await api.get(path);
        assert.equal(answer.status, 500, path);
        assert.match(answer.text, /\[-\]storage failed/, path);
      }
      assert.match((await api.get("/metrics")).text, /^binnacle_storage_failed 1$/m);
      const logged = lines.filter((line) => /"msg":"the store has failed: start the server again/.test(line));
      assert.equal(logged.length, 1, lines.join(""));
      assert.match(logged[0]!, /injected/);
      assert.deepEqual(
        lines.filter((line) => /failed unexpectedly/.test(line)),
        [],
      );
    } finally {
      api.close();
      await server.close();
    }
    const quiet: string[] = [];
    const quietLog = openLog({ format: "json", verbosity: 0, write: (line) => void quiet.push(line) });
    const again = await openServer(domain, { storage: "disk", dataDir }, { log: quietLog });
    const after = new Api(again);
    try {
      await eventually(async () => (await after.get("/readyz")).expect(200));
      assert.match((await after.get("/metrics")).text, /^binnacle_storage_failed 0$/m);
    } finally {
      after.close();
      await again.close();
    }
    assert.deepEqual(
      quiet.filter((line) => /"level":"error"/.test(line)),
      [],
      "an orderly end is no failure",
    );
  });
}
