/** Objects whose stored bytes cannot be decoded, and their deletion. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { logFilePath, LogFile } from "#storage/sqlite/log-file.ts";
import { Api, type Domain, domains, gated, openServer, temporaryFolder } from "../harness.ts";
import { crds, custom, definition } from "../crds.ts";
import { configMap, namespace, namespacePaths } from "../objects.ts";
import { absent } from "../view.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const forced = { kind: "DeleteOptions", apiVersion: "v1", ignoreStoreReadErrorWithClusterBreakingPotential: true };

/** Replaces the present version of the key with this end by meaningless bytes, as a wrong decryption would. */
function spoil(dataDir: string, end: string): void {
  const log = new LogFile(logFilePath(dataDir));
  try {
    const revision = log.lastRevision + 1;
    for (let at = revision - 1; at > 0; at--) {
      const row = log.row(at);
      if (!row?.key.endsWith(end)) continue;
      log.append({ ...row, revision, previous: at, value: Buffer.from("\u0000\u0001 no object\n") });
      return;
    }
  } finally {
    log.close();
  }
  assert.fail(`${end} is not in the log`);
}

/** Starts a server with the config maps `good` and `bad` in namespace n1; the second is damaged between two starts. */
async function withSpoiled(domain: Domain): Promise<{ api: Api; configMaps: string }> {
  const settings = {
    ...gated,
    storage: "disk",
    dataDir: join(temporaryFolder(), "data"),
    featureGates: ["AllowUnsafeMalformedObjectDeletion=true"],
    runtimeConfig: [],
  } as const;
  const before = new Api(await openServer(domain, settings));
  const { configMaps } = namespacePaths("n1");
  (await before.post("/api/v1/namespaces", namespace("n1"))).expect(201);
  (await before.post(configMaps, configMap("good"))).expect(201);
  (await before.post(configMaps, configMap("bad", {}, { finalizers: ["example.com/hold"] }))).expect(201);
  await before.server.close();
  spoil(settings.dataDir, "/configmaps/n1/bad");
  return { api: new Api(await openServer(domain, settings)), configMaps };
}

