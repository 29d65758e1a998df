/**
 * Opens a plane: its own store, identities, permissions, quotas, custom resources, flow control and controllers, from the same
 * phases as a server. It shares the kinds, the way out of the machine and the audit log of the server.
 */
import type { Secret } from "#api/core/v1.ts";
import { tokenDigest } from "#authn/token-digest.ts";
import type { RestClient } from "#client/rest-client.ts";
import { legacyClaims } from "#authn/service-account-token.ts";
import type { HandledRequest } from "#http/api-request.ts";
import { Health } from "#http/health.ts";
import { RequestMetrics } from "#http/request-metrics.ts";
import { forbidden } from "#meta/status-error.ts";
import { versionReply } from "#publication/version.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { Metrics } from "#std/metrics.ts";
import { assemble, isServed } from "../assemble.ts";
import type { Assembled, Plans } from "../assemble-config.ts";
import { planAdmission } from "../admission/plan.ts";
import { readProxyClient } from "../aggregation/proxy-client.ts";
import { ClientTrust } from "../authentication/client-trust.ts";
import { planAuthentication } from "../authentication/plan.ts";
import { planAuthorization } from "../authorization/plan.ts";
import type { PlaneCredentials } from "../credentials.ts";
import { checkDataFolder, markerFile, writePrivateFiles } from "../data-folder.ts";
import { openEncryption } from "../encryption.ts";
import type { Encryption } from "../encryption/encryption.ts";
import type { Endpoints } from "../endpoints.ts";
import { addHealthChecks, healthFailures } from "../health-checks.ts";
import { healthMetrics } from "../health-metrics.ts";
import { shownMetrics } from "../metrics/flags.ts";
import { readKubeletClient } from "../nodes/kubelet-client.ts";
import { openStore } from "../open-store.ts";
import type { ServerOptions } from "../options.ts";
import type { Peers, PeersParts } from "../peers.ts";
import type { OpenedStore } from "#storage/opened-store.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import { onFirstChange } from "./first-change.ts";
import { Plane } from "./plane.ts";
import type { PlaneHost } from "./plane-host.ts";
import { allPrefix, isEmpty, templateValues } from "./plane-template.ts";
import { type ByteQuota, QuotaLog } from "./quota-log.ts";
import { planeOptions } from "./plane-options.ts";
import type { PlanePlace } from "./plane-storage.ts";

export interface PlaneSettings {
  readonly name: string;
  /** The identity of the object that asked for the plane. */
  readonly uid: string;
  /** The URLs by which clients reach the plane; the first is the one that it shows. */
  readonly urls: readonly [string, ...string[]];
  /** The issuers of tokens of service accounts; the first is that of new ones. */
  readonly issuers: readonly string[];
  readonly place: PlanePlace;
  /** Whether the plane has been open before, and nobody has written to it. */
  readonly isUntouched?: boolean | undefined;
  /** Returns the bytes that all objects of the plane may have; `undefined` when they are not bounded. */
  quotaBytes(): number | undefined;
  /**
   * Called when the other servers of the plane know that this one has it open. Rejects when the plane was removed, which they
   * do no longer then.
   */
  confirm(): Promise<void>;
}

/** A plane that was opened, and what belongs to it alone. */
interface OpenedPlane {
  readonly plane: Plane;
  readonly assembled: Assembled;
  readonly cache: WatchCache;
}

