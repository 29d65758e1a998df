/**
 * Servers for tests over real HTTP: one per domain and file, in memory, on free ports, with the gates and versions that
 * the reference kinds need. Tests use Kubernetes' names; the client translates them to the domain.
 *
 * With TEST_SERVER=https://host:port the suites run against that server in the domain k8s.io, to verify expectations
 * against a 1.32 server. It must know the tokens below (`admin-token,admin,admin-uid, system:masters` and so on). Tests
 * of specification differences, and tests that start servers, are then skipped.
 *
 * `npm run test:client` runs the tests of the client library against the server of a kubeconfig (`TEST_KUBECONFIG`), which
 * has no known users: tests impersonate them.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Credential } from "#client/connection-settings.ts";
import type { ServerSettings } from "#server/options.ts";
import type { ServerEnvironment } from "#server/start-server.ts";
import { Client, type Endpoint, patienceMs } from "./client.ts";
import { MovingClock } from "./moving-clock.ts";
import { namespace, namespaces, type NamespacePaths, namespacePaths } from "./objects.ts";
import type { Rename } from "./view.ts";

/*
 * The functions that start servers, and the tests for which each is meant:
 *
 *     suite           the usual case: the tests of a file share a server in each domain
 *     withOwnServer   one test in each domain, with a server of its own, such as tests of options
 *     usingServer     a server in one domain for a part of a test; closes it
 *     usingObserved   the same, for tests that read the log or advance the time
 *     openServer      several servers, restarts, an environment of its own; the caller closes it
 *     observed        the same as openServer, for tests that read the log or advance the time
 *     anyServer       tests with another client than `Api`, also against TEST_SERVER; the caller closes it
 */

export const domains = ["k8s.io", "platform.io"] as const;
export type Domain = (typeof domains)[number];

/** The URL of the server of TEST_SERVER. */
const external = process.env["TEST_SERVER"];
/** The path of the kubeconfig that `npm run test:client` has written, with one cluster and one user. */
const givenKubeconfig = process.env["TEST_KUBECONFIG"];
/** The domains of the servers of this run. The script says which one that of the kubeconfig has. */
const testedDomains: readonly Domain[] =
  givenKubeconfig !== undefined
    ? domains.filter((domain) => domain === process.env["TEST_DOMAIN"])
    : external === undefined
      ? domains
      : ["k8s.io"];

/** Whether tests start their servers, instead of using one that was there before. */
export const startsServers = external === undefined && givenKubeconfig === undefined;

/** The lines of the token file: token, user, uid, groups. */
export const tokenLines = [
  "admin-token,admin,admin-uid,system:masters",
  "alice-token,alice,alice-uid,developers",
  "bob-token,bob,bob-uid",
  "carol-token,carol,carol-uid,auditors",
];

const tokens = Object.fromEntries(tokenLines.map((line) => [line.split(",")[1]!, line.split(",")[0]!]));

/**
 * Returns the function that translates Kubernetes' names to `domain`. The rules are written here again on purpose,
 * since tests do not trust those of the server.
 */
export function renamer(domain: Domain): Rename {
  if (domain === "k8s.io") return (text) => text;
  return (text) =>
    text
      .replaceAll("kubernetes.io", domain)
      .replaceAll("k8s.io", domain)
      .replaceAll("io.k8s.", "io.platform.")
      .replace(/\bkube-(system|public|node-lease)\b/g, "platform-$1");
}

/** The settings for tests of the specification's rows, except those for a "default server". */
export const gated: ServerSettings = {
  featureGates: ["VolumeAttributesClass=true", "DynamicResourceAllocation=true", "RecoverVolumeExpansionFailure=true"],
  runtimeConfig: ["storage.k8s.io/v1beta1=true", "resource.k8s.io/v1beta1=true"],
};

export interface TestServer {
  readonly domain: Domain;
  readonly url: string;
  /** The certificate authority of the serving certificate in PEM; empty for the server of TEST_SERVER. */
  readonly ca: string;
  /** The text of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly endpoint: Endpoint;
  /** The credential of an administrator, if the server does not know the tokens of the endpoint. */
  readonly admin?: Credential;
  /** The clock, if the time of the server can be advanced. */
  readonly clock?: MovingClock;
  /** Stops the server. Before, the connections of this endpoint are closed, unless `keepConnections` is set. */
  close(options?: { readonly keepConnections: boolean }): Promise<void>;
}

/** The folders that this process has created. They are deleted at its end. */
const folders: string[] = [];

