/**
 * The effect of hostile requests (`hostile-requests.ts`) on other clients, one at a time and eight at once, from a user
 * without exemption. `time` is the 99th percentile of another client's GET over HTTP/2, `longest` its maximum, and
 * memory the server's peak increase. To run it alone, after a build: `node --conditions=source bench/hostile.bench.ts`.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { hostileCases, type HostileRequest, type HostileSetting } from "./hostile-requests.ts";
import { residentMb, startProber } from "./prober.ts";
import { measurePushes, pushRows } from "./pushes.ts";
import { runAlone } from "./report.ts";
import { startServer } from "./server-process.ts";
import type { Measurement, Run, Suite } from "./suite.ts";
import { Client, makeNamespace, type Target } from "./target.ts";

const crowds = [1, 8];

export const hostileSuite: Suite = {
  name: "hostile",
  about: "another client's GETs (p99, longest) and memory beyond that of before, while somebody sends",
  rows: {
    ...Object.fromEntries(
      Object.entries(hostileCases).flatMap(([name, { about }]) =>
        crowds.map((crowd) => [`${name}-x${crowd}`, crowd === 1 ? about : `the same, ${crowd} at once`]),
      ),
    ),
    ...pushRows,
  },
  workloads: [],
  measure,
};

const hostileToken = "mallory-token";
const victimToken = "victim-token";

/** The lines of a token file for the sender and the reader. */
export const hostileUsers = [`${hostileToken},mallory,mallory`, `${victimToken},victim,victim`];

/** The flags that the server needs, since mutating policies are alpha. */
export const hostileFlags = [
  "--feature-gates=MutatingAdmissionPolicy=true",
  "--runtime-config=admissionregistration.platform.io/v1alpha1=true",
];

const objects = Number(process.env["OBJ"] ?? 20_000);

async function measure(run: Run): Promise<void> {
  await measureRequests(run);
  await measurePushes(run);
}

async function measureRequests(run: Run): Promise<void> {
  const names = Object.keys(hostileCases).flatMap((name) => crowds.map((crowd) => `${name}-x${crowd}`));
  if (!names.some((name) => run.isWanted(name))) return;
  const server = await startServer(undefined, hostileUsers, hostileFlags);
  try {
    const setting = await prepareHostile(server, { objects, definitions: 500, watches: 600, holdMs: 5000 });
    for (const [name, hostile] of Object.entries(hostileCases)) {
      if (!crowds.some((crowd) => run.isWanted(`${name}-x${crowd}`))) continue;
      for (const crowd of crowds) {
        if (!run.isWanted(`${name}-x${crowd}`)) continue;
        await hostile.prepare?.(setting);
        await run.row(`${name}-x${crowd}`, () => besideGets(server, setting, name, crowd));
      }
    }
    setting.client.close();
  } finally {
    await server.stop();
  }
}

/** Creates a namespace with config maps, and users with all rights but without exemption. */
export async function prepareHostile(
  server: Target,
  size: Pick<HostileSetting, "objects" | "definitions" | "watches" | "holdMs">,
): Promise<HostileSetting> {
  const client = await Client.open(server);
  const group = `rbac.authorization.${server.domain}`;
  for (const user of ["mallory", "victim"]) {
    const binding = {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: user },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: group, kind: "User", name: user }],
    };
    await client.send("POST", `/apis/${group}/v1/clusterrolebindings`, JSON.stringify(binding));
  }
  const namespace = await makeNamespace(server, "hostile");
  const text = "x".repeat(1000);
  const workers = await Promise.all(Array.from({ length: 16 }, () => Client.open(server)));
  let next = 0;
  await Promise.all(
    workers.map(async (worker) => {
      for (let i = next++; i < size.objects; i = next++) {
        const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c${i}"},"data":{"a":"${text}"}}`;
        await worker.send("POST", `/api/v1/namespaces/${namespace}/configmaps`, body);
      }
      worker.close();
    }),
  );
  return { client, namespace, domain: server.domain, ...size };
}

/** A measurement, with the codes of the answers. */
type Seen = Measurement & {
  readonly p99Ms: number;
  readonly longestMs: number;
  readonly rssMb: number;
  readonly codes: readonly number[];
};

/** Sends the requests of `crowd` clients at the same time, while another client reads. */
export async function besideGets(server: Target, setting: HostileSetting, name: string, crowd: number): Promise<Seen> {
  const hostile = hostileCases[name]!;
  const token = hostile.byAdministrator === true ? server.token : hostileToken;
  const requests = Array.from({ length: crowd }, (_, index) => hostile.requests(setting, index));
  const before = residentMb(server.pid);
  const { host, port, ca, pid } = server;
  const prober = await startProber({ host, port, ca, pid, token: victimToken, path: "/api/v1/namespaces/default" });
  const sessions: ClientHttp2Session[] = [];
  const sent = requests.flatMap((list) =>
    list.map((request, i) => {
      // A client library, too, sends up to a hundred requests on a connection.
      if (i % 100 === 0) {
        const session = connect(`https://${host}:${port}`, ca === undefined ? {} : { ca, servername: "localhost" });
        session.on("error", () => undefined);
        sessions.push(session);
      }
      return send(sessions.at(-1)!, request, token);
    }),
  );
  const codes = await Promise.all(sent);
  for (const session of sessions) session.destroy();
  const { p99Ms, maxMs, peakMb, failed } = await prober.end();
  for (const [i, { codes: allowed }] of requests.flat().entries()) {
    const code = codes[i]!;
    const isFine = allowed === undefined ? code >= 200 && code < 500 : allowed.includes(code) || code === 429;
    if (!isFine) throw new Error(`${name}: answered ${code}`);
  }
  if (failed > 0) throw new Error(`${name}: ${failed} of the other client's requests failed`);
  return { name: `${name}-x${crowd}`, ms: p99Ms, p99Ms, longestMs: maxMs, rssMb: peakMb - before, codes };
}

/** Resolves with the code of the answer when it is complete; 0 for no answer. */
function send(session: ClientHttp2Session, request: HostileRequest, token: string): Promise<number> {
  const { method, path, body, type = "application/json", accept = "application/json", watchBytes, holdMs } = request;
  return new Promise((resolve) => {
    const stream = session.request(
      {
        ":method": method,
        ":path": path,
        authorization: `Bearer ${token}`,
        accept,
        ...(body === undefined ? {} : { "content-type": type, "content-length": body.length }),
      },
      { endStream: body === undefined },
    );
    let code = 0;
    let bytes = 0;
    const done = (): void => {
      resolve(code);
      stream.destroy();
    };
    stream.on("response", (headers) => (code = headers[":status"] ?? 0));
    stream.on("error", done).on("close", done);
    if (watchBytes !== 0) {
      stream.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (watchBytes !== undefined && bytes >= watchBytes) done();
      });
      stream.on("end", done);
    }
    if (holdMs !== undefined) setTimeout(done, holdMs);
    if (body !== undefined && holdMs !== undefined) stream.write(body.subarray(0, body.length - 1));
    else if (body !== undefined) stream.end(body);
  });
}

if (import.meta.main) await runAlone(hostileSuite);
