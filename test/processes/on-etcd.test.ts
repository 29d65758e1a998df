/** Several processes behind one port, with their objects in etcd. Needs Go, which builds etcd. */
import { after, before, describe, test } from "node:test";
import { configMap } from "../objects.ts";
import { EtcdCluster, missing } from "../scale-out/etcd-for-tests.ts";
import { configMaps, makePlane, removedPlane } from "../server/planes-for-tests.ts";
import { processTests } from "./process-tests.ts";
import { ServedProcesses, unsuitable } from "./served-processes.ts";

describe("processes on etcd", { skip: missing() ?? unsuitable ?? false }, () => {
  let cluster: EtcdCluster;
  before(async () => {
    cluster = await EtcdCluster.start();
  });
  after(() => cluster.stop());

  let prefixes = 0;
  const storeFlags = () => [`--etcd-servers=${cluster.endpoints.join(",")}`, `--etcd-prefix=/processes-${prefixes++}`];
  processTests(storeFlags);

  test("a plane that is made through one process is served by all, and gone everywhere when it is deleted", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2, flags: [...storeFlags(), "--planes=etcd"] });
    const apis = await served.connectToAll();
    for (const [at, maker] of apis.entries()) {
      const plane = await makePlane(maker, `p${at}`);
      for (const [by, api] of apis.entries()) {
        (await api.post(`${plane.prefix}${configMaps}`, configMap(`c${by}`), plane)).expect(201);
        for (const other of apis) (await other.get(`${plane.prefix}${configMaps}/c${by}`, plane)).expect(200);
      }
      (await maker.delete(`/apis/planes.k8s.io/v1alpha1/planes/p${at}`)).expect(200);
      for (const api of apis) (await api.get(`${plane.prefix}${configMaps}`, plane)).expect([401, 404]);
      await removedPlane(maker, `p${at}`);
    }
  });
});