/** Creates an empty folder in the system's temporary folder. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-test-"));
  folders.push(folder);
  return folder;
}

process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Creates a file with this text in a folder of its own. Returns its path. */
export function file(name: string, text: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

/** Creates a token file with the lines above, or with other lines. Returns its path. */
export function tokenFile(lines: readonly string[] = tokenLines): string {
  return file("tokens.csv", `${lines.join("\n")}\n`);
}

/** Prints log lines about errors, which belong to the output of a test. Other lines are dropped. */
function showErrors(line: string): void {
  if (line.includes('"level":"error"')) process.stderr.write(line);
}

/**
 * The controllers for suites that manage objects themselves. Suites count the config maps that they created, so the
 * server must not add one to each namespace. They name owners that do not exist, write Endpoints, slices and the status
 * of budgets by hand, and delete pods of nodes that do not exist. `test/controllers/` tests the controllers that are
 * off here.
 */
export const ownObjectsOnly = [
  "*",
  "-root-ca-certificate-publisher-controller",
  "-garbage-collector-controller",
  "-disruption-controller",
  "-endpoints-controller",
  "-endpointslice-controller",
  "-endpointslice-mirroring-controller",
  "-pod-garbage-collector-controller",
];

/** Functions that end running servers. A server that a failed test left open would prevent the end of its file. */
export const leftOpen = new Set<() => unknown>();
after(async () => {
  for (const end of leftOpen) await end();
});

/**
 * Starts a server in this process, in memory or in a new folder unless one is named. The caller closes it; otherwise it
 * is closed at the end of the file.
 */
export async function openServer(
  domain: Domain,
  settings: ServerSettings = gated,
  environment: ServerEnvironment = {},
): Promise<TestServer> {
  const rename = renamer(domain);
  const renamed = JSON.parse(rename(JSON.stringify(settings))) as ServerSettings; // the same shape with other names
  // The modules are loaded on demand, since tests of another server run without ours.
  const { startServer } = await import("#server/start-server.ts");
  const { openLog } = await import("#std/log.ts");
  const own = {
    apiDomain: domain,
    storage: "memory",
    securePort: 0,
    tokenAuthFile: tokenFile(),
    controllers: ownObjectsOnly,
  } as const;
  const log = openLog({ format: "json", verbosity: 0, write: showErrors });
  const folder = renamed.storage === "disk" ? { dataDir: join(temporaryFolder(), "data") } : {};
  const running = await startServer({ ...own, ...folder, ...renamed }, { log, ...environment });
  const { url, ca } = running;
  const endpoint = endpointOf(url, new https.Agent({ keepAlive: true, ca, maxSockets: 256 }), rename);
  const close: TestServer["close"] = async ({ keepConnections } = { keepConnections: false }) => {
    leftOpen.delete(close);
    if (!keepConnections) endpoint.agent.destroy();
    await running.close();
  };
  leftOpen.add(close);
  return {
    domain,
    url,
    ca,
    kubeconfig: running.kubeconfig,
    endpoint,
    ...(environment.clock instanceof MovingClock ? { clock: environment.clock } : {}),
    close,
  };
}

export function endpointOf(url: string, agent: https.Agent, rename: Rename): Endpoint {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), agent, rename, tokens };
}

function externalServer(url: string): TestServer {
  const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 256 });
  return {
    domain: "k8s.io",
    url,
    ca: "",
    kubeconfig: JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: url, "insecure-skip-tls-verify": true } }],
      users: [{ name: "u", user: { token: tokens["admin"] } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
    endpoint: endpointOf(url, agent, renamer("k8s.io")),
    close: () => Promise.resolve(agent.destroy()),
  };
}

/** The parts of a kubeconfig that the script writes. */
interface GivenKubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
}

function givenServer(path: string): TestServer {
  const kubeconfig = readFileSync(path, "utf8");
  const { clusters, users } = JSON.parse(kubeconfig) as GivenKubeconfig;
  const text = (base64 = ""): string => Buffer.from(base64, "base64").toString();
  const { server: url = "", "certificate-authority-data": ca } = clusters[0].cluster;
  const { token, "client-certificate-data": cert, "client-key-data": key } = users[0].user;
  const agent = new https.Agent();
  return {
    domain: testedDomains[0]!,
    url,
    ca: text(ca),
    kubeconfig,
    endpoint: endpointOf(url, agent, renamer(testedDomains[0]!)),
    admin: cert === undefined ? { token: token ?? "" } : { certificate: { cert: text(cert), key: text(key) } },
    close: () => Promise.resolve(agent.destroy()),
  };
}

/** Returns the server that this run was given, or else what `start` starts. */
async function givenOr(start: () => Promise<TestServer>): Promise<TestServer> {
  if (givenKubeconfig !== undefined) return givenServer(givenKubeconfig);
  return external === undefined ? start() : externalServer(external);
}

/** A client of one server for one test. */
export class Api extends Client {
  readonly server: TestServer;
  readonly domain: Domain;

  constructor(server: TestServer) {
    super(server.endpoint);
    this.server = server;
    this.domain = server.domain;
  }

  /** Translates a name to the domain. */
  name(text: string): string {
    return this.endpoint.rename(text);
  }

