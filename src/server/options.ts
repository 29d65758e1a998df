/**
 * All options of a server in one table, which yields the type, command line, configuration file, help and checks. Flags
 * have kube-apiserver's names where it has them; our own are in the group `Binnacle`.
 */
import {
  boolean,
  bytes,
  choice,
  duration,
  fraction,
  inert,
  integer,
  list,
  optional,
  type OptionsOf,
  parseArguments,
  printHelp,
  readConfig,
  type Settings,
  text,
  withShort,
} from "#std/flags.ts";
import { aggregationFlags } from "./aggregation/flags.ts";
import { externalAuthenticationFlags } from "./authentication/external-flags.ts";
import { authenticationFlags } from "./authentication/flags.ts";
import { authorizationFlags } from "./authorization/flags.ts";
import { encryptionFlags } from "./encryption/flags.ts";
import { webhookFlags } from "./admission/webhook-flags.ts";
import { controllerFlags } from "./controllers/flags.ts";
import { controllerName } from "./controllers/names.ts";
import { connectionFlags } from "./connection-limits.ts";
import { historyFlag } from "./history-flag.ts";
import { fairnessFlags } from "./flow-control-flags.ts";
import { serviceFlags } from "./service-flags.ts";
import { auditFlags } from "./audit/flags.ts";
import { StartError } from "#std/start-error.ts";

const count = { min: 0, max: 1_000_000_000 };
const minuteMs = 60_000;

const inMemory = "reads and watches always come from memory; --history-memory bounds it";

const own = (name: string) => [name, "Binnacle"] as const;
const generic = (name: string) => [name, "Generic"] as const;
const storage = (name: string) => [name, "Etcd"] as const;
const secure = (name: string) => [name, "Secure serving"] as const;