/** Opens a plane that was prepared. Rejects with `StartError` or `StorageFailure`; then nothing is open. */
export async function openPlane(
  host: PlaneHost,
  settings: PlaneSettings,
  credentials: PlaneCredentials,
): Promise<OpenedPlane> {
  const undo: (() => MaybePromise<void>)[] = [];
  try {
    return await open(host, settings, credentials, undo);
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

async function open(
  host: PlaneHost,
  settings: PlaneSettings,
  credentials: PlaneCredentials,
  undo: (() => MaybePromise<void>)[],
): Promise<OpenedPlane> {
  const { clock, random } = host;
  const { urls, issuers, place } = settings;
  const { folder } = place;
  const options = planeOptions(host.options, issuers, place);
  const marker = folder === undefined ? undefined : checkDataFolder(folder, options.apiDomain);
  const clientTrust = trustOf(credentials);
  const plans = await plansOf(host, options, credentials, clientTrust);
  const own = { options, plans, folder, clientTrust, log: host.log.with({ plane: settings.name }) };
  // The store of a plane is that of one server, whichever of its processes has opened it.
  const parts = { ...host, ...own, processes: undefined };
  const end = new AbortController();
  const share = host.turns.share();
  let assembled: Assembled | undefined;
  const observed = observe(parts, () => assembled);
  const started = observed.health.startupStep("start-server");
  const encryption = host.encryption && (await openEncryption(host.encryption, { ...parts, ...observed }));
  undo.push(() => encryption?.close());
  let stored: WatchCache | undefined;
  const quota = quotaOf(host, settings, () => stored);
  const store = await openStore({
    ...parts,
    bound: (log) => new QuotaLog(log, quota),
    ...observed,
    isKeeper: true,
    // The deletion of a plane frees all of it.
    hasReserve: false,
    isExpected: marker?.holds.includes("store") === true,
    builtIn: plans.kinds.table.definitions,
    server: random.uuid(),
    etcdStores: place.etcd?.stores,
    encryption,
    undo: (step) => void undo.push(step),
  });
  const { cache } = store;
  stored = cache;
  const peers = await enterPeers({ ...parts, ...observed, cache }, encryption, undo);
  await settings.confirm();
  const firstWork = await writeFirst(host, settings, credentials, cache);
  addHealthChecks(observed.health, {
    store: cache,
    isSynced: () => assembled?.isSynced() === true,
    isStopping: () => end.signal.aborted,
    clock,
  });
  assembled = await assemble({
    ...parts,
    ...observed,
    cache,
    peers,
    encrypts: (of) => encryption?.encrypts(of) === true,
    endpoints: endpointsOf(host, observed),
    adminToken: credentials.adminToken,
    url: urls[0],
    firstWork: firstWork?.promise,
    handlesOwn: (handle) => share.handler(handle),
    endOfService: end.signal,
  });
  await serve(parts, marker, { peers, store });
  started();
  const opened = { assembled, store, encryption, peers };
  const close = (): Promise<ReadonlySet<string>> => closeAll(host, options, opened);
  const plane = new Plane({ host, assembled, cache, peers, share, end, close, wake: firstWork?.resolve });
  return { plane, assembled, cache };
}

/** Notes in the folder of a plane that it has a store from now on, and tells others that the plane is served here. */
async function serve(
  { folder, options }: Pick<PlaneHost, "options"> & { readonly folder: string | undefined },
  marker: ReturnType<typeof checkDataFolder>,
  { peers, store }: Pick<OpenedParts, "peers" | "store">,
): Promise<void> {
  if (folder !== undefined && marker?.holds.includes("store") !== true) {
    await writePrivateFiles(folder, [markerFile(options.apiDomain, ["credentials", "store"])]);
  }
  await peers?.serve();
  store.served?.();
}

/**
 * Writes the first objects of a new plane. Resolves with what begins its controllers, which have nothing to do before;
 * `undefined`: they begin at once.
 */
async function writeFirst(
  { template, clock }: PlaneHost,
  { uid, isUntouched }: PlaneSettings,
  credentials: PlaneCredentials,
  cache: WatchCache,
): Promise<PromiseWithResolvers<void> | undefined> {
  const first = isEmpty(cache) ? template() : undefined;
  await first?.write(cache, { clock, uid, ...templateValues(credentials) });
  if (first === undefined && isUntouched !== true) return undefined;
  const begun = Promise.withResolvers<void>();
  if (cache.isShared) await onFirstChange(cache, begun.resolve);
  return begun;
}

/** Makes this server known to the others that have the plane open, if there may be others. */
async function enterPeers(
  parts: Omit<PeersParts, "encryptionRules">,
  encryption: Encryption | undefined,
  undo: (() => MaybePromise<void>)[],
): Promise<Peers | undefined> {
  if (!parts.cache.isShared) return undefined;
  const { openPeers } = await import("../peers.ts");
  const peers = await openPeers({ ...parts, encryptionRules: () => encryption?.rules ?? [] });
  undo.push(() => peers.close());
  return peers;
}

interface OpenedParts {
  readonly assembled: Assembled;
  readonly store: OpenedStore;
  readonly encryption: Encryption | undefined;
  readonly peers: Peers | undefined;
}

/** Closes everything, and resolves with the digests of the bootstrap tokens. */
async function closeAll(
  host: PlaneHost,
  { enableBootstrapTokenAuth }: ServerOptions,
  { assembled, store, encryption, peers }: OpenedParts,
): Promise<ReadonlySet<string>> {
  const mayHaveTokens = enableBootstrapTokenAuth && store.cache.count(`${allPrefix}core/secrets/`) > 0;
  const tokens = mayHaveTokens ? await bootstrapDigests(assembled.client, host) : noTokens;
  peers?.leave();
  await assembled.close();
  await peers?.close();
  await store.cache.close();
  await store.close?.();
  encryption?.close();
  return tokens;
}

/** Returns the quota of a plane, whose store is opened with it. */
const quotaOf = (
  { domain }: PlaneHost,
  { name, quotaBytes }: Pick<PlaneSettings, "name" | "quotaBytes">,
  stored: () => WatchCache | undefined,
): ByteQuota => ({
  limit: quotaBytes,
  stored,
  refusal: (used, limit) => {
    const resource = { group: domain.rename("planes.k8s.io"), resource: "planes" };
    return forbidden(resource, name, `exceeded quota: its objects have ${used} bytes, limited: ${limit}`);
  },
});

const noTokens: ReadonlySet<string> = new Set();

/** Returns the digests of the bootstrap tokens, by which they are known while the plane is closed. */
async function bootstrapDigests(
  client: RestClient,
  { domain, log }: Pick<PlaneHost, "domain" | "log">,
): Promise<ReadonlySet<string>> {
  const type = domain.rename("bootstrap.kubernetes.io/token");
  const secrets = `/api/v1/namespaces/${domain.rename("kube-system")}/secrets`;
  try {
    const { items } = await client.list<Secret>(`${secrets}?fieldSelector=type%3D${encodeURIComponent(type)}`);
    const text = ({ data = {} }: Secret, key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
    return new Set(items.map((secret) => tokenDigest(`${text(secret, "token-id")}.${text(secret, "token-secret")}`)));
  } catch (error) {
    log.warn({ error }, "bootstrap tokens of a control plane open it no longer");
    return noTokens;
  }
}

/** Makes the health checks and the metrics of a plane. */
function observe(
  { clock, log, options, plans }: Pick<PlaneHost, "clock" | "log" | "options" | "plans">,
  assembled: () => Assembled | undefined,
) {
  const checks = healthMetrics();
  const health = new Health({
    clock,
    livezGracePeriodMs: options.livezGracePeriodMs,
    failed: healthFailures(clock, log),
    observed: checks.observe,
  });
  const metrics = new Metrics(shownMetrics(options, log));
  const { table } = plans.kinds;
  const requestMetrics = new RequestMetrics({
    metrics,
    isServed: (target) => assembled()?.serves(target) ?? isServed(table, target),
    hasKind: (group, version, kind) =>
      assembled()?.hasKind(group, version, kind) ?? table.findKind(group, version, kind) !== undefined,
  });
  return { checks, health, metrics, requestMetrics };
}

/** Returns the trust of a plane: no client is known by a certificate, and aggregated servers know the plane's own. */
const trustOf = ({ frontProxy }: PlaneCredentials): ClientTrust =>
  new ClientTrust({ clientCa: "", requestHeaderCa: "", credentials: { frontProxy } });

/** Returns the plans of a plane; the kinds are those of the server. */
async function plansOf(
  { domain, plans }: PlaneHost,
  options: ServerOptions,
  { serviceAccount }: PlaneCredentials,
  clientTrust: ClientTrust,
): Promise<Plans> {
  const { kinds, clusterIps, controllerCredentials } = plans;
  const authentication = await planAuthentication(options, domain, serviceAccount, kinds.gates);
  return {
    kinds,
    clusterIps,
    authentication,
    authorization: await planAuthorization(options, domain, kinds.gates),
    admission: await planAdmission(options, domain),
    controllerCredentials: {
      // The port would accept no certificate of a plane.
      authority: () => undefined,
      signToken: (parties) => authentication.issuer.sign(legacyClaims(parties, domain)),
      rootCertificates: controllerCredentials.rootCertificates,
      follow: () => () => undefined,
    },
    proxyClient: readProxyClient(options, clientTrust),
    kubeletClient: readKubeletClient(options),
  };
}

/**
 * Returns the paths of a plane outside of the API. What reaches beyond the plane, such as backups to a path of the machine
 * and the settings of the log, is the server's alone.
 */
function endpointsOf(
  { version: document }: PlaneHost,
  { health, checks, requestMetrics }: ReturnType<typeof observe>,
): Endpoints {
  return (request: HandledRequest) =>
    health.reply(request) ??
    checks.reply(request) ??
    requestMetrics.reply(request, undefined) ??
    versionReply(document, request);
}