  /** Lets time pass for the server. For the server of TEST_SERVER, this is real time. */
  async pass(ms: number): Promise<void> {
    if (this.server.clock === undefined) await sleep(ms);
    else this.server.clock.advance(ms);
  }

  /** Returns a unique name. */
  unique(prefix = "t"): string {
    return `${prefix}-${randomBytes(5).toString("hex")}`;
  }

  /** Creates a namespace, and returns the paths of its collections. */
  async createNamespace(): Promise<NamespacePaths> {
    const ns = this.unique("ns");
    (await this.post(namespaces, namespace(ns))).expect(201);
    return namespacePaths(ns);
  }
}

export interface Observed {
  readonly api: Api;
  readonly clock: MovingClock;
  /** The lines of the server's log so far. */
  readonly logged: string[];
  close(): Promise<void>;
}

/** Runs a part of a test with a server whose log is read and whose time is advanced, and closes the server. */
export async function usingObserved(
  domain: Domain,
  settings: ServerSettings,
  run: (on: Observed) => Promise<void>,
  clock?: MovingClock,
): Promise<void> {
  const on = await startObserved(domain, settings, clock);
  try {
    await run(on);
  } finally {
    await on.close();
  }
}

/**
 * Starts a server whose log is read and whose time is advanced. The caller closes it; `usingObserved` is shorter if
 * only `run` closes it.
 */
export async function startObserved(
  domain: Domain,
  settings: ServerSettings,
  clock: MovingClock = new MovingClock(),
): Promise<Observed> {
  const { openLog } = await import("#std/log.ts");
  const logged: string[] = [];
  const log = openLog({ format: "json", verbosity: 6, write: (line) => logged.push(line) });
  const server = await openServer(domain, { ...gated, ...settings }, { clock, log });
  const api = new Api(server);
  return {
    api,
    clock,
    logged,
    async close() {
      api.close();
      await server.close();
    },
  };
}

/** Registers one test in each domain, with a server of its own, for tests of options. */
type OwnServers = (name: string, settings: ServerSettings, run: (api: Api, t: TestContext) => Promise<void>) => void;

interface Difference {
  /** The difference between this server, by the specification or on purpose, and a 1.32 server. */
  readonly differs?: string;
  /** The thing that a server of a kubeconfig does not have: "users with known tokens". */
  readonly needs?: string;
}

/** Registers one test in each domain. All tests of a file share its servers. */
type InBothDomains = (name: string, run: (api: Api, t: TestContext) => Promise<void>, difference?: Difference) => void;

/** Makes the servers of a test file, which start at their first use and are closed at its end. */
export function suite(settings?: ServerSettings): InBothDomains {
  const servers = new Map<Domain, Promise<TestServer>>();
  const serverOf = (domain: Domain): Promise<TestServer> => {
    let server = servers.get(domain);
    if (server === undefined) {
      const clock = new MovingClock();
      server = givenOr(() => openServer(domain, settings, { clock }));
      servers.set(domain, server);
    }
    return server;
  };
  after(async () => {
    for (const server of servers.values()) await (await server).close();
  });
  return (name, run, difference = {}) => {
    for (const domain of testedDomains) {
      const skip = skipReason(settings, difference);
      test(`${domain}: ${name}`, skip === undefined ? {} : { skip }, async (t) => {
        const api = new Api(await serverOf(domain));
        try {
          await run(api, t);
        } finally {
          api.close();
        }
      });
    }
  };
}

/** Returns the server of TEST_SERVER, or a new one, for suites with a client of their own. */
export function anyServer(domain: Domain): Promise<TestServer> {
  return givenOr(() => openServer(domain));
}

/** Does the same as `suite`, with a server of its own for each test. */
export const withOwnServer: OwnServers = (name, settings, run) => {
  for (const domain of startsServers ? domains : []) {
    test(`${domain}: ${name}`, (t) => usingServer(domain, settings, (api) => run(api, t)));
  }
};

/** Runs a part of a test with a server of its own, and closes the server. */
export async function usingServer(
  domain: Domain,
  settings: ServerSettings,
  run: (api: Api) => Promise<void>,
): Promise<void> {
  const server = await openServer(domain, settings);
  const api = new Api(server);
  try {
    await run(api);
  } finally {
    api.close();
    await server.close();
  }
}

function skipReason(settings: ServerSettings | undefined, { differs, needs }: Difference): string | undefined {
  if (startsServers) return undefined;
  if (needs !== undefined && givenKubeconfig !== undefined) return `needs ${needs}`;
  if (settings !== undefined) return "needs a server with options of its own";
  return differs === undefined ? undefined : `differs from a 1.32 server: ${differs}`;
}

/** Repeats `work` until it does not throw. Throws its last error when this takes too long. */
export async function eventually<T>(work: () => Promise<T>, withinMs: number = patienceMs): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
