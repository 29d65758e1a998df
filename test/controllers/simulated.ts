/** A server with simulated workloads, and the short forms that its tests use. */
import type { TestContext } from "node:test";
import type { Cluster, KindClient } from "#client/cluster.ts";
import { Pod } from "#client/kinds.ts";
import type { ServerSettings } from "#server/options.ts";
import { startTestServer } from "#testing/start-test-server.ts";
import type { TestServer } from "#testing/test-server.ts";

/** The time until pods are Ready, which tests advance; so long that none becomes Ready by itself. */
export const readyAfter = "1m";

interface SimulatedCluster {
  readonly server: TestServer;
  readonly client: Cluster;
  readonly pods: KindClient<Pod>;
  /** Lets pods become Ready or end, again and again, until nothing changes any more. */
  advance(times: number): Promise<void>;
  /** Follows all pods of the namespace, and calls `check` with those that there are after every event. */
  watchPods(check: (present: readonly Pod[]) => void): void;
}

/** Starts a server that simulates workloads, until the end of the test. */
export async function simulated(
  t: TestContext,
  settings: Omit<ServerSettings, "storage" | "dataDir" | "apiDomain"> = {},
): Promise<SimulatedCluster> {
  const server = await startTestServer({
    settings: { simulate: ["workloads"], simulateReadyAfterMs: 60_000, ...settings },
  });
  const stop = new AbortController();
  const watches: Promise<void>[] = [];
  t.after(async () => {
    stop.abort();
    await Promise.all(watches);
    await server.close();
  });
  const client = await server.client();
  const pods = client.kind(Pod).in("default");
  return {
    server,
    client,
    pods,
    watchPods: (check) => void watches.push(followPods(pods, stop.signal, check)),
    async advance(times) {
      await server.settled();
      for (let time = 0; time < times; time++) await server.clock.advance(readyAfter);
    },
  };
}

/** Returns a template of pods with a label. */
export const template = (app: string, annotations: Readonly<Record<string, string>> = {}, spec: object = {}) => ({
  metadata: { labels: { app }, annotations },
  spec: { containers: [{ name: "main", image: `example.com/${app}:1` }], ...spec },
});

/** Returns a Deployment; `spec` has fields beside the usual ones. */
export const deployment = (name: string, replicas: number, spec: object = {}) => ({
  metadata: { name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

/** Returns all objects of a list, by name. */
export async function listed<T extends { readonly metadata: { readonly name: string } }>(
  list: AsyncIterable<T>,
): Promise<T[]> {
  const all = await Array.fromAsync(list);
  return all.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Whether a pod is Ready. */
export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

async function followPods(
  pods: KindClient<Pod>,
  signal: AbortSignal,
  check: (present: readonly Pod[]) => void,
): Promise<void> {
  const present = new Map<string, Pod>();
  for await (const { type, object } of pods.watch({ signal })) {
    if (type === "deleted") present.delete(object.metadata.name);
    else present.set(object.metadata.name, object);
    check([...present.values()]);
  }
}
