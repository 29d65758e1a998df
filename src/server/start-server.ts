/**
 * Starts and stops a server. Everything is checked before anything is written, the port is taken before the store is
 * opened, and there is no global state, so several servers can run in one process. `assemble.ts` composes the request
 * handling.
 */
import { join, resolve } from "node:path";
import type { ServiceAddress } from "#egress/service-address.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { Health } from "#http/health.ts";
import type { Listener } from "#transport/listener.ts";
import { largeBytes as measuredLargeBytes } from "#http/large-requests.ts";
import { RequestMetrics } from "#http/request-metrics.ts";
import { type ApiDomain, apiDomain } from "#meta/api-domain.ts";
import { serviceUnavailable } from "#meta/status-error.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import { type Log, silentLog } from "#std/log.ts";
import { Metrics } from "#std/metrics.ts";
import { type Random, systemRandom } from "#std/random.ts";
import { StorageFailure } from "#storage/log-store.ts";
import type { StoreMaintenance } from "#storage/opened-store.ts";
import type { StorageFaults } from "#storage/sqlite.ts";
import { assemble, isServed } from "./assemble.ts";
import type { AssembleConfig, Assembled, Plans } from "./assemble-config.ts";
import type { AuditParts } from "./audit.ts";
import { planAdmission } from "./admission/plan.ts";
import { readProxyClient } from "./aggregation/proxy-client.ts";
import { planAuthentication } from "./authentication/plan.ts";
import { planAuthorization } from "./authorization/plan.ts";
import { externalUrl } from "./authentication/service-account-issuer.ts";
import { ClientTrust } from "./authentication/client-trust.ts";
import { withConsole } from "./console.ts";
import { servesConsole } from "./console/flags.ts";
import { readControllerCredentials } from "./controllers/credentials.ts";
import { leaseTimes } from "./controllers/election.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import { checkDataFolder, type Holding, markDataFolder, type Marker } from "./data-folder.ts";
import { planEgress } from "./egress.ts";
import type { Egress } from "./egress/ways.ts";
import { openEncryption, planEncryption } from "./encryption.ts";
import type { EncryptionPlan } from "./encryption/encryption.ts";
import { type Backup, type Compact, serverEndpoints } from "./endpoints.ts";
import { addHealthChecks, healthFailures } from "./health-checks.ts";
import { healthMetrics } from "./health-metrics.ts";
import { adminKubeconfig } from "./kubeconfig.ts";
import type { Instruments } from "./instruments.ts";
import { beginToListen, listen } from "./listener.ts";
import { shownMetrics } from "./metrics/flags.ts";
import { withPlaneHosts } from "./plane-flags.ts";
import { resolveOptions, type ServerOptions, type ServerSettings } from "./options.ts";
import { addProcessMetrics } from "./process-metrics.ts";
import { dividedBounds } from "./divided-bounds.ts";
import { keepsFolder, type ServingProcess } from "./processes.ts";
import { programVersion } from "./program-version.ts";
import {
  type CredentialSources,
  keepRenewed,
  readServingCredentials,
  type ServingCredentials,
  withCertDir,
  writeCredentials,
} from "./credentials/serving.ts";
import { readKubeletClient } from "./nodes/kubelet-client.ts";
import { hostOf } from "./credentials/server-trust.ts";
import type { Peers } from "./peers.ts";
import type { Planes } from "./planes.ts";
import { planKinds } from "./served-kinds.ts";
import { clusterIpRanges } from "./services.ts";
import { isOnEtcd, isSharedFolder, openStore } from "./open-store.ts";
import { openServerLog } from "./server-log.ts";
import { SharedParts } from "./shared-parts.ts";
import { asStartError } from "./store.ts";
import { tlsSettings } from "./credentials/tls-settings.ts";
import { checkGatedFlags } from "./gated-flags.ts";
import { zPages } from "./z-pages.ts";

export { SharedParts };

