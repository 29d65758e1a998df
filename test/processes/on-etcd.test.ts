/** Several processes behind one port, with their objects in etcd. Needs Go, which builds etcd. */
import { after, before, describe } from "node:test";
import { EtcdCluster, missing } from "../scale-out/etcd-for-tests.ts";
import { processTests } from "./process-tests.ts";
import { unsuitable } from "./served-processes.ts";

describe("processes on etcd", { skip: missing() ?? unsuitable ?? false }, () => {
  let cluster: EtcdCluster;
  before(async () => {
    cluster = await EtcdCluster.start();
  });
  after(() => cluster.stop());

  let prefixes = 0;
  processTests(() => [`--etcd-servers=${cluster.endpoints.join(",")}`, `--etcd-prefix=/processes-${prefixes++}`]);
});
