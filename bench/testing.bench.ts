/**
 * The test kit: the start of a second server in a process, and the way back to the state after the start. To run it
 * alone: `node --conditions=source bench/testing.bench.ts`.
 */
import { startTestServer } from "#testing/testing.ts";
import type { TestServer } from "#testing/test-server.ts";
import { runAlone } from "./report.ts";
import { type Measurement, median, type Run, type Suite } from "./suite.ts";

export const testingSuite: Suite = {
  name: "testing",
  about: "servers for tests, in the process of the test, from source",
  rows: {
    "start-again":
      "the start of a server after others in the same process, until its controllers have nothing to do; CPU of the process",
    "reset-100": "reset() after a test has made 100 ConfigMaps, until the server's decisions follow",
    "restore-100": "restore() after a test has changed 50 ConfigMaps of a snapshot and deleted 50",
    "reset-none": "reset() after a test that only read",
  },
  workloads: [],
  measure,
};

async function measure(run: Run): Promise<void> {
  await run.row("start-again", startAgain);
  await run.row("reset-100", () => resetAfter("reset-100", 100));
  await run.row("restore-100", restoreAfter);
  await run.row("reset-none", () => resetAfter("reset-none", 0));
}

const rounds = 20;
const warmupRounds = 5;

async function startAgain(): Promise<Measurement> {
  return timed("start-again", async () => {
    const end = startTiming();
    const server = await startTestServer();
    return { ...end(), after: () => server.close() };
  });
}

async function resetAfter(name: string, objects: number): Promise<Measurement> {
  await using server = await startTestServer();
  return await timed(name, async () => {
    await Promise.all(Array.from({ length: objects }, (_, index) => create(server, `map-${index}`)));
    await server.settled();
    const end = startTiming();
    await server.reset();
    return { ...end(), after: () => Promise.resolve() };
  });
}

async function restoreAfter(): Promise<Measurement> {
  await using server = await startTestServer();
  const names = Array.from({ length: 100 }, (_, index) => `map-${index}`);
  await Promise.all(names.map((name) => create(server, name)));
  await server.settled();
  const snapshot = server.snapshot();
  return await timed("restore-100", async () => {
    await Promise.all(
      names.map((name, index) =>
        index < 50
          ? send(server, "PATCH", `/${name}`, { data: { key: String(performance.now()) } })
          : send(server, "DELETE", `/${name}`),
      ),
    );
    await server.settled();
    const end = startTiming();
    await server.restore(snapshot);
    return { ...end(), after: () => Promise.resolve() };
  });
}

const create = (server: TestServer, name: string): Promise<void> =>
  send(server, "POST", "", { metadata: { name }, data: { key: "value" } });

async function send(server: TestServer, method: string, path: string, body?: object): Promise<void> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const answer = await server.fetch(`/api/v1/namespaces/default/configmaps${path}`, {
    method,
    headers: { "content-type": type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} answered ${answer.status}`);
  await answer.body?.cancel();
}

interface Timing {
  readonly ms: number;
  /** The CPU time of the process in microseconds. */
  readonly cpuUs: number;
}

/** Returns a function that returns the time since this call. */
function startTiming(): () => Timing {
  const before = process.cpuUsage();
  const startMs = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { ms: performance.now() - startMs, cpuUs: user + system };
  };
}

/** Returns the medians and the longest time of the rounds after a warm-up. */
async function timed(name: string, round: () => Promise<Timing & { after(): Promise<void> }>): Promise<Measurement> {
  const timings: Timing[] = [];
  for (let count = 0; count < warmupRounds + rounds; count++) {
    const { after, ...timing } = await round();
    await after();
    if (count >= warmupRounds) timings.push(timing);
  }
  const times = timings.map(({ ms }) => ms);
  return {
    name,
    cpuUsPerOp: median(timings.map(({ cpuUs }) => cpuUs)),
    ms: median(times),
    longestMs: Math.max(...times),
  };
}

if (import.meta.main) await runAlone(testingSuite);