/** The surroundings of the server; by default those of the machine. */
export interface ServerEnvironment {
  readonly clock?: Clock;
  readonly random?: Random;
  /**
   * A log of the caller, or `stderr` for the log of the program in the format of the options; without a log the server
   * is silent.
   */
  readonly log?: Log | "stderr";
  /** Requests whose bodies or objects have more bytes are handled in threads. Tests use a smaller limit. */
  readonly largeBytes?: number;
  /** Faults that tests inject into the store. */
  readonly storageFaults?: StorageFaults;
  /** Returns the address to which a connection to a node, or to the target of a proxy, goes instead. Tests use it. */
  readonly route?: (address: ServiceAddress) => ServiceAddress;
  /** The parts that this server shares with others of the process that get the same object; closed after all of them. */
  readonly shared?: SharedParts;
  /** The hooks of the test kit in the server. */
  readonly instruments?: Instruments;
  /** This process as one of several that serve together, which `binnacle serve` starts. */
  readonly processes?: ServingProcess;
}

export interface RunningServer {
  readonly options: ServerOptions;
  /** The URL as `https://host:port`, reachable from this machine. */
  readonly url: string;
  readonly address: string;
  readonly port: number;
  /** The certificate that clients must trust, as PEM; empty for a public authority. */
  readonly ca: string;
  /** The credentials of a user in `system:masters`. */
  readonly admin: { readonly token: string; readonly certificate: string; readonly key: string };
  /** The text of a kubeconfig with these credentials. */
  readonly kubeconfig: string;
  /** The path of the kubeconfig; `undefined` when none was written. */
  readonly kubeconfigFile: string | undefined;
  /**
   * Shuts down gracefully: `/readyz` fails at once, the shutdown delay passes, running requests end, watches are
   * closed, and acknowledged writes are on disk. Repeated calls return the promise of the first call.
   */
  close(): Promise<void>;
}

/**
 * Starts a server. Rejects with `StartError` when it cannot start; in this case nothing was written. A server in memory
 * writes nothing, except its credentials when `dataDir` is set.
 */
export async function startServer(
  settings: ServerSettings = {},
  environment: ServerEnvironment = {},
): Promise<RunningServer> {
  const { clock = systemClock, random = systemRandom, largeBytes = measuredLargeBytes } = environment;
  const given = withPlaneHosts(withCertDir(resolveOptions(settings)));
  const options = dividedBounds(given, processCount(given, environment));
  const folder = options.storage === "memory" && settings.dataDir === undefined ? undefined : resolve(options.dataDir);
  const domain = apiDomain(options.apiDomain);
  const marker = folder === undefined ? undefined : checkDataFolder(folder, options.apiDomain);
  const isUsed = marker !== undefined;
  const isKeeper = keepsFolder(environment.processes);
  const { shared } = environment;
  const inputs = await readInputs({ options, folder, isUsed, isKeeper, clock, random, shared }, domain, marker);
  const egress = await planEgress(options, domain);
  const openAudit = await loadAudit(options, domain);
  const openTracer = await loadTracing(options, domain, egress);
  const log = openLogOf(environment, options);
  const undo: (() => MaybePromise<void>)[] = [];
  try {
    return await start({
      ...environment,
      options,
      given,
      domain,
      folder,
      isUsed,
      isKeeper,
      clock,
      random,
      log,
      largeBytes,
      egress,
      inputs,
      shared,
      openAudit,
      openTracer,
      undo,
    });
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw asStartError(error);
  }
}

/** Returns the number of processes that serve together. Throws `StartError` where nobody has started the others. */
function processCount({ processes }: ServerOptions, environment: ServerEnvironment): number {
  if (processes > 1 && environment.processes === undefined)
    throw new StartError("several processes need a supervisor: start them with binnacle serve --processes");
  return processes;
}

/** The content of files that flags name or that are in the data folder; all of it is read and checked. */
interface Inputs {
  readonly current: ServingCredentials;
  readonly clientTrust: ClientTrust;
  readonly plans: Plans;
  readonly encryption: EncryptionPlan | undefined;
  /** The marker of a data folder that was used before. */
  readonly marker: Marker | undefined;
}

interface Sources extends CredentialSources {
  readonly options: ServerOptions;
  readonly shared: SharedParts | undefined;
}

