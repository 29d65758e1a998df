/**
 * An etcd that was restored from a backup, or is another one: a server notices at its start, unless revisions were moved
 * on. Needs Go, which builds etcd and the part of etcdutl that restores.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { Api, eventually, openServer, temporaryFolder } from "../harness.ts";
import { EtcdCluster, missing, missingRestore } from "./etcd-for-tests.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

test("an older backup and another cluster are refused with both values, and a backup that was moved on is served", {
  skip: missing() ?? missingRestore() ?? false,
}, async (t) => {
  const folder = temporaryFolder();
  const [cluster, other] = await Promise.all([EtcdCluster.start(), EtcdCluster.start()]);
  t.after(() => Promise.all([cluster.stop(), other.stop()]));
  const member = cluster.members[0]!;
  const open = (more: ServerSettings = {}) =>
    openServer("k8s.io", { storage: "disk", dataDir: join(folder, "data"), etcdServers: cluster.endpoints, ...more });
  /** Creates an object on a server that then ends. Returns its version. */
  const write = async (name: string): Promise<string> => {
    const server = await open();
    const api = new Api(server);
    const created = (await api.post(configMaps, { metadata: { name } })).expect(201);
    api.close();
    await server.close();
    return created.string("metadata.resourceVersion");
  };
  const restart = async (restore: () => void): Promise<void> => {
    await member.signal("SIGTERM");
    restore();
    member.start();
    await member.ready();
  };

  await write("kept");
  const backup = join(folder, "old.db");
  await restart(() => member.backUp(backup));
  const lost = await write("lost");

  await restart(() => member.restore(backup));
  const refused = new RegExp(
    `is at revision \\d+, but this server knows of revision \\d+: an older state .*etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`,
  );
  await assert.rejects(open(), refused);
  await assert.rejects(
    open({ etcdServers: other.endpoints }),
    /belongs to the cluster \w+, at revision \d+, but this server used the cluster \w+, and there was revision \d+/,
  );

  await restart(() => member.restore(backup, "--bump-revision=1000000000", "--mark-compacted"));
  const server = await open();
  const api = new Api(server);
  (await api.get(`${configMaps}/kept`)).expect(200);
  (await api.get(`${configMaps}/lost`)).expect(404);
  // Clients of the lost state begin anew.
  const watch = await api.get(`${configMaps}?watch=true&timeoutSeconds=1&resourceVersion=${lost}`);
  assert.match(watch.text, /"code":410/);
  api.close();
  await server.close();

  // One start may take the state as it is.
  await restart(() => member.restore(backup));
  await assert.rejects(open(), refused);
  const accepting = await open({ acceptDataLoss: true });
  await accepting.close();
  await (await open()).close();
});

test("a server that runs goes on with a backup that was moved on, and refuses writes to one that was not", {
  skip: missing() ?? missingRestore() ?? false,
}, async (t) => {
  const cluster = await EtcdCluster.start();
  t.after(() => cluster.stop());
  const member = cluster.members[0]!;
  const server = await openServer("k8s.io", { etcdServers: cluster.endpoints });
  const api = new Api(server);
  t.after(async () => {
    api.close();
    await server.close();
  });
  const restart = async (restore: () => void): Promise<void> => {
    await member.signal("SIGTERM");
    restore();
    member.start();
    await member.ready();
  };
  const backup = join(temporaryFolder(), "old.db");
  const name = (of: string): object => ({ metadata: { name: of } });
  (await api.post(configMaps, name("kept"))).expect(201);
  await restart(() => member.backUp(backup));
  let tries = 0;
  const created = await eventually(async () => (await api.post(configMaps, name(`lost-${tries++}`))).expect(201));
  const lost = created.string("metadata.resourceVersion");
  await restart(() => member.restore(backup, "--bump-revision=1000000000", "--mark-compacted"));
  await eventually(async () => (await api.get(`${configMaps}/${created.string("metadata.name")}`)).expect(404));
  (await api.get(`${configMaps}/kept`)).expect(200);
  const watch = await api.get(`${configMaps}?watch=true&timeoutSeconds=1&resourceVersion=${lost}`);
  assert.match(watch.text, /"code":410/);
  (await api.post(configMaps, name("next"))).expect(201);

  await restart(() => member.restore(backup));
  const because = /is at revision \d+, but there was revision \d+/;
  await eventually(async () => assert.match((await api.post(configMaps, name("refused"))).text, because));
  // Reads of any version go on from memory.
  (await api.get(`${configMaps}?resourceVersion=0`)).expect(200);
  assert.equal((await api.get("/readyz")).status, 500);
});
