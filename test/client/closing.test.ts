/** The end of calls and watches of the client library: by their signal, and by the end of their cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, type KindClient } from "#client/cluster.ts";
import { ConnectionError } from "#client/connection-error.ts";
import { Role, Secret } from "#client/kinds.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";
import { suite } from "../harness.ts";
import { clusterOf, makeNamespace } from "./open-cluster.ts";

const inBothDomains = suite();

const isClosed = (error: Error): boolean =>
  error instanceof ConnectionError && error.message === "the cluster is closed";

inBothDomains("closing a cluster ends its watches, informers and waits, which nothing else ends", async (api, t) => {
  const cluster = await clusterOf(api, t);
  const derived = cluster.through((transport) => transport);
  const namespace = await makeNamespace(cluster, "closed");
  const secrets = cluster.kind(Secret).in(namespace);
  const stop = new AbortController();
  const stopped = secrets.watch({ signal: stop.signal });
  const watches = [secrets.watch(), derived.kind(Secret).in(namespace).watch()];
  await secrets.create({ metadata: { name: "a" } });
  for (const watch of [stopped, ...watches]) await watch.next();
  const informer = cluster.informer(Secret);
  await informer.synced;
  const waits = [
    secrets.until("none", (secret) => secret !== undefined),
    secrets.until("none", () => false, { timeout: "1h" }),
  ];
  const all = [...watches.map((watch) => Array.fromAsync(watch)), ...waits];
  const ends = all.map((end) => assert.rejects(end, isClosed));
  const rest = Array.fromAsync(stopped);
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await cluster.close();
  await Promise.all(ends);
  assert.deepEqual(await rest, []);
  await informer.close();
  await assert.rejects(cluster.informer(Secret).synced, isClosed);
});

/** A way to a server that never answers. */
const silent: Transport = {
  request: ({ signal }: ClientRequest) =>
    new Promise<ClientResponse>((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
    }),
  stream: () => new Promise(() => undefined),
};

void test("a signal ends every call while the API domain is asked for", async () => {
  const cluster = await connect({ transport: silent });
  const roles: KindClient<Role> = cluster.kind(Role);
  const role = { metadata: { name: "a" } };
  const calls: readonly ((options: { signal: AbortSignal }) => Promise<unknown>)[] = [
    (options) => roles.get("a", options),
    (options) => roles.create(role, options),
    (options) => roles.replace({ ...role, rules: null }, options),
    (options) => roles.apply(role, options),
    (options) => roles.patch("a", { merge: {} }, options),
    (options) => roles.change("a", () => undefined, options),
    (options) => roles.delete("a", options),
    (options) => roles.deleteAll(options),
    (options) => roles.until("a", () => true, options),
    (options) => Array.fromAsync(roles.list(options)),
  ];
  for (const call of calls) {
    const stop = new AbortController();
    const promise = call({ signal: stop.signal });
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error("enough"));
    await assert.rejects(promise, /^Error: enough$/);
  }
  const stop = new AbortController();
  const watch = Array.fromAsync(roles.watch({ signal: stop.signal }));
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  assert.deepEqual(await watch, []);
});