/** Loads the code of the audit log only when there is a policy. */
async function loadAudit(options: ServerOptions, domain: ApiDomain) {
  const file = options.auditPolicyFile;
  if (file === undefined) return undefined;
  const { openAudit, planAudit } = await import("./audit.ts");
  const plan = planAudit(file, options, domain);
  return (parts: Omit<AuditParts, "options" | "domain">) => openAudit(plan, { ...parts, options, domain });
}

/** Loads the code of traces, and the packages that it needs, only when there is a configuration. */
async function loadTracing(options: ServerOptions, domain: ApiDomain, egress: Egress) {
  const file = options.tracingConfigFile;
  if (file === undefined) return undefined;
  const { planTracing } = await import("./tracing.ts");
  return planTracing(file, domain, egress);
}

async function readInputs(sources: Sources, domain: ApiDomain, marker: Marker | undefined): Promise<Inputs> {
  const { options } = sources;
  tlsSettings(options);
  const clusterIps = clusterIpRanges(options.serviceClusterIpRange);
  const { clock, shared } = sources;
  const kinds = shared?.kinds(options, domain, clock) ?? planKinds(options, domain, clock);
  checkGatedFlags(options, kinds.gates);
  const current = await readServingCredentials(sources);
  const { ca, serviceAccount } = current.credentials;
  const authentication = await planAuthentication(options, domain, serviceAccount, kinds.gates);
  const authorization = await planAuthorization(options, domain, kinds.gates);
  const admission = await planAdmission(options, domain);
  const { issuer } = authentication;
  const controllerCredentials = readControllerCredentials(options, { ca, serving: current.serving, issuer });
  if (options.leaderElect) leaseTimes(options);
  const clientTrust = new ClientTrust(current);
  const proxyClient = readProxyClient(options, clientTrust);
  const kubeletClient = readKubeletClient(options);
  const plans: Plans = {
    kinds,
    clusterIps,
    authentication,
    authorization,
    admission,
    controllerCredentials,
    proxyClient,
    kubeletClient,
  };
  const encryption = await planEncryption(options, domain);
  return { current, clientTrust, plans, encryption, marker };
}

interface Start extends Sources, Pick<ServerEnvironment, "storageFaults" | "instruments" | "route" | "processes"> {
  /** The options before the bounds were divided. */
  readonly given: ServerOptions;
  readonly log: Log;
  readonly largeBytes: number;
  readonly domain: ApiDomain;
  readonly egress: Egress;
  readonly inputs: Inputs;
  readonly openAudit: Awaited<ReturnType<typeof loadAudit>>;
  readonly openTracer: Awaited<ReturnType<typeof loadTracing>>;
  /** The functions that undo the steps so far, in the order of the steps. */
  readonly undo: (() => MaybePromise<void>)[];
}

/** Returns the parts of endpoints that show the program, or change what it keeps and logs. */
function pages({ given, clock, inputs, processes, log }: Start, maintenance: StoreMaintenance | undefined) {
  const version = programVersion();
  const shown = zPages(inputs.plans.kinds.gates.isOn, { options: given, clock, version });
  return { version, zPages: shown, processes, log, ...storeWork(maintenance, clock) };
}

