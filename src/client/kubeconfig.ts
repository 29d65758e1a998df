/**
 * Reads kubeconfigs and turns a context of them into the settings of a connection. Files are found and merged as
 * kubectl does. Source: upstream's `clientcmd`; docs "Organizing Cluster Access Using kubeconfig Files".
 */
import { X509Certificate } from "node:crypto";
import { type Clock, systemClock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { ConnectionSettings, Impersonation } from "./connection-settings.ts";
import { credentialsOf, type ExecCluster, fixedCredentials } from "./credentials.ts";
import { hasInClusterAccount, type InClusterOptions, inClusterSettings } from "./kubeconfig/in-cluster.ts";
import { decodeKubeconfig } from "./kubeconfig/decode.ts";
import { readFiles, wantedFiles } from "./kubeconfig/read-files.ts";
import {
  type ClusterEntry,
  type ContextEntry,
  entryError,
  type Kubeconfig,
  KubeconfigError,
  pathBeside,
  type UserEntry,
} from "./kubeconfig-entries.ts";
import { WatchedFiles } from "./watched-file.ts";

export { inClusterSettings } from "./kubeconfig/in-cluster.ts";
export { type Kubeconfig, KubeconfigError } from "./kubeconfig-entries.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface LoadOptions {
  /**
   * A file, which must exist; or several in order of precedence, of which some may be missing. Default: the files of
   * the variable `KUBECONFIG`, or `~/.kube/config`, which may be missing.
   */
  readonly files?: string | readonly string[] | undefined;
  /** The environment; default: the process's. */
  readonly environment?: Environment;
}

interface SettingsOptions {
  /** The context; default: the current one. */
  readonly context?: string | undefined;
  /** The variables of plugins; default: the process's. */
  readonly environment?: Environment;
  /** The time; default: the machine's. */
  readonly clock?: Clock;
}

/** Reads files and merges them. Resolves with an empty kubeconfig if none of them exists. Rejects with `KubeconfigError`. */
export function loadKubeconfig({ files, environment = process.env }: LoadOptions = {}): Promise<Kubeconfig> {
  return readFiles(wantedFiles(files, environment));
}

/** Decodes a text. Relative paths in it begin at the current folder. Rejects with `KubeconfigError`. */
export function parseKubeconfig(text: string): Promise<Kubeconfig> {
  return decodeKubeconfig(text);
}

/**
 * Returns the settings of a connection as client-go does: from the files that are asked for, those of `KUBECONFIG`, or
 * `~/.kube/config`; without any, from the account of the pod in which this process runs. Rejects with
 * `KubeconfigError`.
 */
export async function defaultSettings(
  options: LoadOptions & SettingsOptions & Pick<InClusterOptions, "accountFolder"> = {},
): Promise<ConnectionSettings> {
  const { context = "" } = options;
  const kubeconfig = await loadKubeconfig(options);
  const isNothingChosen = context === "" && kubeconfig.currentContext === "" && !kubeconfig.clusters.has("");
  if (isNothingChosen && hasInClusterAccount(options)) return inClusterSettings(options);
  if (isNothingChosen && kubeconfig.contexts.size === 0) {
    const looked = [
      ...kubeconfig.files.map((file) => `${file} names no cluster`),
      ...kubeconfig.missing.map((file) => `${file} does not exist`),
      "this is no pod with an account in a cluster",
    ];
    throw new KubeconfigError(`no kubeconfig: ${looked.join(", and ")}; set KUBECONFIG to the path of one`);
  }
  return settingsOf(kubeconfig, options);
}

/**
 * Returns the settings of a context. Files of certificates and tokens are read once, so that mistakes show at once; a
 * plugin does not run yet. Rejects with `KubeconfigError`.
 */
export async function settingsOf(kubeconfig: Kubeconfig, options: SettingsOptions = {}): Promise<ConnectionSettings> {
  const { clock = systemClock, environment = process.env } = options;
  const { context, clusterName, cluster, userName, user } = choose(kubeconfig, options.context);
  const fail = (problem: string): Error => entryError("cluster", clusterName, cluster.origin, problem);
  const server = serverOf(cluster, fail);
  const ca = authoritiesOf(cluster, clock, fail);
  await ca?.();
  const { "tls-server-name": serverName = "", "disable-compression": isPlain = false } = cluster;
  const proxy = proxyOf(cluster, fail);
  const tls = {
    insecure: insecureOf(cluster, fail),
    ...(ca === undefined ? {} : { ca }),
    ...(serverName === "" ? {} : { serverName }),
  };
  const impersonate = impersonationOf(user, (problem) => entryError("user", userName, user.origin, problem));
  const told = (): Promise<ExecCluster> => execCluster(cluster, server, ca);
  const credentials = credentialsOf(user, { name: userName, cluster: told, clock, environment });
  if (user.exec === undefined) await credentials.current();
  return {
    server,
    tls,
    ...(proxy === undefined ? {} : { proxy }),
    ...(impersonate === undefined ? {} : { impersonate }),
    // Nobody is told a credential over a connection that others can read; kubectl does the same.
    credentials: server.protocol === "https:" ? credentials : fixedCredentials({}),
    compress: !isPlain,
    namespace: context.namespace || "default",
  };
}

