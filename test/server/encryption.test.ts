/** Encryption at rest for clients and administrators. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ServerEnvironment } from "#server/start-server.ts";
import {
  Api,
  type Domain,
  domains,
  eventually,
  file,
  startObserved,
  openServer,
  renamer,
  temporaryFolder,
  usingObserved,
} from "../harness.ts";
import { namespace, namespacePaths } from "../objects.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";

const keys = (...fills: readonly number[]): object => ({
  keys: fills.map((fill) => ({ name: `key${fill}`, secret: Buffer.alloc(32, fill).toString("base64") })),
});

/** Returns a configuration that encrypts secrets with these providers. */
const config = (domain: Domain, ...providers: readonly object[]): string =>
  renamer(domain)(
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "EncryptionConfiguration",
      resources: [{ resources: ["secrets"], providers }],
    }),
  );

const minuteMs = 60_000;
const { secrets, configMaps } = {
  secrets: "/api/v1/namespaces/n1/secrets",
  configMaps: namespacePaths("n1").configMaps,
};
const secret = (name: string, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  stringData: { a: "hidden" },
});

/** Returns the settings of servers with one data folder. */
function settingsOf(...featureGates: readonly string[]) {
  const dataDir = join(temporaryFolder(), "data");
  return (encryption: string) =>
    ({
      storage: "disk",
      dataDir,
      featureGates,
      encryptionProviderConfig: file("encryption.json", encryption),
    }) as const;
}

/** Runs `work` with a server that is closed afterwards. */
async function usingEncryption(
  domain: Domain,
  settings: ReturnType<ReturnType<typeof settingsOf>>,
  work: (api: Api) => Promise<void>,
  environment: ServerEnvironment = {},
): Promise<void> {
  const api = new Api(await openServer(domain, settings, environment));
  try {
    await work(api);
  } finally {
    api.close();
    await api.server.close();
  }
}

