/** Servers that cannot share a store with those that have it already: the start of each is refused, in words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { SharedLog } from "#storage/shared-log-for-tests.ts";
import { keyPem, newKey } from "#std/certificate.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import { eventually, file, gated } from "../harness.ts";
import { openServers } from "./two-servers.ts";

const start = (log: SharedLog, settings: ServerSettings) => openServers({ log, count: 1, settings });

const encryption = (...providers: object[]): string =>
  file(
    "encryption.json",
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "EncryptionConfiguration",
      resources: [{ resources: ["secrets"], providers }],
    }),
  );

const secret = Buffer.alloc(32, 7).toString("base64");
const keyed = (...names: string[]) => ({ aescbc: { keys: names.map((name) => ({ name, secret })) } });

const records = (log: SharedLog): readonly string[] =>
  log
    .entriesAt(log.revision)
    .map(({ key }) => key)
    .filter((key) => key.startsWith("/registry/binnacle/servers/"));

test("a server whose settings are unlike those of another is refused, with both values and the other's address", async () => {
  const log = new SharedLog();
  const key = keyPem(newKey());
  const [a] = await start(log, { encryptionProviderConfig: encryption(keyed("k1"), { identity: {} }) });
  const name = `\\S+:${new URL(a!.url).port} \\([0-9a-f-]{36}\\)`;
  const own = { encryptionProviderConfig: encryption(keyed("k1"), { identity: {} }) };
  const refused: readonly (readonly [ServerSettings, string])[] = [
    [{ serviceClusterIpRange: ["10.7.0.0/24"] }, "--service-cluster-ip-range: here 10.7.0.0/24, there 10.0.0.0/24;"],
    [
      { serviceNodePortRange: { first: 31_000, size: 100 } },
      "--service-node-port-range: here 31000-31099, there 30000-32767;",
    ],
    [
      { serviceAccountSigningKeyFile: file("other.key", key) },
      "the keys of service accounts: here \\S{43} signs and \\S{43} verify, there \\S{43} signs and \\S{43} verify;",
    ],
    [
      { encryptionProviderConfig: encryption(keyed("k2", "k1"), { identity: {} }) },
      "the encryption of secrets: here aescbc k2 writes and aescbc k1, identity reads, there aescbc k1 writes and identity reads;",
    ],
  ];
  for (const [settings, message] of refused) {
    const text = `^this server and the one at ${name}, which has the same store, differ in ${message}`;
    await assert.rejects(start(log, { ...own, ...settings }), { name: "StartError", message: new RegExp(text) });
  }
  // One that has settled it is taken, and those that were refused have left nothing behind.
  await start(log, own);
  assert.equal(records(log).length, 2);
});

test("a server with other feature gates or served versions is taken, and says in its log how it differs from which", async () => {
  const log = new SharedLog();
  const [a] = await start(log, {});
  const featureGates = [...gated.featureGates!, "ServiceAccountTokenJTI=true", "OpenAPIEnums=false"];
  const runtimeConfig = [...gated.runtimeConfig!, "api/alpha"];
  const [b] = await start(log, { featureGates, runtimeConfig });
  (await b!.api.get("/readyz")).expect(200);
  const warnings = b!.logged
    .map((line) => JSON.parse(line) as { readonly level: string; readonly msg: string })
    .filter(({ msg }) => msg.includes("differ in"));
  const name = `\\S+:${new URL(a!.url).port} \\([0-9a-f-]{36}\\)`;
  const gates = "DynamicResourceAllocation=true,\\S*OpenAPIEnums=false,\\S*VolumeAttributesClass=true";
  const usual = "DynamicResourceAllocation=true,\\S*VolumeAttributesClass=true";
  for (const [at, text] of [
    `--feature-gates: here ${gates}, there ${usual};`,
    "--runtime-config: here api/alpha=true,resource.k8s.io/v1beta1=true,storage.k8s.io/v1beta1=true, there resource.k8s.io/v1beta1=true,storage.k8s.io/v1beta1=true;",
  ].entries())
    assert.match(warnings[at]!.msg, new RegExp(`^this server and the one at ${name}, which .* differ in ${text}`));
  assert.equal(warnings.length, 2);
  assert.ok(a!.logged.every((line) => !line.includes("differ in")));
});

test("of two servers that start together and do not agree, one gives way", async () => {
  const log = new SharedLog();
  const results = await Promise.allSettled([
    start(log, {}),
    start(log, { serviceNodePortRange: { first: 31_000, size: 100 } }),
  ]);
  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const [refusal] = results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
  assert.match(refusal!, /differ in --service-node-port-range/);
  assert.equal(records(log).length, 1);
});

test("a server that is dead is not in the way of another one with other settings", async () => {
  const log = new SharedLog();
  const [a] = await start(log, {});
  a!.store.isCut = true;
  const starting = start(log, { serviceNodePortRange: { first: 31_000, size: 100 } });
  await eventually(() => Promise.resolve(assert.equal(records(log).length, 2)));
  log.expireKeysOf(a!.store);
  const [b] = await starting;
  (await b!.api.get("/readyz")).expect(200);
});

test("a start is refused while a kube-apiserver renews its address, and goes on when it has ended", async () => {
  const log = new SharedLog();
  const key = "/registry/masterleases/192.0.2.9";
  const renew = () => log.change(new Map([[key, withoutRevision(Buffer.from("{}"))]]));
  renew();
  const refused = start(log, {});
  const renewing = setInterval(renew, 50);
  try {
    await assert.rejects(refused, {
      name: "StartError",
      message: /^kube-apiserver serves this store \(address 192\.0\.2\.9\): stop it first/,
    });
  } finally {
    clearInterval(renewing);
  }
  assert.ok(
    log.steps.flat().every((change) => change.key === key),
    "nothing was written",
  );
  const starting = start(log, {});
  setTimeout(() => log.change(new Map([[key, undefined]])), 500);
  const [a] = await starting;
  (await a!.api.get("/readyz")).expect(200);
});

test("a start is refused while a kube-apiserver renews its identity Lease; those of ended servers of this program do not delay it", async () => {
  const log = new SharedLog();
  const [a] = await start(log, {});
  // The server renews its own Lease, under a name for its port.
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  await eventually(async () => {
    const answer = (await a!.api.get(leases)).expect(200);
    assert.ok(answer.list("items").some((one) => one.string("metadata.name").startsWith("apiserver-")));
  });
  await a!.close();
  const [b] = await start(log, {});
  assert.deepEqual(
    b!.logged.filter((line) => line.includes("waiting to see")),
    [],
  );
  await b!.close();
  const renew = () => {
    const spec = { leaseDurationSeconds: 3600, renewTime: new Date().toISOString().replace("Z", "000Z") };
    const metadata = { name: "apiserver-other", namespace: "kube-system", labels: {} };
    const lease = { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata, spec };
    const key = "/registry/coordination.k8s.io/leases/kube-system/apiserver-other";
    log.change(new Map([[key, withoutRevision(Buffer.from(JSON.stringify(lease)))]]));
  };
  renew();
  const refused = start(log, {});
  const renewing = setInterval(renew, 50);
  try {
    await assert.rejects(refused, {
      name: "StartError",
      message: /^kube-apiserver serves this store \(Lease apiserver-other\): stop it first/,
    });
  } finally {
    clearInterval(renewing);
  }
});