async function start(parts: Start): Promise<RunningServer> {
  const { options, folder, clock, inputs, undo } = parts;
  const { current, clientTrust, plans } = inputs;
  const { health, checks } = openHealth(parts);
  const gate = new StartupGate(options, health);
  const metrics = openMetrics(parts);
  const requestMetrics = openRequestMetrics(metrics, gate, plans);
  const started = health.startupStep("start-server");

  const planes = await loadPlanes(options, parts.domain);
  const handle = addConsole(parts, planes?.route(gate.handle) ?? gate.handle, gate);
  const listener = await openPort(parts, handle, metrics, requestMetrics);
  undo.push(() => listener.close());
  undo.push(() => gate.giveUp());

  const store = await openStored(parts, metrics, health);
  const { cache, maintenance, encrypts } = store;
  addHealthChecks(health, {
    store: cache,
    ...(maintenance === undefined ? {} : { askThread: () => maintenance.probe() }),
    isSynced: () => gate.assembled?.isSynced() === true,
    isStopping: () => gate.stopping !== "no",
    clock,
  });
  const { audit, tracer } = await openRecords(parts, metrics, listener);

  const url = urlOf(options, listener.port);
  const peers = await enterPeers(parts, { ...store, metrics, port: listener.port });
  undo.push(() => peers?.close());
  await store.confirm?.();
  const connectionClock = parts.instruments?.connectionClock ?? parts.clock;
  const assembled = await assemble({
    ...parts,
    plans,
    cache,
    peers,
    encrypts,
    metrics,
    requestMetrics,
    health,
    connectionClock,
    endpoints: serverEndpoints({ health, healthMetrics: checks, requestMetrics, ...pages(parts, maintenance) }),
    clientTrust,
    auditFilters: audit?.filters,
    tracer,
    adminToken: current.credentials.admin.token,
    url,
  });
  undo.push(() => assembled.close());
  undo.push(() => planes?.close());

  if (folder !== undefined && parts.isKeeper) {
    writeCredentials(folder, url, current);
    mark(parts, folder);
  }
  const stopRenewal = renewCredentials(parts, listener, url);
  const host = { ...parts, ...inputs, connectionClock, auditFilters: audit?.filters, tracer, port: listener.port };
  await planes?.start({ host, url: externalUrl(options, url), trust: current.trust, assembled, cache, peers });
  await peers?.serve();
  store.served?.();
  started();
  gate.open(assembled, peers);
  await beginToListen(listener, options);
  parts.instruments?.assembled(cache, assembled);
  const closeAll = [planes, peers, assembled, audit, listener, tracer, store];
  return runningServer(parts, { gate, listener, url, peers, planes, stopRenewal, closeAll });
}

/** Opens the audit log and the traces. */
async function openRecords(parts: Start, metrics: Metrics, { port }: Pick<Listener, "port">) {
  const audit = await parts.openAudit?.({ ...parts, metrics });
  parts.undo.push(() => audit?.close());
  const tracer = parts.openTracer?.({ ...parts, port });
  parts.undo.push(() => tracer?.close());
  return { audit, tracer };
}

/** Uses new certificates as soon as there are some. Returns the function that ends this. */
const renewCredentials = (
  { inputs: { current, clientTrust }, ...parts }: Start,
  listener: Listener,
  url: string,
): (() => void) =>
  keepRenewed(parts, {
    url,
    current,
    log: parts.log,
    use(files, next) {
      listener.updateTls(files);
      clientTrust.update(next);
    },
  });

/** Loads the code of planes only when there may be some. */
async function loadPlanes(options: ServerOptions, domain: ApiDomain): Promise<Planes | undefined> {
  if (options.planes === undefined) return undefined;
  const { Planes: Loaded } = await import("./planes.ts");
  return new Loaded(options, domain);
}

/** Lets the handler answer for the console where it is served. */
function addConsole(
  { options, clock, inputs: { current } }: Start,
  handle: StartupGate["handle"],
  gate: Pick<StartupGate, "assembled">,
): StartupGate["handle"] {
  if (!servesConsole(options)) return handle;
  const { externalHostname, tlsSan, corsAllowedOrigins, consoleOidcClientId: clientIds } = options;
  const names = [...tlsSan, ...(externalHostname === undefined ? [] : [externalHostname])];
  return withConsole(handle, {
    certificate: current.serving.certificate,
    names,
    allowsOrigins: corsAllowedOrigins.length > 0,
    clock,
    issuers: () => gate.assembled?.issuers() ?? [],
    clientIds,
  });
}

/** Makes this server known to the others of its store, if there may be others. Their code is loaded only then. */
async function enterPeers(
  parts: Start,
  store: Pick<Awaited<ReturnType<typeof openStored>>, "cache" | "encryptionRules"> & {
    readonly metrics: Metrics;
    readonly port: number;
  },
): Promise<Peers | undefined> {
  if (!store.cache.isShared) return undefined;
  const { openPeers } = await import("./peers.ts");
  return openPeers({ ...parts, ...parts.inputs, ...store });
}

/**
 * Records the current parts of the folder. On a full disk this may fail for a folder that was used before; a later
 * start repeats it.
 */
