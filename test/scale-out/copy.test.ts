/**
 * Copies between data folders and a real etcd, by the program: nothing but versions differs, and clients of the former
 * store begin anew. `COPY_OBJECTS` sets the number of objects. Needs Go.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { backUpEtcd, fillEtcd, fillFolder, verifyEtcd } from "#server/copy-store.ts";
import { verifyStore } from "#server/verify-store.ts";
import { systemClock } from "#std/clock.ts";
import { systemRandom } from "#std/random.ts";
import type { Instruments } from "#server/instruments.ts";
import type { CopyReport } from "#storage/copy.ts";
import { openEtcd } from "#storage/etcd/members.ts";
import { ForwardingLog } from "#storage/forwarding-log.ts";
import type { CommitResult, LogStore, LogWrite } from "#storage/log-store.ts";
import { restoreBackup } from "#storage/restore.ts";
import { openSqliteStore } from "#storage/sqlite.ts";
import { openVerification, type StoreToVerify } from "#storage/verify.ts";
import { toUnversioned } from "#storage/versioned-value.ts";
import { Api, type Domain, domains, openServer, renamer, temporaryFolder, type TestServer } from "../harness.ts";
import { objectsOfKinds } from "../objects-of-kinds.ts";
import { program, runProgram } from "../program/program.ts";
import { assertEqual, readAll } from "./all-objects.ts";
import { EtcdCluster, missing } from "./etcd-for-tests.ts";

const reason = missing();
const objects = Number(process.env["COPY_OBJECTS"] ?? 20_000);

/** A folder for stores, and an etcd of its own. */
class Workplace {
  readonly folder = temporaryFolder();
  readonly cluster: EtcdCluster;
  readonly domain: Domain;
  static async open(t: TestContext, domain: Domain): Promise<Workplace> {
    const cluster = await EtcdCluster.start();
    t.after(() => cluster.stop());
    return new Workplace(domain, cluster);
  }

  private constructor(domain: Domain, cluster: EtcdCluster) {
    this.domain = domain;
    this.cluster = cluster;
  }