for (const domain of domains) {
  test(`${domain}: an update that changes nothing writes again what is stored by an old key`, { skip }, async () => {
    const settings = settingsOf();
    await usingEncryption(domain, settings(config(domain, { aescbc: keys(1) }, { identity: {} })), async (api) => {
      (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
      (await api.post(secrets, secret("s"))).expect(201);
      const before = (await api.get(`${secrets}/s`)).string("metadata.resourceVersion");
      const same = await api.put(`${secrets}/s`, (await api.get(`${secrets}/s`)).value);
      same.expect(200, { "metadata.resourceVersion": before });
    });
    const rotateKeys = async (api: Api): Promise<void> => {
      const response = (await api.get(`${secrets}/s`)).expect(200, { "data.a": "aGlkZGVu" });
      const before = response.string("metadata.resourceVersion");
      (await api.put(`${secrets}/s?dryRun=All`, response.value)).expect(200, { "metadata.resourceVersion": before });
      const written = (await api.put(`${secrets}/s`, response.value)).expect(200);
      assert.notEqual(written.string("metadata.resourceVersion"), before);
      const again = await api.put(`${secrets}/s`, written.value);
      again.expect(200, { "metadata.resourceVersion": written.string("metadata.resourceVersion") });
    };
    await usingEncryption(domain, settings(config(domain, { aesgcm: keys(2) }, { aescbc: keys(1) })), rotateKeys);
    // The same in a thread of large requests.
    const third = config(domain, { secretbox: keys(3) }, { aesgcm: keys(2) });
    await usingEncryption(domain, settings(third), rotateKeys, { largeBytes: 100 });
    await usingEncryption(domain, settings(config(domain, { secretbox: keys(3) })), async (api) => {
      (await api.get(`${secrets}/s`)).expect(200, { "data.a": "aGlkZGVu" });
    });
  });

  test(`${domain}: an object whose key is gone is named in a clear error, and harms no other kind`, {
    skip,
  }, async () => {
    const settings = settingsOf();
    await usingEncryption(domain, settings(config(domain, { aescbc: keys(1) })), async (api) => {
      (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
      (await api.post(secrets, secret("s"))).expect(201);
      (await api.post(configMaps, { metadata: { name: "m" } })).expect(201);
    });
    await usingEncryption(domain, settings(config(domain, { aescbc: keys(2) }, { identity: {} })), async (api) => {
      const why = "no matching key was found for the provided AES transformer";
      const message = `Internal error occurred: unable to transform key "/registry/secrets/n1/s": ${why}`;
      (await api.get(`${secrets}/s`)).expectFailure(500, "InternalError", message);
      (await api.get(secrets)).expectFailure(500, "InternalError", message);
      (await api.get("/api/v1/secrets")).expectFailure(500, "InternalError", message);
      (await (await api.watch(secrets)).next()).has({ type: "ERROR", "object.code": 500, "object.message": message });
      (await api.put(`${secrets}/s`, secret("s"))).expectFailure(500, "InternalError", message);
      (await api.patch(`${secrets}/s`, { data: { b: "" } })).expectFailure(500, "InternalError", message);
      (await api.delete(`${secrets}/s`)).expectFailure(500, "InternalError", message);
      (await api.delete(secrets)).expectFailure(500, "InternalError");
      (await api.post(secrets, secret("s"))).expectFailure(409, "AlreadyExists");
      (await api.post(`${secrets}?dryRun=All`, secret("s"))).expectFailure(409, "AlreadyExists");
      (await api.post(secrets, secret("t"))).expect(201);
      (await api.get(`${secrets}/t`)).expect(200);
      (await api.get(configMaps)).expect(200, { "items.length": 1 });
    });
  });

  test(`${domain}: a changed configuration takes effect; an invalid one leaves the one before in force`, {
    skip,
  }, async () => {
    const path = file("encryption.json", config(domain, { aescbc: keys(1) }));
    const settings = { encryptionProviderConfig: path, encryptionProviderConfigAutomaticReload: true } as const;
    const { api, clock, logged, close } = await startObserved(domain, { ...settings, storage: "disk" });
    const reload = async (text: string, line: string): Promise<void> => {
      writeFileSync(path, text);
      const before = logged.length;
      await eventually(async () => {
        clock.advance(minuteMs);
        await new Promise((resolve) => setImmediate(resolve));
        assert.ok(logged.slice(before).some((one) => one.includes(line)));
      });
    };
    try {
      (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
      const made = (await api.post(secrets, secret("s"))).expect(201);
      await reload("kind: Nothing", "the encryption configuration stays as it was");
      (await api.put(`${secrets}/s`, made.value)).expect(200, {
        "metadata.resourceVersion": made.string("metadata.resourceVersion"),
      });
      await reload(config(domain, { aesgcm: keys(2) }, { aescbc: keys(1) }), "was read again");
      const again = (await api.put(`${secrets}/s`, made.value)).expect(200);
      assert.notEqual(again.string("metadata.resourceVersion"), made.string("metadata.resourceVersion"));
      const metrics = (await api.get("/metrics")).text;
      assert.match(
        metrics,
        /apiserver_encryption_config_controller_automatic_reloads_total\{[^}]*status="success"\} 1\n/,
      );
      assert.match(
        metrics,
        /apiserver_encryption_config_controller_automatic_reloads_total\{[^}]*status="failure"\} [1-9]/,
      );
      assert.match(
        metrics,
        /transformation_operations_total\{status="OK",transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"\} 1\n/,
      );
    } finally {
      await close();
    }
  });

  test(`${domain}: a server whose every object is unreadable starts, and reads all when the key is back`, {
    skip,
  }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const all = (fill: number, ...more: readonly object[]): string =>
      config(domain, { aesgcm: keys(fill) }, ...more).replace('"secrets"', '"*.*"');
    const path = file("encryption.json", all(1));
    const settings = {
      dataDir,
      storage: "disk",
      encryptionProviderConfig: path,
      encryptionProviderConfigAutomaticReload: true,
    } as const;
    await usingObserved(domain, settings, async (before) => {
      (await before.api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
      (await before.api.post(configMaps, { metadata: { name: "m" } })).expect(201);
    });
    writeFileSync(path, all(2));
    const { api, clock, close } = await startObserved(domain, settings);
    try {
      (await api.get(`${configMaps}/m`)).expectFailure(500, "InternalError");
      (await api.get("/api/v1/namespaces/default")).expectFailure(500, "InternalError");
      (await api.get("/livez")).expect([200, 500]);
      writeFileSync(path, all(2, { aesgcm: keys(1) }));
      await eventually(async () => {
        clock.advance(minuteMs);
        (await api.get(`${configMaps}/m`)).expect(200);
      });
      (await api.get("/api/v1/namespaces")).expect(200);
      (await api.post(configMaps, { metadata: { name: "another" } })).expect(201);
      await eventually(async () => {
        clock.advance(1000);
        (await api.get("/readyz?verbose")).expect(200);
      });
    } finally {
      await close();
    }
  });

  test(`${domain}: behind its gate, lists name what cannot be read, and each of it can be removed [DELST-06]`, {
    skip,
  }, async () => {
    const settings = settingsOf("AllowUnsafeMalformedObjectDeletion=true");
    const all = (fill: number): string =>
      config(domain, { aesgcm: keys(fill) }).replace(
        '"secrets"',
        '"secrets","pods","persistentvolumeclaims","nodes","services","deployments.apps"',
      );
    const container = { name: "c", image: "i" };
    const spec = { containers: [container], terminationGracePeriodSeconds: 30 };
    const ports = [{ port: 80 }];
    const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    const labels = { app: "a" };
    const template = { metadata: { labels }, spec: { containers: [container] } };
    const hold = { finalizers: ["example.com/hold"] };
    const inNamespace = "/api/v1/namespaces/n1";
    const objects: Readonly<Record<string, object>> = {
      [`${inNamespace}/pods`]: { spec },
      [`${inNamespace}/persistentvolumeclaims`]: { spec: claim },
      [`${inNamespace}/services`]: { spec: { ports } },
      "/api/v1/nodes": {},
      "/apis/apps/v1/namespaces/n1/deployments": { spec: { selector: { matchLabels: labels }, template } },
    };
    await usingEncryption(domain, settings(all(1)), async (api) => {
      (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
      for (const name of ["s", "t"]) (await api.post(secrets, secret(name, hold))).expect(201);
      for (const [path, object] of Object.entries(objects)) {
        (await api.post(path, { metadata: { name: "x", ...hold }, ...object })).expect(201);
      }
    });
    const policy = JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] });
    const auditLogPath = join(temporaryFolder(), "audit.log");
    const audited = { auditPolicyFile: file("policy.json", renamer(domain)(policy)), auditLogPath };
    await usingEncryption(domain, { ...settings(all(2)), ...audited }, async (api) => {
      const why = "no matching key was found for the provided AES transformer";
      const cause = (name: string): object => ({
        reason: "UnexpectedServerResponse",
        message: `StorageError: corrupt object, Code: 7, Key: /registry/secrets/n1/${name}, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: ${why}`,
        field: `/registry/secrets/n1/${name}`,
      });
      const details = { name: "list", kind: "secrets", causes: [cause("s"), cause("t")] };
      for (const answer of [
        await api.get(secrets),
        await api.get(`${secrets}?labelSelector=a`),
        await api.delete(secrets),
      ]) {
        answer.expectFailure(500, "StorageReadError", "failed to read one or more secrets from the storage", {
          details,
        });
      }
      const force = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
      const after = String((await api.get("/api/v1/namespaces")).at("metadata.resourceVersion"));
      const watch = await api.watch(`${secrets}?resourceVersion=${after}`);
      (await api.delete(`${secrets}/s?${force}`)).expect(200, { status: "Success" });
      (await watch.next()).has({ type: "ERROR", "object.code": 500 });
      (await api.get(secrets)).expectFailure(500, "StorageReadError", undefined, { "details.causes.length": 1 });
      (await api.delete(`${secrets}/t?${force}`)).expect(200);
      (await api.get(secrets)).expect(200, { "items.length": 0 });
      (await api.delete(`${secrets}/t?${force}`)).expectFailure(422, "Invalid");
      for (const path of Object.keys(objects)) {
        (await api.get(`${path}/x`)).expectFailure(500, "InternalError");
        (await api.delete(`${path}/x?${force}`)).expect(200);
        (await api.get(`${path}/x`)).expectFailure(404, "NotFound");
        (await api.get(path)).expect(200, { "items.length": 0 });
      }
      await eventually(() => {
        const lines = readFileSync(auditLogPath, "utf8").split("\n");
        const marked = lines.filter((line) =>
          line.includes(api.name('"apiserver.k8s.io/unsafe-delete-ignore-read-error":""')),
        );
        // There are two secrets, one of them twice, and the other objects.
        assert.equal(
          marked.filter((line) => line.includes('"ResponseComplete"')).length,
          3 + Object.keys(objects).length,
        );
        return Promise.resolve();
      });
      // All followers of the objects in memory continue.
      (await api.post(`${inNamespace}/services`, { metadata: { name: "y" }, spec: { ports } })).expect(201);
      (await api.get("/readyz")).expect(200);
    });
  });
}

for (const domain of domains) {
  test(`${domain}: the history of an encrypted object is shown in clear, and it is restored encrypted`, {
    skip,
  }, async () => {
    const settings = settingsOf()(config(domain, { aesgcm: keys(1) }));
    await usingEncryption(domain, settings, async (api) => {
      (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
      (await api.post(secrets, secret("s"))).expect(201);
      (await api.delete(`${secrets}/s`)).expect(200);
      const path = "/binnacle/v1/history/core/v1/namespaces/n1/secrets/s";
      (await api.get(path)).expect(200, { "items.1.object.data.a": Buffer.from("hidden").toString("base64") });
      (await api.post(`${path}/restore`, {})).expect(201, { "data.a": Buffer.from("hidden").toString("base64") });
    });
  });
}
