/**
 * Rows of `hostile.bench.ts`: the effect on other clients of thousands of connections that send bodies as fast as the
 * server accepts them: without credentials to `/livez`, as a user who is refused, slowly as a user who is not, or
 * frames of HTTP/2 that are not bodies. `time` is the worst 99th percentile, and `longest` the worst time, of another
 * client's GETs on a kept and on new connections, and of `/livez` on new ones; memory is the server's peak increase.
 * The row `push-nobody` has no such connections, so its figures are those of the machine.
 */
import { readFileSync } from "node:fs";
import { startProber } from "./prober.ts";
import { type Push, pushersAside } from "./pushers.ts";
import { type Server, startServer } from "./server-process.ts";
import type { Measurement, Run } from "./suite.ts";

type Sent = Pick<Push, "method" | "path" | "bodyBytes" | "token" | "slowBytes" | "frames">;

const refusedToken = "mallory-token";
const writerToken = "writer-token";
const victimToken = "victim-token";
const users = [
  `${refusedToken},mallory,mallory`,
  `${writerToken},writer,writer,system:masters`,
  `${victimToken},victim,victim,system:masters`,
];

const core = "/api/v1/namespaces/default";

const cases: Readonly<Record<string, Sent & { readonly about: string }>> = {
  livez: { about: "GET /livez with 15.9 MB, nobody known", method: "GET", path: "/livez", bodyBytes: 15_900_000 },
  refused: {
    about: "POST of a Secret of 2.9 MB, refused with 403",
    method: "POST",
    path: `${core}/secrets`,
    bodyBytes: 2_900_000,
    token: refusedToken,
  },
  slow: {
    about: "POST of a ConfigMap of 3 MB that may be made, 8 KB in a second",
    method: "POST",
    path: `${core}/configmaps`,
    bodyBytes: 3_000_000,
    token: writerToken,
    slowBytes: 8_000,
  },
};

const counts = [2_000, 5_000];
const protocols = { http1: "http/1.1", http2: "h2" } as const;

interface Row {
  readonly name: string;
  readonly about: string;
  readonly push: Omit<Push, "host" | "port" | "ca">;
}

const pushes: readonly Row[] = Object.entries(cases).flatMap(([name, { about, ...sent }]) =>
  Object.entries(protocols).flatMap(([short, protocol]) =>
    counts.map((connections) => ({
      name: `push-${name}-${short}-${connections}`,
      about: `${about}; ${connections} connections, ${protocol}`,
      push: { ...sent, protocol, connections },
    })),
  ),
);

/** HTTP/2 frames without end. A closed connection is not opened again. */
const floods: readonly Row[] = (["windowUpdate", "unknown"] as const).map((frames) => ({
  name: `frames-${frames}-100`,
  about: `a GET of a user, then ${frames} frames without end; 100 connections, h2`,
  push: {
    method: "GET",
    path: core,
    bodyBytes: 0,
    token: refusedToken,
    frames,
    protocol: "h2",
    connections: 100,
  },
}));

const nobody = "push-nobody";

/** The descriptions of the rows by name. */
export const pushRows: Readonly<Record<string, string>> = {
  [nobody]: "no connections that push",
  ...Object.fromEntries([...pushes, ...floods].map(({ name, about }) => [name, about])),
};

/** The time for which the clients push, in seconds. */
const seconds = 25;

/** Measures the wanted rows. */
export async function measurePushes(run: Run): Promise<void> {
  await run.row(nobody, () => onServer((server) => besides(server, nobody, undefined)));
  for (const { name, push } of [...pushes, ...floods]) {
    await run.row(name, () => {
      requireFiles(push.connections);
      return onServer((server) => besides(server, name, push));
    });
  }
}

/**
 * Runs the work on a server of its own for each row, since thousands of earlier connections leave traces in a server.
 */
async function onServer(work: (server: Server) => Promise<Measurement>): Promise<Measurement> {
  const server = await startServer(undefined, users);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

async function besides(server: Server, name: string, push: Row["push"] | undefined): Promise<Measurement> {
  const { host, port, ca, pid } = server;
  const at = { host, port, ca };
  const pushers = push === undefined ? undefined : await pushersAside({ ...at, ca: undefined, ...push });
  const prober = await startProber({ ...at, pid, token: victimToken, path: core, alsoNew: true });
  pushers?.begin();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { p99Ms, maxMs, peakMb, beforeMb, failed } = await prober.end();
  await pushers?.end();
  if (failed > 0) throw new Error(`${name}: ${failed} of the other client's requests failed`);
  return { name, ms: p99Ms, longestMs: maxMs, rssMb: peakMb - beforeMb };
}

/** Checks the limit of open files, since Linux counts sockets as files. */
function requireFiles(connections: number): void {
  const [, limit] = /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  if (Number(limit) < 1.5 * connections) throw new Error(`the limit of open files is ${limit}: raise it (ulimit -n)`);
}
