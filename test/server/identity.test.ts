/** Identity Leases of servers, and the StorageVersions of those that run. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { serverIdAt } from "#server/identity.ts";
import {
  Api,
  domains,
  eventually,
  gated,
  startObserved,
  openServer,
  usingObserved,
  withOwnServer,
} from "../harness.ts";
import { absent } from "../view.ts";

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const versions = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const idOf = ({ server }: Api): string => serverIdAt(Number(new URL(server.url).port));
const ownOf = (api: Api): string => `${leases}/${idOf(api)}`;
const identityLabel = "apiserver.kubernetes.io/identity";
const identity = { [identityLabel]: "kube-apiserver" };
const longAgo = { renewTime: "2020-01-01T00:00:00.000000Z", leaseDurationSeconds: 10 };
const hourMs = 60 * 60_000;

const lease = (name: string, labels: object, spec: object = longAgo): object => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name, labels },
  spec: { holderIdentity: "x", ...spec },
});

const alone = { ...gated, controllers: ["-*"] } as const;

for (const domain of domains) {
  test(`${domain}: a server has a lease by its name, which it renews, and keeps as it should be`, () =>
    usingObserved(domain, alone, async ({ api, clock }) => {
      const expected = {
        "metadata.labels": { ...identity, "kubernetes.io/hostname": hostname() },
        "spec.leaseDurationSeconds": 3600,
      };
      const answer = await eventually(async () => (await api.get(ownOf(api))).expect(200, expected));
      assert.match(answer.string("spec.holderIdentity"), new RegExp(`^${idOf(api)}_[0-9a-f-]{36}$`));
      (await api.patch(ownOf(api), { metadata: { labels: { [identityLabel]: null, more: "kept" } } })).expect(200);
      await eventually(async () => {
        clock.advance(10_000);
        const renewed = (await api.get(ownOf(api))).expect(200, {
          "metadata.labels": { ...identity, "kubernetes.io/hostname": hostname(), more: "kept" },
          "metadata.uid": answer.string("metadata.uid"),
          "spec.holderIdentity": answer.string("spec.holderIdentity"),
        });
        assert.ok(renewed.string("spec.renewTime") > answer.string("spec.renewTime"));
      });
      (await api.delete(ownOf(api))).expect(200);
      await eventually(async () => {
        clock.advance(10_000);
        (await api.get(ownOf(api))).expect(200, expected);
      });
    }));

  test(`${domain}: leases of servers that are gone are removed, and other leases are not`, () =>
    usingObserved(domain, alone, async ({ api, clock }) => {
      const fresh = { renewTime: "2200-01-01T00:00:00.000000Z", leaseDurationSeconds: 3600 };
      const response = await eventually(async () => (await api.get(ownOf(api))).expect(200));
      for (const [name, labels, spec] of [
        ["gone", identity, longAgo],
        ["says-nothing", identity, {}],
        ["says-null", identity, { renewTime: null, leaseDurationSeconds: 3600 }],
        ["another-kind", { [identityLabel]: "other" }, longAgo],
        ["no-identity", {}, longAgo],
        ["alive", identity, fresh],
      ] as const) {
        (await api.post(leases, lease(name, labels, spec))).expect(201);
      }
      await eventually(async () => {
        clock.advance(hourMs);
        for (const name of ["gone", "says-nothing", "says-null"]) (await api.get(`${leases}/${name}`)).expect(404);
      });
      for (const name of ["another-kind", "no-identity", "alive"]) (await api.get(`${leases}/${name}`)).expect(200);
      // The server keeps its own lease, even if the machine slept too long to renew it.
      (await api.get(ownOf(api))).expect(200, { "metadata.uid": response.string("metadata.uid") });
    }));

  test(`${domain}: a server says in which versions it stores, reads and serves objects`, async () => {
    const server = await openServer(domain, storageSettings(domain, ["-*"]));
    const api = new Api(server);
    try {
      const entry = (version: string, ...others: readonly string[]): object => ({
        apiServerID: idOf(api),
        encodingVersion: version,
        decodableVersions: [version, ...others],
      });
      const agreed = {
        "status.conditions.length": 1,
        "status.conditions.0.type": "AllEncodingVersionsEqual",
        "status.conditions.0.status": "True",
        "status.conditions.0.reason": "CommonEncodingVersionSet",
      };
      await eventually(async () =>
        (await api.get(`${versions}/core.events`)).expect(200, {
          "status.storageVersions": [{ ...entry("v1", "events.k8s.io/v1"), servedVersions: ["v1"] }],
          "status.commonEncodingVersion": "v1",
          ...agreed,
        }),
      );
      await eventually(async () =>
        (await api.get(`${versions}/autoscaling.horizontalpodautoscalers`)).expect(200, {
          "status.storageVersions": [
            { ...entry("autoscaling/v2", "autoscaling/v1"), servedVersions: ["autoscaling/v1", "autoscaling/v2"] },
          ],
          ...agreed,
        }),
      );
      await eventually(async () =>
        (await api.get(`${versions}/rbac.authorization.k8s.io.roles`)).expect(200, {
          "status.commonEncodingVersion": "rbac.authorization.k8s.io/v1",
        }),
      );
      (await api.get(`${versions}/apps.deployments`)).expect(200);
      (await api.get(`${versions}/authentication.k8s.io.tokenreviews`)).expect(404);
    } finally {
      api.close();
      await server.close();
    }
  });

  test(`${domain}: a server says again in which versions it stores objects where that was deleted`, async () => {
    const { api, clock, logged, close } = await startObserved(domain, storageSettings(domain, ["-*"]));
    const path = `${versions}/core.configmaps`;
    const expectWarning = async (): Promise<void> =>
      void (await api.get(path)).expect(200, { "status.storageVersions.0.apiServerID": idOf(api) });
    const advance = (ms: number, check: () => Promise<void>): Promise<void> =>
      eventually(async () => {
        clock.advance(ms);
        await check();
      });
    try {
      await advance(100, expectWarning);
      const other = await eventually(async () =>
        (await api.get(`${versions}/core.secrets`)).expect(200, { "status.storageVersions.length": 1 }),
      );
      (await api.delete(path)).expect(200);
      await advance(600_000, expectWarning);
      (await api.get(`${versions}/core.secrets`)).expect(200, {
        "metadata.resourceVersion": other.string("metadata.resourceVersion"),
      });
      // The log also has no line about a lease that is just being created.
      assert.deepEqual(
        logged.filter((line) => line.includes("could not write in which versions")),
        [],
      );
    } finally {
      await close();
    }
  });

  test(`${domain}: servers without a lease are taken out of storage versions, which go with their last one`, async () => {
    const server = await openServer(domain, storageSettings(domain, ["storageversion-garbage-collector-controller"]));
    const api = new Api(server);
    const entry = (id: string, version: string): object => ({
      apiServerID: id,
      encodingVersion: version,
      decodableVersions: [version],
    });
    const say = async (name: string, entries: readonly object[], common?: string): Promise<void> => {
      const made = (await api.post(versions, { metadata: { name }, spec: {} })).expect(201, { status: {} });
      const status = { storageVersions: entries, ...(common === undefined ? {} : { commonEncodingVersion: common }) };
      const metadata = { name, resourceVersion: made.string("metadata.resourceVersion") };
      (await api.put(`${versions}/${name}/status`, { metadata, spec: {}, status })).expect(200);
    };
    try {
      await eventually(async () => (await api.get(ownOf(api))).expect(200));
      (await api.post(leases, lease("other", identity))).expect(201);
      (await api.post(leases, lease("no-server", {}))).expect(201);
      await say("example.com.left", [entry("other", "v1"), entry(idOf(api), "v2")]);
      await say("example.com.none", [entry("no-server", "v1")], "v1");
      await say("example.com.empty", []);
      await eventually(async () => (await api.get(`${versions}/example.com.none`)).expect(404));
      (await api.get(`${versions}/example.com.left`)).expect(200, { "status.storageVersions.length": 2 });
      (await api.delete(`${leases}/other`)).expect(200);
      await eventually(async () =>
        (await api.get(`${versions}/example.com.left`)).expect(200, {
          "status.storageVersions": [entry(idOf(api), "v2")],
          "status.commonEncodingVersion": "v2",
          "status.conditions.0.status": "True",
        }),
      );
      (await api.get(`${versions}/example.com.empty`)).expect(200);
    } finally {
      api.close();
      await server.close();
    }
  });
}

const storageSettings = (domain: string, controllers: readonly string[]) =>
  ({
    ...gated,
    controllers: [...controllers],
    featureGates: [...(gated.featureGates ?? []), "StorageVersionAPI=true"],
    runtimeConfig: [...(gated.runtimeConfig ?? []), `internal.apiserver.${domain}/v1alpha1=true`],
  }) as const;

withOwnServer(
  "a server without the gate APIServerIdentity has no lease",
  { ...gated, featureGates: [...(gated.featureGates ?? []), "APIServerIdentity=false"] },
  async (api) => {
    // A controller creates the account, which starts after those of the server itself.
    await eventually(async () => (await api.get("/api/v1/namespaces/default/serviceaccounts/default")).expect(200));
    (await api.get(ownOf(api))).expect(404);
    (await api.get(leases)).expect(200, { "items.length": 0, "metadata.continue": absent });
  },
);
