/**
 * The client library, built, in processes of its own: imports, a first call, informers beside those of client-go on the
 * same server in turn, and server-side apply. To run it alone, after a build: `node --conditions=source
 * bench/client.bench.ts`.
 */
import { GoModule } from "../test/go-program.ts";
import { entryUrl, Program, programFile, runProgram, temporaryPath, writeTemporary } from "./client-process.ts";
import { Connection, requestBytes } from "./connection.ts";
import { usageOf } from "./process-usage.ts";
import { progress, runAlone } from "./report.ts";
import { benchToken, type Server, startServer } from "./server-process.ts";
import { type Measurement, median, type Run, type Suite } from "./suite.ts";
import { makeNamespace } from "./target.ts";

const imports: Readonly<Record<string, readonly string[]>> = {
  "import-client": ["index"],
  "import-kinds": ["kinds"],
  "import-controllers": ["controllers"],
  "import-all": ["index", "kinds", "controllers"],
};

const objectsCount = 10_000;
const changesCount = 5000;
const informers = ["configmaps", "pods"] as const;
type Resource = (typeof informers)[number];

const applyLoops: Readonly<Record<string, number>> = { "client-apply-1": 1, "client-apply-16": 16 };

export const clientSuite: Suite = {
  name: "client",
  about: "the client library, built, in processes of its own; CPU and memory are those of these processes",
  rows: {
    "import-client": "import of binnacle/client: its CPU time and memory",
    "import-kinds": "the same of binnacle/client/kinds",
    "import-controllers": "the same of binnacle/client/controllers",
    "import-all": "the same of the three",
    "first-call": "import, kubeconfig, connection and one GET",
    "informer-configmaps":
      "an informer of 10,000 ConfigMaps of 1 KB: CPU and time of the process until it is in step, memory then",
    "go-informer-configmaps": "the same with client-go, in turn with it on the same server",
    "changes-configmaps": "CPU of this informer for each of 5,000 changes, memory then",
    "go-changes-configmaps": "the same with client-go",
    "informer-pods": "the same for 10,000 Pods of 5 KB",
    "go-informer-pods": "the same with client-go",
    "changes-pods": "CPU of this informer for each of 5,000 changes, memory then",
    "go-changes-pods": "the same with client-go",
    "client-apply-1": "server-side apply of a ConfigMap of 1 KB by one loop, CPU of the client",
    "client-apply-16": "the same by 16 loops at once",
  },
  workloads: [],
  measure,
};

const rowsOf = (resource: Resource): readonly string[] =>
  ["informer", "go-informer", "changes", "go-changes"].map((row) => `${row}-${resource}`);

async function measure(run: Run): Promise<void> {
  for (const [name, entries] of Object.entries(imports)) {
    await run.row(name, () => medianOf(name, () => runProgram("import", entries.map(entryUrl))));
  }
  const rows = ["first-call", ...informers.flatMap(rowsOf), ...Object.keys(applyLoops)];
  if (!rows.some((name) => run.isWanted(name))) return;
  // The server's own ConfigMap in each namespace would count as one more.
  const server = await startServer(undefined, [], ["--controllers=*,-root-ca-certificate-publisher-controller"]);
  try {
    const kubeconfig = writeKubeconfig(server);
    await run.row("first-call", () => medianOf("first-call", () => runProgram("first-call", [kubeconfig])));
    for (const resource of informers) await measureInformers(run, server, kubeconfig, resource);
    for (const [name, loops] of Object.entries(applyLoops)) {
      await run.row(name, async () => {
        const namespace = await makeNamespace(server, "apply");
        const printed = await runProgram("apply", [kubeconfig, namespace, String(loops), String(run.seconds)]);
        return { name, ...(printed as object) };
      });
    }
  } finally {
    await server.stop();
  }
}

function writeKubeconfig({ host, port, ca, token }: Server): string {
  const cluster = {
    server: `https://${host}:${port}`,
    "certificate-authority-data": Buffer.from(ca ?? "").toString("base64"),
  };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "bench", cluster }],
    users: [{ name: "bench", user: { token } }],
    contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
    "current-context": "bench",
  };
  return writeTemporary("kubeconfig", JSON.stringify(kubeconfig));
}

const processes = 7;

/** Returns the medians of what several processes print. */
async function medianOf(name: string, once: () => Promise<unknown>): Promise<Measurement> {
  const printed: { readonly cpuUsPerOp: number; readonly rssMb: number }[] = [];
  for (let count = 0; count < processes; count++) printed.push((await once()) as (typeof printed)[number]); // what programs print
  return {
    name,
    cpuUsPerOp: median(printed.map(({ cpuUsPerOp }) => cpuUsPerOp)),
    rssMb: median(printed.map(({ rssMb }) => rssMb)),
  };
}

const rounds = 3;
const module = new GoModule("client-go");