function mark({ options, log, inputs: { marker } }: Start, folder: string): void {
  const holds = new Set<Holding>(marker?.holds).add("credentials");
  if (options.storage === "disk" && !isOnEtcd(options)) holds.add("store");
  if (marker !== undefined && marker.holds.length === holds.size) return;
  try {
    markDataFolder(folder, options.apiDomain, [...holds]);
  } catch (error) {
    if (marker === undefined) throw error;
    log.warn({ dataDir: folder, reason: reasonOf(error) }, "what the data folder holds could not be recorded");
  }
}

function openHealth({ options, clock, log }: Start) {
  const checks = healthMetrics();
  const health = new Health({
    clock,
    livezGracePeriodMs: options.livezGracePeriodMs,
    failed: healthFailures(clock, log),
    observed: checks.observe,
  });
  return { health, checks };
}

function openMetrics({ options, log, inputs, processes }: Start): Metrics {
  const metrics = new Metrics(shownMetrics(options, log));
  addProcessMetrics(metrics, inputs.plans.kinds.gates);
  processes?.offerMetrics(() => metrics.print());
  return metrics;
}

/** Makes the metrics of requests. Only the built-in kinds count as served until everything is assembled. */
const openRequestMetrics = (metrics: Metrics, gate: StartupGate, { kinds: { table } }: Plans): RequestMetrics =>
  new RequestMetrics({
    metrics,
    isServed: (target) => gate.assembled?.serves(target) ?? isServed(table, target),
    hasKind: (group, version, kind) =>
      gate.assembled?.hasKind(group, version, kind) ?? table.findKind(group, version, kind) !== undefined,
  });

/** Routes requests while the server starts, serves and stops. */
class StartupGate {
  readonly #options: ServerOptions;
  readonly #health: Health;
  readonly #ready = Promise.withResolvers<Assembled>();
  assembled: Assembled | undefined;
  #peers: Peers | undefined;
  stopping: "no" | "delayed" | "draining" = "no";

  constructor(options: ServerOptions, health: Health) {
    this.#options = options;
    this.#health = health;
    this.#ready.promise.catch(() => undefined);
  }