export const serverFlags = {
  apiDomain: text(
    own("api-domain"),
    "platform.io",
    "name",
    "Vendor part of API group and label names; k8s.io gives Kubernetes' exact names. Fixed in the data folder by the first start.",
  ),
  config: optional(own("config"), "file", "YAML file with these flags' names as keys. The command line wins."),
  dataDir: text(own("data-dir"), "./.binnacle", "folder", "Where objects, certificates and credentials are kept."),
  storage: choice(own("storage"), "disk", ["disk", "memory"], "Where objects live; memory forgets them at the end."),
  acceptDataLoss: boolean(
    own("accept-data-loss"),
    false,
    "Start although writes or keys are missing from the data folder, without them; for one start, after its refusal said which.",
  ),
  tlsSan: list(
    own("tls-san"),
    "names",
    "More host names and addresses for the serving certificate made at start.",
    (name) => (/^[A-Za-z0-9*_.:-]{1,253}$/.test(name) ? undefined : "must be a host name or an address"),
  ),
  historyDurationMs: duration(
    own("history-duration"),
    5 * minuteMs,
    "How long superseded versions stay readable and watches can resume; shorter where that is a gigabyte, or of an earlier process.",
  ),
  history: historyFlag(own("history")),
  compactionIntervalMs: duration(
    own("compaction-interval"),
    5 * minuteMs,
    "How often older history is dropped; 0 for never.",
  ),
  historyMemoryBytes: bytes(
    own("history-memory"),
    64 * 2 ** 20,
    2 ** 20,
    "Memory for superseded versions and recent events; older ones are read from disk.",
  ),
  objectBytesMax: bytes(
    own("max-object-size"),
    3 * 2 ** 19,
    2 ** 16,
    "Most bytes of one stored object, as JSON; what becomes larger is refused with 413.",
  ),
  upstreamTiming: boolean(
    own("upstream-timing"),
    false,
    "For test suites that are tuned to etcd: 6 ms between the two writes of a deletion, and reads without a version wait until the newest write is 5 ms old. The kube-apiserver of binnacle envtest has it on.",
  ),
  ...connectionFlags,
  controllers: list(
    own("controllers"),
    "names",
    "Controllers to run: * for all that are on by default, name for one, -name for all but one, -* for none. Off by default: bootstrap-signer-controller, token-cleaner-controller.",
    (entry) =>
      entry === "*" || entry === "-*" || controllerName(entry.replace(/^-/, "")) !== undefined
        ? undefined
        : "not in the list of known controllers",
  ),

  corsAllowedOrigins: list(
    generic("cors-allowed-origins"),
    "expressions",
    "Origins allowed for CORS, as regular expressions that must match the whole origin or its part.",
    (expression) => (isRegExp(expression) ? undefined : "must be a regular expression"),
  ),
  externalHostname: optional(generic("external-hostname"), "name", "Name under which clients reach this server."),
  featureGates: list(generic("feature-gates"), "Name=true,...", "Switches features on or off."),
  goawayChance: fraction(
    generic("goaway-chance"),
    0,
    { min: 0, max: 0.02 },
    "Share of HTTP/2 requests that tell the client to open a new connection.",
  ),
  livezGracePeriodMs: duration(
    generic("livez-grace-period"),
    0,
    "Time after start in which /livez does not wait for what start-up still has to finish.",
  ),
  minRequestTimeoutSeconds: integer(
    generic("min-request-timeout"),
    1800,
    { min: 1, max: 1_000_000 },
    "Least seconds before a watch is ended; each lasts a random time between this and twice this.",
  ),
  requestTimeoutMs: duration(generic("request-timeout"), minuteMs, "How long a request other than a watch may take."),
  shutdownDelayMs: duration(
    generic("shutdown-delay-duration"),
    0,
    "Time between the signal to stop and the end of service; /readyz fails during it.",
  ),
  shutdownSendRetryAfter: boolean(
    generic("shutdown-send-retry-after"),
    false,
    "Answer requests that arrive after the delay with 429 and Retry-After until running ones have ended.",
  ),
  strictTransportSecurity: list(
    generic("strict-transport-security-directives"),
    "directives",
    "Content of the Strict-Transport-Security header.",
    (directive) =>
      /^(?:max-age=\d+|includeSubDomains|preload)$/.test(directive)
        ? undefined
        : "must be max-age=seconds, includeSubDomains or preload",
  ),

  ...encryptionFlags,
  etcdServers: inert(
    list(storage("etcd-servers"), "urls", "Servers of etcd that keep the objects."),
    "this server keeps the objects itself",
  ),
  watchCache: inert(boolean(storage("watch-cache"), true, "Serve reads and watches from memory."), inMemory),
  watchCacheSizes: inert(
    list(storage("watch-cache-sizes"), "resource[.group]#size,...", "Recent events kept per resource.", (entry) =>
      /^[a-z0-9.-]+#\d{1,9}$/.test(entry) ? undefined : "must be resource[.group]#size",
    ),
    inMemory,
  ),
  defaultWatchCacheSize: inert(
    integer(storage("default-watch-cache-size"), 100, count, "Recent events kept per resource without its own size."),
    inMemory,
  ),
  deleteCollectionWorkers: inert(
    integer(
      storage("delete-collection-workers"),
      1,
      { min: 1, max: 1000 },
      "Objects a delete of a collection removes at the same time.",
    ),
    "deletions wait for nobody, and share their syncs",
  ),

  bindAddress: text(secure("bind-address"), "127.0.0.1", "ip", "Address to listen on; 0.0.0.0 or :: for all."),
  securePort: integer(secure("secure-port"), 6443, { min: 0, max: 65_535 }, "Port for HTTPS; 0 takes a free one."),
  certDir: optional(
    secure("cert-dir"),
    "folder",
    "Folder whose apiserver.crt and apiserver.key are used where --tls-cert-file is not given. Nothing is written to it.",
  ),
  tlsCertFile: optional(
    secure("tls-cert-file"),
    "file",
    "Serving certificate (PEM, with its chain). Made at start when not given.",
  ),
  tlsPrivateKeyFile: optional(secure("tls-private-key-file"), "file", "Key of --tls-cert-file (PEM)."),
  tlsMinVersion: choice(
    secure("tls-min-version"),
    "VersionTLS12",
    ["VersionTLS12", "VersionTLS13"],
    "Oldest TLS version accepted.",
  ),
  tlsCipherSuites: list(
    secure("tls-cipher-suites"),
    "names",
    "Cipher suites for TLS 1.2 by their IANA names. Default: Node's.",
  ),
  http2MaxStreams: integer(
    secure("http2-max-streams-per-connection"),
    0,
    { min: 0, max: 1_000_000 },
    "Most requests at a time on one HTTP/2 connection; 0 for the server's own choice (100).",
  ),
  disableHttp2: boolean(secure("disable-http2-serving"), false, "Speak HTTP/1.1 only."),

  ...authenticationFlags,
  ...externalAuthenticationFlags,
  ...authorizationFlags,
  ...auditFlags,
  ...fairnessFlags,
  ...controllerFlags,
  ...serviceFlags,
  ...webhookFlags,

  runtimeConfig: list(
    ["runtime-config", "API enablement"],
    "key[=bool],...",
    "API versions and resources to serve: group/version, group/version/resource, api/all, api/ga, api/beta, api/alpha.",
    (entry) => (/^[^=]+(?:=(?:true|false|1|0|t|f|))?$/i.test(entry) ? undefined : "must be key, key=true or key=false"),
  ),

  enableAdmissionPlugins: list(
    ["enable-admission-plugins", "Admission"],
    "names",
    "Admission plugins to run beside the default ones; the log names those that this server does not have.",
    unknownPlugin,
  ),
  disableAdmissionPlugins: list(
    ["disable-admission-plugins", "Admission"],
    "names",
    "Default admission plugins not to run.",
    unknownPlugin,
  ),
  admissionControlConfigFile: optional(
    ["admission-control-config-file", "Admission"],
    "file",
    "AdmissionConfiguration: settings of admission plugins. ImagePolicyWebhook needs it.",
  ),

  defaultNotReadyTolerationSeconds: integer(
    ["default-not-ready-toleration-seconds", "Misc"],
    300,
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    "How long new pods that do not say it stay on a node that is not ready.",
  ),
  defaultUnreachableTolerationSeconds: integer(
    ["default-unreachable-toleration-seconds", "Misc"],
    300,
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    "How long new pods that do not say it stay on a node that cannot be reached.",
  ),

  verbosity: withShort(
    integer(
      ["v", "Logs"],
      0,
      { min: 0, max: 10 },
      "How much to log: 0 starts, stops and problems, 4 every request as well, 6 details.",
    ),
    "v",
  ),
  loggingFormat: choice(
    ["logging-format", "Logs"],
    "auto",
    ["auto", "json", "text"],
    "Form of log lines; auto is text on a terminal and JSON elsewhere.",
  ),

  allowPrivileged: inert(
    boolean(["allow-privileged", "Misc"], false, "Whether containers may be privileged."),
    "no pod is refused for it",
  ),
  ...aggregationFlags,
  eventTtlMs: duration(["event-ttl", "Misc"], 60 * minuteMs, "How long events are kept."),
};

