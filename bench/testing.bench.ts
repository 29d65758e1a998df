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
    "start-again": "the start of a server after others in the same process, until its controllers have nothing to do",
    "reset-100": "reset() after a test has made 100 ConfigMaps, until the server's decisions follow",
    "reset-none": "reset() after a test that only read",
  },
  workloads: [],
  measure,
};

async function measure(run: Run): Promise<void> {
  await run.row("start-again", startAgain);
  await run.row("reset-100", () => resetAfter("reset-100", 100));
  await run.row("reset-none", () => resetAfter("reset-none", 0));
}

const rounds = 20;
const warmupRounds = 5;

async function startAgain(): Promise<Measurement> {
  return timed("start-again", async () => {
    const start = performance.now();
    const server = await startTestServer();
    return { ms: performance.now() - start, after: () => server.close() };
  });
}

async function resetAfter(name: string, objects: number): Promise<Measurement> {
  await using server = await startTestServer();
  return await timed(name, async () => {
    await Promise.all(Array.from({ length: objects }, (_, index) => create(server, `map-${index}`)));
    await server.settled();
    const start = performance.now();
    await server.reset();
    return { ms: performance.now() - start, after: () => Promise.resolve() };
  });
}

async function create(server: TestServer, name: string): Promise<void> {
  const answer = await server.fetch("/api/v1/namespaces/default/configmaps", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ metadata: { name }, data: { key: "value" } }),
  });
  if (answer.status !== 201) throw new Error(`create answered ${answer.status}`);
  await answer.body?.cancel();
}

/** Returns the median and the longest time of the rounds after a warm-up. */
async function timed(
  name: string,
  round: () => Promise<{ readonly ms: number; after(): Promise<void> }>,
): Promise<Measurement> {
  const times: number[] = [];
  for (let count = 0; count < warmupRounds + rounds; count++) {
    const { ms, after } = await round();
    await after();
    if (count >= warmupRounds) times.push(ms);
  }
  return { name, ms: median(times), longestMs: Math.max(...times) };
}

if (import.meta.main) await runAlone(testingSuite);