for (const domain of domains) {
  test(`${domain}: an unreadable object is removed on request, finalizers and preconditions aside [DELST-06] [DELST-07] [DELST-08]`, {
    skip,
  }, async () => {
    const { api, configMaps } = await withSpoiled(domain);
    try {
      (await api.get(`${configMaps}/good`)).expect(200);
      const answer = await api.delete(`${configMaps}/bad`);
      assert.ok(answer.status >= 400, answer.title);
      answer.has({ kind: "Status", status: "Failure" });
      (await api.patch(`${configMaps}/bad`, { data: { a: "b" } })).expect(500, { kind: "Status" });
      (await api.delete(`${configMaps}/bad`, forced)).expect(200);
      (await api.get(`${configMaps}/bad`)).expect(404);
      (await api.get(configMaps)).expect(200, { "items.length": 1 });
      (await api.post(configMaps, configMap("bad"))).expect(201);
    } finally {
      await api.server.close();
    }
  });

  test(`${domain}: an unreadable object is not served as if it were one`, { skip }, async () => {
    const { api, configMaps } = await withSpoiled(domain);
    try {
      (await api.get(`${configMaps}/bad`)).expect(500, { kind: "Status", status: "Failure" });
      const list = await api.get(configMaps);
      assert.ok(list.status === 500 || list.names().join() === "good", list.title);
    } finally {
      await api.server.close();
    }
  });

  test(`${domain}: an object that can be read is not removed that way [DELST-09]`, { skip }, async () => {
    const featureGates = ["AllowUnsafeMalformedObjectDeletion=true"];
    const api = new Api(await openServer(domain, { featureGates }));
    try {
      const { configMaps } = await api.createNamespace();
      (await api.post(configMaps, configMap("m1"))).expect(201);
      (await api.delete(`${configMaps}/m1`, forced)).expectFailure(422, "Invalid");
      (await api.get(`${configMaps}/m1`)).expect(200, { "metadata.deletionTimestamp": absent });
    } finally {
      await api.server.close();
    }
  });

  test(`${domain}: removing an object unread needs two rights, and each is asked for [FORCE-02] [FORCE-03]`, {
    skip,
  }, async () => {
    const { api, configMaps } = await withSpoiled(domain);
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/n1";
    const unsafe = "unsafe-delete-ignore-read-errors";
    try {
      for (const [name, verbs] of [
        ["alice", ["delete"]],
        ["bob", [unsafe]],
        ["carol", ["delete", unsafe]],
      ] as const) {
        const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs }];
        (await api.post(`${rbac}/roles`, { metadata: { name }, rules })).expect(201);
        const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
        const subjects = [{ kind: "User", name, apiGroup: "rbac.authorization.k8s.io" }];
        (await api.post(`${rbac}/rolebindings`, { metadata: { name }, roleRef, subjects })).expect(201);
      }
      const withoutUnsafe = await api.delete(`${configMaps}/bad`, forced, { as: "alice" });
      withoutUnsafe.expectFailure(403, "Forbidden", new RegExp(`not permitted to do "${unsafe}"`));
      (await api.delete(`${configMaps}/bad`, forced, { as: "bob" })).expectFailure(403, "Forbidden");
      (await api.get(`${configMaps}/bad`)).expect(500);
      (await api.delete(`${configMaps}/bad`, forced, { as: "carol" })).expect(200);
      (await api.get(`${configMaps}/bad`)).expect(404);
    } finally {
      await api.server.close();
    }
  });

  test(`${domain}: options that could not be obeyed are refused beside ignoreStoreReadErrorWithClusterBreakingPotential [FORCE-04] [FORCE-05] [FORCE-06] [FORCE-07] [FORCE-08]`, {
    skip,
  }, async () => {
    const { api, configMaps } = await withSpoiled(domain);
    try {
      for (const [name, value] of Object.entries({
        dryRun: ["All"],
        gracePeriodSeconds: 0,
        orphanDependents: true,
        preconditions: { uid: "x" },
        propagationPolicy: "Background",
      })) {
        const response = await api.delete(`${configMaps}/bad`, { ...forced, [name]: value });
        response.expectFailure(422, "Invalid", new RegExp(`cannot be set together with \\.${name}`));
      }
      (await api.get(`${configMaps}/bad`)).expect(500);
      (await api.delete(`${configMaps}/bad?ignoreStoreReadErrorWithClusterBreakingPotential=true`)).expect(200);
    } finally {
      await api.server.close();
    }
  });

  test(`${domain}: a collection is never deleted unread`, { skip }, async () => {
    const { api, configMaps } = await withSpoiled(domain);
    try {
      (await api.delete(configMaps, forced)).expectFailure(422, "Invalid", /is not allowed with DELETECOLLECTION/);
      (await api.get(`${configMaps}/good`)).expect(200);
    } finally {
      await api.server.close();
    }
  });

  test(`${domain}: without the gate the option is dropped [FORCE-01]`, { skip }, async () => {
    const api = new Api(await openServer(domain, {}));
    try {
      const { configMaps } = await api.createNamespace();
      (await api.post(configMaps, configMap("m1"))).expect(201);
      const trial = { ...forced, dryRun: ["All"] };
      (await api.delete(`${configMaps}/m1`, trial)).expect(200);
      (await api.get(`${configMaps}/m1`)).expect(200);
      (await api.delete(configMaps, forced)).expect(200);
      (await api.get(`${configMaps}/m1`)).expect(404);
    } finally {
      await api.server.close();
    }
  });

  test(`${domain}: a definition that cannot be read is not served; all others are [DELST-06]`, { skip }, async () => {
    const settings = { storage: "disk", dataDir: join(temporaryFolder(), "data") } as const;
    const before = new Api(await openServer(domain, settings));
    (await before.post(crds, definition("good.example.com"))).expect(201);
    (await before.post(crds, definition("bad.example.com"))).expect(201);
    await before.server.close();
    spoil(settings.dataDir, "/widgets.bad.example.com");
    const api = new Api(await openServer(domain, settings));
    try {
      (await api.post("/apis/good.example.com/v1/widgets", custom("good.example.com", "a"))).expect(201);
      (await api.post(crds, definition("new.example.com"))).expect(201);
      (await api.post("/apis/new.example.com/v1/widgets", custom("new.example.com", "a"))).expect(201);
      assert.equal((await api.get("/apis/bad.example.com/v1/widgets")).status, 404);
    } finally {
      await api.server.close();
    }
  });
}
