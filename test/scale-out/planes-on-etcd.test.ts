/** Planes of servers that share an etcd (`docs/planes.md`): one makes them, all serve them. Needs Go. */
import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { systemClock } from "#std/clock.ts";
import { prefixEnd } from "#std/ordered-map.ts";
import { systemRandom } from "#std/random.ts";
import { openEtcd } from "#storage/etcd/members.ts";
import { Api, eventually, openServer } from "../harness.ts";
import { configMap } from "../objects.ts";
import {
  configMaps,
  makePlane,
  type OpenedPlane,
  planeCondition,
  planeObject,
  planes,
  readyPlane,
  removedPlane,
} from "../server/planes-for-tests.ts";
import { EtcdCluster, missing } from "./etcd-for-tests.ts";
import { sharedCredentials } from "./shared-credentials.ts";

const reason = missing();

describe("planes on etcd", { skip: reason ?? false }, () => {
  let cluster: EtcdCluster;
  before(async () => {
    cluster = await EtcdCluster.start();
  });
  after(() => cluster.stop());

  let prefixes = 0;
  interface Servers {
    readonly apis: readonly [Api, Api];
    readonly prefix: string;
    /** Starts one more. */
    start(): Promise<Api>;
  }

  const openServers = async (t: TestContext, more: ServerSettings = {}): Promise<Servers> => {
    const prefix = `/planes-${prefixes++}`;
    const settings = {
      planes: "etcd",
      etcdServers: cluster.endpoints,
      etcdPrefix: prefix,
      ...(await sharedCredentials()),
      ...more,
    };
    const start = async (): Promise<Api> => {
      const server = await openServer("k8s.io", settings);
      const api = new Api(server);
      t.after(async () => {
        api.close();
        await server.close();
      });
      return api;
    };
    return { apis: [await start(), await start()], prefix, start };
  };

  /** Returns all keys of etcd that begin with this. */
  const keysOf = async (prefix: string): Promise<readonly string[]> => {
    const random = systemRandom;
    const client = openEtcd({ endpoints: cluster.endpoints, tls: {}, server: "test", clock: systemClock, random });
    try {
      const range = { key: prefix, end: prefixEnd(prefix)!, keysOnly: true };
      return (await client.range(range, { timeoutMs: 10_000 })).entries.map(({ key }) => key);
    } finally {
      client.close();
    }
  };

  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const robot = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
  const tokenOf = async (api: Api, { prefix, as }: OpenedPlane): Promise<string> => {
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    return (await api.post(`${prefix}${accounts}/robot/token`, request, { as })).expect(201).string("status.token");
  };

  test("a plane made through one server is served by the other as soon as it is ready, with the same identities", async (t) => {
    const { apis, prefix } = await openServers(t);
    const [a, b] = apis;
    for (const [name, maker, other] of [
      ["one", a, b],
      ["two", b, a],
    ] as const) {
      const plane = await makePlane(maker, name);
      (await other.get(`${plane.prefix}/readyz`, plane)).expect(200);
      const path = `${plane.prefix}${configMaps}`;
      const watch = await maker.watch(path, plane);
      for (let at = 0; at < 10; at++) {
        const created = (await other.post(path, configMap(`c${at}`, { v: "1" }), plane)).expect(201);
        const version = created.string("metadata.resourceVersion");
        (await maker.get(`${path}/c${at}`, plane)).expect(200, { "metadata.resourceVersion": version });
      }
      const names: string[] = [];
      while (names.length < 10) {
        const name = (await watch.next()).name;
        if (name.startsWith("c")) names.push(name);
      }
      assert.deepEqual(
        names,
        Array.from({ length: 10 }, (_, at) => `c${at}`),
      );
      (await a.get(`${configMaps}/c0`)).expect(404);

      (await maker.post(`${plane.prefix}${accounts}`, robot, plane)).expect(201);
      const token = await tokenOf(other, plane);
      for (const api of [a, b]) (await api.get(`${plane.prefix}/api`, { as: token })).expect(200);
      const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { iss: string };
      assert.equal(claims.iss, `https://kubernetes.default.svc.cluster.local/planes/${name}`);
    }
    const [one, two] = [await readyPlane(b, "one"), await readyPlane(a, "two")];
    (await a.get(`${one.prefix}/version`, two)).expectFailure(401, "Unauthorized");
    (await b.get(`${two.prefix}${configMaps}`, one)).expectFailure(401, "Unauthorized");
    // The layout is that of kube-apiserver, below a prefix for each.
    const uid = (await a.get(`${planes}/one`)).expect(200).string("metadata.uid");
    assert.ok((await keysOf(`${prefix}.planes/one/${uid}/configmaps/default/c`)).length === 10);
    assert.deepEqual(await keysOf(`${prefix}/configmaps/default/c`), []);
  });

  test("what a plane has begun with is there once, whichever servers open it first", async (t) => {
    const { apis } = await openServers(t);
    const [a, b] = apis;
    for (const name of ["x", "y", "z"]) {
      const plane = await makePlane(a, name);
      const read = async (api: Api): Promise<Record<string, string>> => {
        const path = `${plane.prefix}/apis/rbac.authorization.k8s.io/v1/clusterroles`;
        const roles = (await api.get(path, plane)).expect(200).list("items");
        return Object.fromEntries(roles.map((role) => [role.string("metadata.name"), role.string("metadata.uid")]));
      };
      await Promise.all([read(a), read(b)]);
      await eventually(async () => {
        const roles = await read(a);
        assert.ok(Object.keys(roles).length > 50);
        assert.deepEqual(await read(b), roles);
      });
    }
  });

  test("a definition and a role of a plane are in force on the other server when the write is answered", async (t) => {
    const { apis } = await openServers(t);
    const [a, b] = apis;
    const plane = await makePlane(a, "p");
    for (const api of [a, b]) (await api.get(`${plane.prefix}/readyz`, plane)).expect(200);
    (await a.post(`${plane.prefix}${accounts}`, robot, plane)).expect(201);
    const token = await tokenOf(b, plane);
    const rbac = `${plane.prefix}/apis/rbac.authorization.k8s.io/v1`;
    const role = { metadata: { name: "r" }, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }] };
    (await a.post(`${rbac}/clusterroles`, role, plane)).expect(201);
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" };
    const subjects = [{ kind: "ServiceAccount", name: "robot", namespace: "default" }];
    for (let at = 0; at < 10; at++) {
      const [writer, other] = at % 2 === 0 ? [a, b] : [b, a];
      const binding = { metadata: { name: "r" }, roleRef, subjects };
      const { warnings } = (await writer.post(`${rbac}/clusterrolebindings`, binding, plane)).expect(201);
      assert.deepEqual(warnings, []);
      (await other.get(`${plane.prefix}${configMaps}`, { as: token })).expect(200);
      (await writer.delete(`${rbac}/clusterrolebindings/r`, undefined, plane)).expect(200);
      (await other.get(`${plane.prefix}${configMaps}`, { as: token })).expectFailure(403, "Forbidden");
    }
  });

  test("a plane that is deleted under load ends on all servers, leaves nothing, and its name begins anew", async (t) => {
    const { apis, prefix } = await openServers(t);
    const [a, b] = apis;
    for (let round = 0; round < 3; round++) {
      const plane = await makePlane(a, "p");
      const path = `${plane.prefix}${configMaps}`;
      const watch = await b.watch(path, plane);
      let isOver = false;
      const load = [a, b].map(async (api, of) => {
        for (let at = 0; !isOver; at++) {
          const answer = await api.post(path, configMap(`l-${of}-${at}`), plane);
          assert.ok([201, 401, 404, 503].includes(answer.status), `${answer.status} ${answer.text}`);
          if (answer.status !== 201) return at;
        }
        return undefined;
      });
      await eventually(async () => {
        assert.ok((await b.get(path, plane)).expect(200).list("items").length > 20);
      });
      const uid = (await a.get(`${planes}/p`)).expect(200).string("metadata.uid");
      (await b.delete(`${planes}/p`)).expect(200);
      // It is refused everywhere as soon as the deletion is answered.
      for (const api of [a, b]) (await api.get(path, { as: plane.as })).expect([401, 404]);
      const types: string[] = [];
      for (;;) {
        const event = await watch.next();
        types.push(event.type);
        if (event.type !== "ERROR") continue;
        event.has({ "object.code": 404, "object.reason": "NotFound" });
        break;
      }
      assert.ok(!types.includes("DELETED"));
      await removedPlane(a, "p");
      isOver = true;
      for (const answered of await Promise.all(load)) assert.notEqual(answered, undefined);
      await eventually(async () => assert.deepEqual(await keysOf(`${prefix}.planes/p/${uid}/`), []));
      for (const secret of ["plane-p-credentials", "plane-p-kubeconfig"])
        await eventually(async () => (await a.get(`/api/v1/namespaces/kube-system/secrets/${secret}`)).expect(404));
      (await b.get(path, { as: plane.as })).expect([401, 404]);
    }
  });

  test("the objects of a plane outlive a server, and another one goes on with its controllers", async (t) => {
    const { apis, start } = await openServers(t, {
      leaderElectLeaseDurationMs: 3000,
      leaderElectRenewDeadlineMs: 2000,
      leaderElectRetryPeriodMs: 500,
    });
    const [a, b] = apis;
    const plane = await makePlane(a, "p");
    (await a.post(`${plane.prefix}${configMaps}`, configMap("kept"), plane)).expect(201);
    await a.server.close();
    (await b.get(`${plane.prefix}${configMaps}/kept`, plane)).expect(200);
    const namespaces = `${plane.prefix}/api/v1/namespaces`;
    (await b.post(namespaces, { metadata: { name: "late" } }, plane)).expect(201);
    await eventually(async () => (await b.get(`${namespaces}/late/serviceaccounts/default`, plane)).expect(200));
    await makePlane(b, "q");
    const c = await start();
    (await c.get(`${plane.prefix}${configMaps}/kept`, await readyPlane(c, "p"))).expect(200);
  });

  test("credentials that are lost are not replaced by others, and the condition says so", async (t) => {
    const { apis, start } = await openServers(t);
    const [a, b] = apis;
    await makePlane(a, "p");
    (await a.delete("/api/v1/namespaces/kube-system/secrets/plane-p-credentials")).expect(200);
    await Promise.all([a.server.close(), b.server.close()]);
    const c = await start();
    const lost = await planeCondition(c, "p", "False");
    assert.match(lost.text, /sa\.key of Secret kube-system\/plane-p-credentials is missing/);
    (await c.delete(`${planes}/p`)).expect(200);
    await removedPlane(c, "p");
  });

  test("no more planes than --planes-max are made, and one that is too many is made when another goes", async (t) => {
    const { apis } = await openServers(t, { planesMax: 1 });
    const [a, b] = apis;
    await makePlane(a, "first");
    (await b.post(planes, planeObject("second"))).expect(201);
    const refused = await planeCondition(a, "second", "False");
    assert.match(refused.text, /there are 1 planes/);
    (await a.get("/planes/second/version", { as: "nobody" })).expectFailure(401, "Unauthorized");
    (await b.delete(`${planes}/first`)).expect(200);
    await removedPlane(b, "first");
    await planeCondition(b, "second", "True");
  });
});
