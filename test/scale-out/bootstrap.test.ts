/** Servers that start on one log at the same time: the objects that each of them makes, and the service of all of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedLog } from "#storage/shared-log-for-tests.ts";
import { freePort } from "../go-program.ts";
import { eventually } from "../harness.ts";
import { openServers, type SharingServer } from "./two-servers.ts";

const core = "/api/v1/namespaces/default";
const settings = {
  featureGates: ["MultiCIDRServiceAllocator=true"],
  runtimeConfig: ["networking.k8s.io/v1beta1=true"],
};

const assertQuiet = (servers: readonly SharingServer[]): void => {
  const lines = servers.flatMap(({ logged }) => logged.filter((line) => /"level":"(?:warn|error)"/.test(line)));
  assert.deepEqual(lines, []);
};

test("servers that start together make the objects of a cluster once, without a word", async () => {
  const servers = await openServers({ count: 3, settings });
  for (const { api } of servers) {
    (await api.get("/readyz")).expect(200);
    for (const path of [
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-admin",
      "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/exempt",
      "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/catch-all",
      "/apis/networking.k8s.io/v1beta1/servicecidrs/kubernetes",
      "/api/v1/namespaces/kube-system",
    ]) {
      (await api.get(path)).expect(200);
    }
  }
  const [{ api }] = servers as [SharingServer];
  for (const path of [
    `${core}/services/kubernetes`,
    `${core}/serviceaccounts/default`,
    "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
  ]) {
    await eventually(async () => (await api.get(path)).expect(200));
  }
  assertQuiet(servers);
});

test("the service of the servers leads to all of them", async () => {
  const log = new SharedLog();
  const port = await freePort();
  const opened: SharingServer[] = [];
  // The last server has another port, as servers on one machine do.
  for (const [at, securePort] of [port, port, 0].entries()) {
    const own = { bindAddress: `127.0.0.${at + 1}`, securePort, advertiseAddress: `192.0.2.${9 - at}` };
    opened.push(...(await openServers({ log, count: 1, settings: { ...settings, ...own } })));
  }
  const [{ api }] = opened as [SharingServer];
  const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  await eventually(async () => {
    (await api.get(`${core}/endpoints/kubernetes`)).expect(200, {
      subsets: (subsets: readonly { addresses: object; ports: readonly { port: number }[] }[]) => {
        const found = subsets.toSorted((one) => (one.ports[0]!.port === port ? -1 : 1));
        assert.deepEqual(found[0]!.addresses, [{ ip: "192.0.2.8" }, { ip: "192.0.2.9" }]);
        assert.deepEqual(found[1]!.addresses, [{ ip: "192.0.2.7" }]);
        return found.length === 2;
      },
    });
    (await api.get(`${slices}/kubernetes`)).expect(200, {
      endpoints: [
        { addresses: ["192.0.2.8"], conditions: { ready: true } },
        { addresses: ["192.0.2.9"], conditions: { ready: true } },
      ],
    });
  });
  assertQuiet(opened);
});