/** The complete, validated options of a server. Durations are milliseconds unless the name says otherwise. */
export type ServerOptions = OptionsOf<typeof serverFlags>;

/** Some of the options; the rest keeps its default. */
export type ServerSettings = Settings<typeof serverFlags>;

export interface ServeArguments {
  readonly settings: ServerSettings;
  readonly help: boolean;
  readonly rest: readonly string[];
}

/** Settings of a command line. Throws `StartError`. */
export const parseServeArguments = (args: readonly string[]): ServeArguments => parseArguments(serverFlags, args);

/** Help of all flags for a terminal `width` columns wide. */
export const serveHelp = (width: number): string => printHelp(serverFlags, width);

/** Settings of a configuration file's text. js-yaml is loaded only when there is such a file. Throws `StartError`. */
export async function readConfigFile(file: string, content: string): Promise<ServerSettings> {
  if (content.trim() === "") return {};
  const { load } = await import("js-yaml");
  let config: unknown;
  try {
    config = load(content);
  } catch (error) {
    throw new StartError(`${file}: not YAML: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
  }
  const settings = readConfig(serverFlags, file, config);
  if (settings.config !== undefined) throw new StartError(`${file}: a configuration file cannot name another`);
  return settings;
}

/** Completes settings with the defaults, later layers winning, and checks what concerns several of them. */
export function resolveOptions(...layers: readonly ServerSettings[]): ServerOptions {
  const defaults = Object.fromEntries(Object.entries(serverFlags).map(([key, flag]) => [key, flag.default]));
  for (const name of layers.flatMap((layer) => Object.keys(layer))) {
    if (!Object.hasOwn(serverFlags, name)) throw new StartError(`unknown option ${JSON.stringify(name)}`);
  }
  const options = Object.assign(defaults, ...layers) as ServerOptions; // defaults hold every key
  if ((options.tlsCertFile === undefined) !== (options.tlsPrivateKeyFile === undefined)) {
    throw new StartError("--tls-cert-file and --tls-private-key-file must be given together");
  }
  if ((options.proxyClientCertFile === undefined) !== (options.proxyClientKeyFile === undefined)) {
    throw new StartError("--proxy-client-cert-file and --proxy-client-key-file must be given together");
  }
  if (options.history !== undefined && options.storage === "memory") {
    throw new StartError("--history needs --storage=disk: a store in memory has what --history-memory has room for");
  }
  if (options.history !== undefined && options.compactionIntervalMs === 0) {
    throw new StartError("--history and --compaction-interval=0, which drops nothing, contradict each other");
  }
  if (options.enablePriorityAndFairness && options.maxRequestsInflight + options.maxMutatingRequestsInflight === 0) {
    throw new StartError(
      "--enable-priority-and-fairness needs --max-requests-inflight and --max-mutating-requests-inflight to give more than 0 together",
    );
  }
  if (!/^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(options.apiDomain)) {
    throw new StartError(
      `invalid value ${JSON.stringify(options.apiDomain)} for --api-domain: must be a DNS name such as platform.io`,
    );
  }
  return options;
}

/** One line for every given flag that has no effect. */
export function inertNotes(settings: ServerSettings): string[] {
  const keys = Object.keys(settings) as (keyof typeof serverFlags)[]; // settings have only the table's keys
  return keys.flatMap((key) => {
    const flag = serverFlags[key];
    return flag.inert === undefined ? [] : [`--${flag.name} does nothing yet: ${flag.inert}`];
  });
}

/** Upstream's admission plugins of this release. */
const admissionPlugins = new Set(
  (
    "AlwaysAdmit AlwaysDeny AlwaysPullImages CertificateApproval CertificateSigning CertificateSubjectRestriction " +
    "ClusterTrustBundleAttest DefaultIngressClass DefaultStorageClass DefaultTolerationSeconds DenyServiceExternalIPs " +
    "EventRateLimit ExtendedResourceToleration ImagePolicyWebhook LimitPodHardAntiAffinityTopology LimitRanger " +
    "MutatingAdmissionPolicy MutatingAdmissionWebhook NamespaceAutoProvision NamespaceExists NamespaceLifecycle " +
    "NodeRestriction OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize PodNodeSelector PodSecurity " +
    "PodTolerationRestriction Priority ResourceQuota RuntimeClass ServiceAccount StorageObjectInUseProtection " +
    "TaintNodesByCondition ValidatingAdmissionPolicy ValidatingAdmissionWebhook"
  ).split(" "),
);

function unknownPlugin(name: string): string | undefined {
  return admissionPlugins.has(name) ? undefined : "no such plugin";
}

function isRegExp(expression: string): boolean {
  try {
    new RegExp(expression);
    return true;
  } catch {
    return false;
  }
}
