/**
 * An informer of the library beside one of client-go, under the same thousand faults: each has its own faulty way to the
 * same server, where objects come, change and go. In the end both have what the server has, and both told the deletion of
 * every object that they had told of.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConfigMap } from "#api/core/v1.ts";
import { connect } from "#client/cluster.ts";
import { ConfigMap as configMaps } from "#client/kinds.ts";
import { parseKubeconfig } from "#client/kubeconfig.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { startTestServer } from "#testing/start-test-server.ts";
import type { TestServer } from "#testing/test-server.ts";
import { GoModule, stop } from "../go-program.ts";
import { temporaryFolder } from "../harness.ts";
import { type FaultyProxy, openFaultyProxy } from "./faulty-proxy.ts";

const module = new GoModule("client-go");
const faultCount = 1000;
const namespace = "watched";

interface State {
  readonly synced: boolean;
  /** UID and version by name. */
  readonly objects: Readonly<Record<string, string>>;
  readonly added: ReadonlySet<string>;
  readonly deleted: ReadonlySet<string>;
}

/** Returns a kubeconfig for the way through a proxy. */
const kubeconfigFor = ({ kubeconfig, url }: TestServer, way: FaultyProxy): string =>
  kubeconfig.replaceAll(url, `https://127.0.0.1:${way.port}`);

/** The informer of client-go, in a process of its own. */
class GoInformer {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(program: string, kubeconfig: string) {
    const file = join(temporaryFolder(), "kubeconfig");
    writeFileSync(file, kubeconfig);
    const args = ["--kubeconfig", file, "--namespace", namespace];
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  async state(): Promise<State> {
    this.#child.stdin!.write("state\n");
    const line = await this.#lines.next();
    assert.ok(line.done !== true, "client-go's informer has ended");
    const { synced, objects, added, deleted } = JSON.parse(line.value) as {
      readonly synced: boolean;
      readonly objects: Readonly<Record<string, string>>;
      readonly added: object;
      readonly deleted: object;
    };
    return { synced, objects, added: new Set(Object.keys(added)), deleted: new Set(Object.keys(deleted)) };
  }

  close(): Promise<void> {
    return stop(this.#child);
  }
}

/** Makes one fault: on both ways, or at the server. */
function makeFault(random: Random, ways: readonly FaultyProxy[], { faults }: TestServer): void {
  const choice = Math.floor(random.next() * 10);
  for (const way of ways) {
    if (choice === 0) way.cut();
    else if (choice === 1) way.halfClose();
    else if (choice === 2) way.delayMs = Math.floor(random.next() * 5);
    else if (choice === 3) way.cutAfterBytes = Math.floor(random.next() * 20_000);
    else if (choice === 4) way.newConnections = "refused";
    else way.newConnections = "forwarded";
  }
  const verb = random.next() < 0.5 ? "list" : "watch";
  const match = { verb, resource: "configmaps", namespace };
  if (choice === 5) faults.dropWatches(match);
  else if (choice === 6) void faults.compact();
  else if (choice === 7) faults.next(match, { answer: 500 });
  else if (choice === 8) faults.next(match, { answer: 429, retryAfter: 1 });
  else if (choice === 9) faults.next(match, { lose: true });
}

test("under 1,000 faults an informer ends like client-go's: in the state of the server, with every deletion told", {
  skip: module.missingModule(".") ?? false,
}, async (t) => {
  const program = join(temporaryFolder(), "client-go");
  module.build(".", program);
  await using server = await startTestServer({
    settings: { controllers: ["*", "-root-ca-certificate-publisher-controller"] },
  });
  const { hostname, port } = new URL(server.url);
  const ways = [await openFaultyProxy(t, Number(port), hostname), await openFaultyProxy(t, Number(port), hostname)];
  await using writer = await connect({ kubeconfig: await parseKubeconfig(server.kubeconfig) });
  await writer.rest.create("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  const maps = writer.kind(configMaps).in(namespace);

  await using cluster = await connect({ kubeconfig: await parseKubeconfig(kubeconfigFor(server, ways[0]!)) });
  let failures = 0;
  const informer = cluster.informer(configMaps, { in: namespace, failed: () => failures++ });
  const added = new Set<string>();
  const deleted = new Set<string>();
  informer.subscribe(({ type, object }) => {
    if (type === "added") added.add(object.metadata.uid!);
    if (type === "deleted") deleted.add(object.metadata.uid!);
  });
  const goInformer = new GoInformer(program, kubeconfigFor(server, ways[1]!));
  t.after(() => goInformer.close());

  const random = seededRandom(1);
  for (let count = 0; count < faultCount; count++) {
    const name = `m${Math.floor(random.next() * 20)}`;
    if (random.next() < 0.4) await maps.delete(name);
    else await maps.apply({ metadata: { name }, data: { count: String(count) } }, { force: true });
    makeFault(random, ways, server);
    if (random.next() < 0.2) await sleep(20);
  }
  for (const way of ways) Object.assign(way, { delayMs: 0, cutAfterBytes: Infinity, newConnections: "forwarded" });
  server.faults.clear();
  await maps.apply({ metadata: { name: "last" } }, { force: true });

  const present: Record<string, string> = {};
  for await (const { metadata } of maps.list()) present[metadata.name] = `${metadata.uid} ${metadata.resourceVersion}`;
  const own = (): State => ({
    synced: informer.isSynced,
    objects: Object.fromEntries(
      informer.list().map(({ metadata }: ConfigMap) => [metadata.name!, `${metadata.uid} ${metadata.resourceVersion}`]),
    ),
    added,
    deleted,
  });
  for (const state of [() => Promise.resolve(own()), () => goInformer.state()]) {
    let last = await state();
    while (!isEqual(last.objects, present)) {
      await sleep(200);
      last = await state();
    }
    const uids = new Set(Object.values(present).map((text) => text.split(" ")[0]!));
    for (const uid of last.added) assert.equal(last.deleted.has(uid), !uids.has(uid), uid);
  }
  await informer.close();
});

const isEqual = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((name) => a[name] === b[name]);