  /** Requests that arrive before everything is assembled wait; health checks are answered at once. */
  readonly handle = (request: ApiRequest): MaybePromise<Reply> => {
    if (this.stopping === "draining" && this.#options.shutdownSendRetryAfter) return shuttingDown;
    if (this.assembled !== undefined) {
      const { assembled } = this;
      const returning = this.#peers?.comeBack();
      return returning === undefined ? assembled.handle(request) : returning.then(() => assembled.handle(request));
    }
    return this.#health.reply(request) ?? this.#ready.promise.then((later) => later.handle(request));
  };

  open(assembled: Assembled, peers: Peers | undefined): void {
    this.assembled = assembled;
    this.#peers = peers;
    this.#ready.resolve(assembled);
  }

  giveUp(): void {
    this.#ready.reject(serviceUnavailable("the server could not start"));
  }
}

/** Opens the store and, before it, the encryption of its values. */
async function openStored(parts: Start, metrics: Metrics, health: Health) {
  const { folder, log, random, undo, inputs } = parts;
  const encryption = inputs.encryption && (await openEncryption(inputs.encryption, { ...parts, metrics, health }));
  undo.push(() => encryption?.close());
  const isExpected = inputs.marker?.holds.includes("store") === true;
  const store = await openStore({
    ...parts,
    isExpected,
    logThread: parts.shared?.logThread,
    hasReserve: true,
    builtIn: inputs.plans.kinds.table.definitions,
    server: random.uuid(),
    metrics,
    encryption,
    undo: (step) => void undo.push(step),
  });
  for (const check of store.checks ?? []) health.add(check);
  const { loss } = inputs.current.credentials;
  if (loss !== undefined) log.warn({ dataDir: folder }, `a loss was accepted: ${loss}`);
  const close = async (): Promise<void> => {
    await store.cache.close();
    await store.close?.();
    encryption?.close();
  };
  const encrypts: AssembleConfig["encrypts"] = (of) => encryption?.encrypts(of) === true;
  // The processes of a data folder get plain values from the one that owns it, so their rules need not agree.
  const encryptionRules = () => (isSharedFolder(parts) ? [] : (encryption?.rules ?? []));
  return { ...store, encrypts, encryptionRules, close };
}

/** Opens the port before anything is written, unless other processes serve it already. */
const openPort = (
  { options, inputs, clock, random, log, instruments, processes }: Start,
  handle: StartupGate["handle"],
  metrics: Metrics,
  { handshakeErrors }: RequestMetrics,
): Promise<Listener> =>
  listen({
    options,
    credentials: inputs.current,
    compress: inputs.plans.kinds.gates.isOn("APIResponseCompression"),
    heldPort: processes?.port,
    handle: instruments?.wrapHandler(handle) ?? handle,
    inBackground: instruments?.inBackground === true,
    handshakeFailed: () => handshakeErrors.add(),
    clock: instruments?.connectionClock ?? clock,
    random,
    log,
    metrics,
  });

interface Running {
  readonly gate: StartupGate;
  readonly listener: Listener;
  readonly url: string;
  readonly peers: Peers | undefined;
  readonly planes: Planes | undefined;
  readonly stopRenewal: () => void;
  /** The parts to close in this order, after running requests have ended. */
  readonly closeAll: readonly ({ close(): MaybePromise<void> } | undefined)[];
}

function runningServer(
  { given, options, folder, clock, log, processes, inputs: { current } }: Start,
  { gate, listener, url, peers, planes, stopRenewal, closeAll }: Running,
): RunningServer {
  const { credentials, trust } = current;
  let closing: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    gate.stopping = "delayed";
    peers?.leave();
    stopRenewal();
    log.info({ delayMs: options.shutdownDelayMs }, "stopping");
    if (options.shutdownDelayMs > 0) await pause(clock, options.shutdownDelayMs);
    gate.stopping = "draining";
    gate.assembled?.drain();
    planes?.drain();
    const answered = await listener.drain(clock.now() + options.requestTimeoutMs);
    if (!answered) log.warn({ requests: listener.requests }, "requests were cut off");
    await processes?.othersEnded();
    for (const part of closeAll) await part?.close();
    log.info({}, "stopped");
    await log.flush();
  };
  return {
    options: given,
    url,
    address: listener.address,
    port: listener.port,
    ca: trust.ca ?? "",
    admin: credentials.admin,
    kubeconfig: adminKubeconfig(url, trust, credentials.admin),
    kubeconfigFile: folder === undefined ? undefined : join(folder, "admin.kubeconfig"),
    close: () => (closing ??= stop()),
  };
}

/** Returns the backup and the compaction of the store, which commands request. */
const storeWork = (
  maintenance: StoreMaintenance | undefined,
  clock: Clock,
): { readonly backup: Backup; readonly compact: Compact } => ({
  backup(file) {
    if (maintenance === undefined)
      return Promise.reject(
        new StorageFailure(
          "only a store in a data folder can be backed up by its server: see binnacle backup --etcd-servers for one in etcd",
        ),
      );
    return maintenance.backup(file);
  },
  compact(before) {
    if (maintenance === undefined)
      return Promise.reject(
        new StorageFailure(
          "only a store in a data folder can be compacted: servers compact their etcd every --etcd-compaction-interval",
        ),
      );
    return maintenance.drop("revision" in before ? before : { at: clock.now() - before.olderThanMs });
  },
});

/** Returns the URL for clients on this machine, whatever the listening address. */
function urlOf(options: ServerOptions, port: number): string {
  const host = hostOf(options);
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function openLogOf({ log, processes }: ServerEnvironment, options: ServerOptions): Log {
  if (log !== "stderr") return log ?? silentLog;
  const own = openServerLog(options);
  return processes === undefined ? own : own.with({ process: processes.index });
}

const pause = (clock: Clock, ms: number): Promise<void> => new Promise((wake) => void clock.after(ms, wake));

/** Upstream's answer to requests during the shutdown. */
const shuttingDown: Reply = {
  code: 429,
  contentType: "text/plain; charset=utf-8",
  headers: { "retry-after": "5" },
  closeConnection: true,
  bytes: Buffer.from("The apiserver is shutting down, please try again later."),
};