/** Measures the library and client-go in turn, and reports the four rows of a resource. */
async function measureInformers(run: Run, server: Server, kubeconfig: string, resource: Resource): Promise<void> {
  if (!rowsOf(resource).some((name) => run.isWanted(name))) return;
  const namespace = await makeNamespace(server, resource);
  await fill(server, namespace, resource);
  const commands: Record<string, readonly string[]> = { "": [process.execPath, programFile("informer")] };
  const missing = module.missingModule("./cost");
  if (missing === undefined) {
    const program = temporaryPath("client-go");
    module.build("./cost", program);
    commands["go-"] = [program];
  } else progress(`without client-go: ${missing}`, true);
  const measured = new Map<string, Measurement[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [prefix, [command, ...first]] of Object.entries(commands)) {
      const at = { server, namespace, resource, prefix, last: `${prefix}${round}` };
      const program = new Program(command!, [...first, kubeconfig, namespace, resource]);
      for (const row of await follow(program, at)) measured.set(row.name, [...(measured.get(row.name) ?? []), row]);
    }
  }
  for (const name of rowsOf(resource)) {
    const rows = measured.get(name);
    if (rows !== undefined) await run.row(name, () => mediansOf(name, rows));
  }
}

const pathOf = (namespace: string, resource: Resource): string => `/api/v1/namespaces/${namespace}/${resource}`;

interface Followed {
  readonly server: Server;
  readonly namespace: string;
  readonly resource: Resource;
  /** The prefix of the rows of a program. */
  readonly prefix: string;
}

/** Measures one informer from the start of its process until it has seen 5,000 changes. */
async function follow(program: Program, { server, namespace, resource, prefix }: Followed): Promise<Measurement[]> {
  try {
    const startMs = performance.now();
    const synced = await program.line();
    const ms = performance.now() - startMs;
    if (synced !== `synced ${objectsCount}`) throw new Error(`an informer has ${synced} of ${objectsCount} objects`);
    const first = usageOf(program.pid);
    await change(server, namespace, resource, changesCount / 5); // compiles code
    const before = usageOf(program.pid);
    await change(server, namespace, resource, changesCount);
    const path = pathOf(namespace, resource);
    await inParallel(server, 1, () => requestBytes("POST", path, benchToken, bodyOf(resource, "last")));
    if ((await program.line()) !== "last") throw new Error("an informer tells another object than the last one");
    const after = usageOf(program.pid);
    await inParallel(server, 1, () => requestBytes("DELETE", `${path}/last?gracePeriodSeconds=0`, benchToken));
    return [
      { name: `${prefix}informer-${resource}`, cpuUsPerOp: first.cpuUs, rssMb: first.rssMb, ms },
      {
        name: `${prefix}changes-${resource}`,
        cpuUsPerOp: (after.cpuUs - before.cpuUs) / changesCount,
        rssMb: after.rssMb,
      },
    ];
  } finally {
    await program.end();
  }
}

function mediansOf(name: string, rows: readonly Measurement[]): Measurement {
  const middle = (of: (row: Measurement) => number | undefined): number =>
    median(rows.map((row) => of(row) ?? Number.NaN));
  return {
    name,
    cpuUsPerOp: middle((row) => row.cpuUsPerOp),
    rssMb: middle((row) => row.rssMb),
    ms: middle((row) => row.ms),
  };
}

const nameOf = (at: number): string => `m${String(at).padStart(6, "0")}`;

function fill(server: Server, namespace: string, resource: Resource): Promise<void> {
  const path = pathOf(namespace, resource);
  return inParallel(server, objectsCount, (at) => requestBytes("POST", path, benchToken, bodyOf(resource, nameOf(at))));
}

/** Changes an annotation of the first `count` objects. */
function change(server: Server, namespace: string, resource: Resource, count: number): Promise<void> {
  const path = pathOf(namespace, resource);
  const body = JSON.stringify({ metadata: { annotations: { "bench/time": String(performance.now()) } } });
  return inParallel(server, count, (at) =>
    requestBytes("PATCH", `${path}/${nameOf(at)}`, benchToken, body, "application/merge-patch+json"),
  );
}

const connections = 16;

/** Sends `count` requests over several connections. */
async function inParallel(server: Server, count: number, request: (at: number) => Buffer): Promise<void> {
  let next = 0;
  const loops = Array.from({ length: Math.min(connections, count) }, async () => {
    const connection = await Connection.open(server);
    while (next < count) {
      const { code } = await connection.request(request(next++));
      if (code >= 300) throw new Error(`the server answered ${code}`);
    }
    connection.close();
  });
  await Promise.all(loops);
}

const bodyOf = (resource: Resource, name: string): string =>
  JSON.stringify(resource === "pods" ? podOf(name) : configMapOf(name));

const configMapOf = (name: string): object => ({ metadata: { name }, data: { filler: "x".repeat(880) } });

/** Returns a pod as a Deployment makes it, with two containers. */
const podOf = (name: string): object => ({
  metadata: { name, labels: { app: "cart", tier: "front", "pod-template-hash": "5d78c9869d" } },
  spec: {
    containers: ["cart", "proxy"].map((container) => ({
      name: container,
      image: `registry.example.com/shop/${container}:1.4.2`,
      args: ["--verbose", "--port=8080"],
      env: ["HOME", "LANG", "REGION", "TEAM"].map((variable) => ({ name: variable, value: `value of ${variable}` })),
      ports: [{ name: "http", containerPort: 8080 }],
      resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "256Mi" } },
      livenessProbe: { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 10 },
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    })),
    volumes: [{ name: "data", emptyDir: {} }],
  },
});

if (import.meta.main) await runAlone(clientSuite);