  get etcd(): string {
    return this.cluster.endpoints.join(",");
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Writes a configuration that encrypts Secrets. */
  encryption(fill = 7): string {
    const name = `encryption-${fill}.yaml`;
    const secret = Buffer.alloc(32, fill).toString("base64");
    const providers = [{ aesgcm: { keys: [{ name: "k", secret }] } }, { identity: {} }];
    const apiVersion = renamer(this.domain)("apiserver.config.k8s.io/v1");
    const configuration = {
      apiVersion,
      kind: "EncryptionConfiguration",
      resources: [{ resources: ["secrets"], providers }],
    };
    writeFileSync(this.path(name), JSON.stringify(configuration));
    return this.path(name);
  }

  /** Copies as `binnacle copy` does. `fill` says which key decrypts; left out: none does. */
  copy(from: string, to: string, { fill, burns = false }: CopyOptions = {}): Promise<CopyReport> {
    const options = { encryption: this.#encryption(fill), progress: () => undefined };
    if (from === this.etcd) return fillFolder(this.#address, to, options);
    return fillEtcd({ dataDir: from }, this.#address, { ...options, burns });
  }

  backUp(name: string): Promise<CopyReport> {
    return backUpEtcd(this.#address, this.path(name), { encryption: this.#encryption(7), progress: () => undefined });
  }

  /** Returns what `binnacle verify` finds wrong. */
  async problems(store: StoreToVerify | "etcd"): Promise<readonly string[]> {
    const verification = store === "etcd" ? await verifyEtcd(this.#address) : openVerification(store);
    const report = await verifyStore({ verification, encryption: this.#encryption(7), progress: () => undefined });
    return report.problems.map(({ key, problem }) => `${key} ${problem}`);
  }

  get #address() {
    return { endpoints: this.cluster.endpoints, tls: {}, prefix: "/registry" };
  }

  #encryption(fill: number | undefined) {
    if (fill === undefined) return undefined;
    const file = this.encryption(fill);
    return { file, text: readFileSync(file, "utf8") };
  }

  async serve(store: { readonly dataDir: string } | { readonly etcdServers: readonly string[] }): Promise<Server> {
    const storage = "dataDir" in store ? { storage: "disk" as const } : {};
    const settings = { ...storage, ...store, encryptionProviderConfig: this.encryption() };
    const server = await openServer(this.domain, { ...settings, runtimeConfig: [], featureGates: [] });
    const api = new Api(server);
    const close = async (): Promise<void> => {
      api.close();
      await server.close();
    };
    return { api, server, close };
  }

  /** Adds objects to the store of a folder that no server uses. */
  async addObjects(dataDir: string, count: number): Promise<void> {
    const { cache } = await openSqliteStore({ dataDir, clock: systemClock, compactionIntervalMs: 0 });
    const padding = "x".repeat(600);
    const puts: Promise<unknown>[] = [];
    for (let at = 0; at < count; at++) {
      const name = `c${at}`;
      const uid = `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
      const owner = `{"apiVersion":"v1","kind":"Node","name":"n","uid":"${uid}"}`;
      const metadata = `"name":"${name}","namespace":"default","uid":"${uid}","resourceVersion":"","creationTimestamp":"2026-01-02T03:04:05Z","ownerReferences":[${owner}]`;
      const text = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{${metadata}},"data":{"a":"${padding}"}}\n`;
      const value = { ...toUnversioned(text, '"resourceVersion":"'), decode: () => undefined };
      puts.push(cache.put(`/registry/core/configmaps/default/${name}`, 0, value));
    }
    await Promise.all(puts);
    await cache.close();
  }
}

interface CopyOptions {
  readonly fill?: number;
  readonly burns?: boolean;
}

interface Server {
  readonly api: Api;
  readonly server: TestServer;
  close(): Promise<void>;
}

const configMaps = "/api/v1/namespaces/default/configmaps";
const secrets = "/api/v1/namespaces/default/secrets";

/** Makes an object of each kind, a custom resource, an event, and a secret. */
async function fill({ api }: Server): Promise<void> {
  for (const [path, fields] of objectsOfKinds) {
    if (path.endsWith("/pods")) continue; // the limit range of these objects refuses it
    (await api.post(path, { metadata: { name: "a" }, ...fields })).expect(201);
  }
  const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const version = { name: "v1", served: true, storage: true, schema };
  const spec = { group: "example.com", scope: "Cluster", names, versions: [version] };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  (await api.post(definitions, { metadata: { name: "things.example.com" }, spec })).expect(201);
  const thing = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" }, spec: { size: 1 } };
  (await api.post("/apis/example.com/v1/things", thing)).expect(201);
  (await api.post(secrets, { metadata: { name: "hidden" }, data: { a: "c2VjcmV0" } })).expect(201);
  const involvedObject = { kind: "ConfigMap", name: "a", namespace: "default" };
  const event = { metadata: { name: "e" }, involvedObject, reason: "R", message: "m", type: "Normal" };
  (await api.post("/api/v1/namespaces/default/events", event)).expect(201);
}

/** Asserts that what a client of the former store knows is answered as gone. */
async function assertBegunAnew({ api }: Server, formerVersions: readonly string[], token: string): Promise<void> {
  for (const version of formerVersions) {
    const watch = await api.get(`${configMaps}?watch=true&timeoutSeconds=1&resourceVersion=${version}`);
    if (watch.status === 200) assert.match(watch.text, /"code":410/, `a watch from ${version}`);
    else assert.equal(watch.status, 410);
    (await api.get(`${configMaps}?resourceVersion=${version}&resourceVersionMatch=Exact`)).expectFailure(
      410,
      "Expired",
    );
  }
  (await api.get(`${configMaps}?limit=1&continue=${token}`)).expectFailure(410, "Expired");
}

for (const domain of domains) {
  test(`${domain}: a folder is copied into etcd and back: nothing but versions differs, and former versions are gone`, {
    skip: reason ?? false,
  }, async (t) => {
    const work = await Workplace.open(t, domain);
    const [folder, back] = [work.path("data"), work.path("back")];
    const first = await work.serve({ dataDir: folder });
    await fill(first);
    await first.close();
    await work.addObjects(folder, objects);
    const second = await work.serve({ dataDir: folder });
    const filled = await readAll(second.api);
    assert.ok(filled.size > objects);
    const read = (await second.api.get(`${configMaps}?limit=1`)).expect(200);
    const former = [read.string("metadata.resourceVersion"), "1"];
    const token = read.string("metadata.continue");
    await assert.rejects(work.copy(folder, work.etcd), /store\.db is in use by another process/);
    await second.close();

    await assert.rejects(
      work.copy(folder, work.etcd),
      /nothing was written: \/registry\/core\/secrets\/\S+: is encrypted: give the servers' --encryption/,
    );
    await assert.rejects(
      work.copy(folder, work.etcd, { fill: 8 }),
      /nothing was written: \/registry\/core\/secrets\/default\/\S+: cipher: message authentication failed/,
    );
    await assert.rejects(
      work.copy(folder, work.etcd, { fill: 7 }),
      /is at revision 1, and \S+data at \d+: clients would .* etcdutl snapshot restore empty\.db --bump-revision \d+ --mark-compacted --data-dir/,
    );
    const report = await work.copy(folder, work.etcd, { fill: 7, burns: true });
    assert.ok(report.keys > objects);
    assert.deepEqual(await work.problems("etcd"), []);
    const third = await work.serve({ etcdServers: work.cluster.endpoints });
    assertEqual(filled, await readAll(third.api));
    (await third.api.get(`${secrets}/hidden`)).expect(200, { "data.a": "c2VjcmV0" });
    (await third.api.get("/api/v1/namespaces/default/events/e")).expect(200, { reason: "R" });
    await assertBegunAnew(third, former, token);
    (await third.api.patch(`${configMaps}/a`, { data: { changed: "yes" } })).expect(200);
    const changed = await readAll(third.api);
    const last = (await third.api.get(`${configMaps}?limit=1`)).expect(200);
    const alone = (await third.api.get(`${configMaps}/a`)).expect(200).string("metadata.resourceVersion");
    // A backup is made beside servers.
    await work.backUp("state.backup");
    assert.deepEqual(await work.problems({ backupFile: work.path("state.backup") }), []);
    await third.close();

    const returned = await work.copy(work.etcd, back, { fill: 7 });
    assert.deepEqual(await work.problems({ dataDir: back }), []);
    assert.doesNotMatch(readFileSync(join(back, "store.db"), "latin1"), /c2VjcmV0/);
    const fourth = await work.serve({ dataDir: back });
    assertEqual(changed, await readAll(fourth.api));
    (await fourth.api.get(`${secrets}/hidden`)).expect(200, { "data.a": "c2VjcmV0" });
    (await fourth.api.get("/api/v1/namespaces/default/events/e")).expect(200, { reason: "R" });
    (await fourth.api.get(`${configMaps}/a`)).expect(200, { "metadata.resourceVersion": alone });
    const lastVersion = last.string("metadata.resourceVersion");
    await assertBegunAnew(fourth, [...former, lastVersion], last.string("metadata.continue"));
    await fourth.close();

    await restoreBackup({ backupFile: work.path("state.backup"), dataDir: work.path("restored") });
    const fifth = await work.serve({ dataDir: work.path("restored") });
    assertEqual(changed, await readAll(fifth.api));
    await fifth.close();
    const [to, fro] = [report, returned].map(({ seconds }) => seconds.toFixed(1));
    t.diagnostic(`${report.keys} entries: ${to} s into etcd, ${fro} s back`);
  });
}

test("a copy into etcd that was killed keeps servers from starting, and goes on", {
  skip: reason ?? false,
}, async (t) => {
  const work = await Workplace.open(t, "k8s.io");
  const [folder, another] = [work.path("data"), work.path("another")];
  for (const dataDir of [folder, another]) await (await work.serve({ dataDir })).close();
  await work.addObjects(folder, 3000);
  const args = ["copy", `--from=${folder}`, `--to=${work.etcd}`, "--burn", "-o=json"];
  for (let kills = 0; kills < 2; kills++) {
    const child = spawn(process.execPath, [...program, ...args], { cwd: work.folder, stdio: "ignore" });
    const exited = once(child, "exit");
    await untilKeys(work, 1000 * (kills + 1));
    child.kill("SIGKILL");
    await exited;
  }
  const etcdServers = work.cluster.endpoints;
  await assert.rejects(work.serve({ etcdServers }), /has a part of a store: run binnacle copy again/);
  await assert.rejects(work.copy(another, work.etcd, { burns: true }), /has a part of another store/);
  await assert.rejects(work.copy(work.etcd, work.path("back")), /is not complete/);
  assert.deepEqual(await work.problems("etcd"), [" a copy into it is not complete: run binnacle copy again"]);
  const { code, stdout } = await runProgram(args, work.folder);
  assert.equal(code, 0);
  const { keys } = JSON.parse(stdout) as { readonly keys: number };
  assert.ok(keys > 3000);
  const server = await work.serve({ etcdServers });
  const maps = (await server.api.get(`${configMaps}?limit=1`)).expect(200).at("metadata.remainingItemCount");
  assert.ok(Number(maps) >= 2999, String(maps));
  await assert.rejects(
    work.copy(work.etcd, work.path("back")),
    /servers use etcd at \S+, and must be stopped first: |was written to during the copy: stop all its servers first/,
  );
  await server.close();
});

test("a server gives way to a copy that began after the server had looked for one", {
  skip: reason ?? false,
}, async (t) => {
  const work = await Workplace.open(t, "k8s.io");
  const client = clientOf(work);
  t.after(() => client.close());
  const timeoutMs = 10_000;
  const marker = { kind: "put", key: "/registry/binnacle/copies/unfinished", value: Buffer.from("{}") } as const;
  const begin = () => client.transact({ compare: [], then: [marker], otherwise: [] }, { timeoutMs });
  const instruments: Instruments = {
    connectionClock: systemClock,
    inBackground: false,
    wrapHandler: (next) => next,
    wrapLog: (log) => new BeforeRecord(log, begin),
    assembled: () => undefined,
  };
  const starting = openServer("k8s.io", { etcdServers: work.cluster.endpoints }, { instruments });
  await assert.rejects(starting, /has a part of a store: run binnacle copy again, which completes it, unless it is/);
  const { entries } = await client.range({ key: "/registry/", end: "/registry0", keysOnly: true }, { timeoutMs });
  assert.deepEqual(
    entries.map(({ key }) => key),
    ["/registry/binnacle/copies/unfinished", "/registry/binnacle/settings/api-domain"],
  );
});

/** A log in which something is done before a server enters its first record. */
class BeforeRecord extends ForwardingLog {
  #begin: (() => Promise<unknown>) | undefined;

  constructor(log: LogStore, begin: () => Promise<unknown>) {
    super(log);
    this.#begin = begin;
  }

  override async commit(write: LogWrite): Promise<CommitResult> {
    if (write.key.startsWith("/registry/binnacle/servers/")) {
      await this.#begin?.();
      this.#begin = undefined;
    }
    return super.commit(write);
  }
}

const clientOf = ({ cluster }: Workplace) =>
  openEtcd({ endpoints: cluster.endpoints, tls: {}, server: "test", clock: systemClock, random: systemRandom });

/** Waits until an etcd has so many keys. */
async function untilKeys(work: Workplace, count: number): Promise<void> {
  const client = clientOf(work);
  try {
    for (;;) {
      const found = await client.range({ key: "/", end: "0", countOnly: true }, { timeoutMs: 10_000 });
      if (found.count >= count) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  } finally {
    client.close();
  }
}