interface Choice {
  readonly context: ContextEntry;
  readonly clusterName: string;
  readonly cluster: ClusterEntry;
  readonly userName: string;
  readonly user: UserEntry;
}

/** Finds the context, its cluster and its user. Without a context, the cluster without a name is meant. */
function choose({ contexts, clusters, users, currentContext, files }: Kubeconfig, asked = ""): Choice {
  const name = asked === "" ? currentContext : asked;
  const fail = (problem: string): Error => new KubeconfigError(`${files.join(", ") || "kubeconfig"}: ${problem}`);
  const context = name === "" ? (clusters.has("") ? {} : undefined) : contexts.get(name);
  if (context === undefined) {
    const known = contexts.size === 0 ? "it has no contexts" : `it has ${Array.from(contexts.keys()).join(", ")}`;
    throw fail(name === "" ? `no current-context: name a context; ${known}` : `no context ${quoted(name)}: ${known}`);
  }
  const { cluster: clusterName = "", user: userName = "" } = context;
  const cluster = clusters.get(clusterName);
  if (cluster === undefined) throw fail(`context ${quoted(name)}: there is no cluster ${quoted(clusterName)}`);
  const user = users.get(userName) ?? (userName === "" ? {} : undefined);
  if (user === undefined) throw fail(`context ${quoted(name)}: there is no user ${quoted(userName)}`);
  return { context, clusterName, cluster, userName, user };
}

const quoted = (name: string): string => JSON.stringify(name);

function serverOf({ server = "" }: ClusterEntry, fail: (problem: string) => Error): URL {
  const url = URL.parse(server);
  if (server === "") throw fail("server: must be set");
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw fail(`server: must be a URL such as https://${/^[\w.-]+(?::\d+)?$/.test(server) ? server : "10.0.0.1:6443"}`);
  }
  if (url.username !== "" || url.password !== "") throw fail("server: must not contain a user or a password");
  url.search = "";
  url.hash = "";
  return url;
}

const proxyProtocols = ["http:", "https:", "socks5:"];

function proxyOf(cluster: ClusterEntry, fail: (problem: string) => Error): URL | undefined {
  const { "proxy-url": text = "" } = cluster;
  if (text === "") return undefined;
  const url = URL.parse(text);
  if (url !== null && proxyProtocols.includes(url.protocol) && url.hostname !== "") return url;
  throw fail("proxy-url: must be a URL of http, https or socks5, such as socks5://127.0.0.1:1080");
}

function insecureOf(cluster: ClusterEntry, fail: (problem: string) => Error): boolean {
  const { "insecure-skip-tls-verify": insecure = false } = cluster;
  const hasAuthority = (cluster["certificate-authority-data"] ?? "") + (cluster["certificate-authority"] ?? "") !== "";
  if (insecure && hasAuthority) {
    throw fail("insecure-skip-tls-verify: must not be set together with a certificate authority: remove one of them");
  }
  return insecure;
}

function authoritiesOf(
  cluster: ClusterEntry,
  clock: Clock,
  fail: (problem: string) => Error,
): (() => MaybePromise<string>) | undefined {
  const { "certificate-authority-data": data = "", "certificate-authority": path = "", origin } = cluster;
  if (data !== "") {
    const pem = Buffer.from(data, "base64").toString();
    try {
      checkAuthorities(pem);
    } catch (error) {
      throw fail(`certificate-authority-data: ${(error as Error).message}`);
    }
    return () => pem;
  }
  if (path === "") return undefined;
  const watched = new WatchedFiles({
    files: [pathBeside(origin, path)],
    clock,
    fail: (problem) => fail(`certificate-authority: ${problem}`),
    parse: ([pem = ""]) => checkAuthorities(pem),
  });
  return () => watched.read();
}

function checkAuthorities(pem: string): string {
  try {
    new X509Certificate(pem);
  } catch {
    throw new Error("the certificate authority is not PEM");
  }
  return pem;
}

function impersonationOf(user: UserEntry, fail: (problem: string) => Error): Impersonation | undefined {
  const { as = "", "as-uid": uid = "", "as-groups": groups = [], "as-user-extra": extra = {} } = user;
  if (as === "") {
    if (uid === "" && groups.length === 0 && Object.keys(extra).length === 0) return undefined;
    throw fail("as-uid, as-groups and as-user-extra need a user: set as");
  }
  return { user: as, ...(uid === "" ? {} : { uid }), groups, extra };
}

async function execCluster(
  cluster: ClusterEntry,
  server: URL,
  ca: (() => MaybePromise<string>) | undefined,
): Promise<ExecCluster> {
  const { "tls-server-name": serverName = "", "proxy-url": proxy = "", extensions = [] } = cluster;
  return {
    server: server.pathname === "/" ? (cluster.server ?? "") : server.href,
    ...(serverName === "" ? {} : { "tls-server-name": serverName }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { "insecure-skip-tls-verify": true } : {}),
    ...(ca === undefined ? {} : { "certificate-authority-data": Buffer.from(await ca()).toString("base64") }),
    ...(proxy === "" ? {} : { "proxy-url": proxy }),
    ...(cluster["disable-compression"] === true ? { "disable-compression": true } : {}),
    configOf: (domain) =>
      extensions.find(({ name }) => name === `client.authentication.${domain}/exec`)?.extension ?? null,
  };
}
