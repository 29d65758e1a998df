/**
 * One plane: a whole control plane without a port. It has its own store, identities, permissions, quotas, custom resources,
 * flow control and controllers; it shares the kinds, the way out of the machine and the audit log of the server.
 */
import type { Secret } from "#api/core/v1.ts";
import { tokenDigest } from "#authn/token-digest.ts";
import type { RestClient } from "#client/rest-client.ts";
import { legacyClaims } from "#authn/service-account-token.ts";
import { type ApiRequest, type HandledRequest, type Reply, unknownUser } from "#http/api-request.ts";
import { Health } from "#http/health.ts";
import { RequestMetrics } from "#http/request-metrics.ts";
import { forbidden, serviceUnavailable, type StatusError } from "#meta/status-error.ts";
import { versionReply } from "#publication/version.ts";
import { type Clock, pause } from "#std/clock.ts";
import { andThen, attempt, type MaybePromise } from "#std/maybe-promise.ts";
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
import type { PlaneHost } from "./plane-host.ts";
import { allPrefix, isEmpty, PlaneTemplate } from "./plane-template.ts";
import type { PlaneShare } from "./plane-turns.ts";
import { PlaneSeats, type SeatBounds } from "./plane-seats.ts";
import { type ByteQuota, QuotaLog } from "./quota-log.ts";
import { isPreflight, noRoom, statusReply, unauthenticatedReply } from "./status-reply.ts";
import { planeOptions } from "./plane-options.ts";
import { newCredentials, type PlanePlace } from "./plane-storage.ts";

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

/** The time for which requests and watches may take to end when their plane ends. */
const endMs = 5000;

/** The requests of each plane that are worked on at a time. Flow control of the plane divides them among its users. */
const seats: SeatBounds = { runningMax: 64, waitingMax: 1000 };

/** Opens a plane that was prepared. Rejects with `StartError` or `StorageFailure`; then nothing is open. */
export async function openPlane(
  host: PlaneHost,
  settings: PlaneSettings,
  credentials: PlaneCredentials,
): Promise<Plane> {
  const undo: (() => MaybePromise<void>)[] = [];
  try {
    const { plane } = await open(host, settings, credentials, undo);
    return plane;
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

/** The factor by which time passes faster for the controllers of a plane that becomes the template. */
const hurry = 10;
/** The pause between looks at such a plane, the number of looks that must find it quiet, and of all looks. */
const [lookMs, quietLooks, looksMax] = [50, 6, 1200];

/**
 * Makes a template for new planes: opens one in memory that nobody can reach, waits until its controllers have done what
 * they do at their start, and takes its objects. `undefined` when objects differ from plane to plane, or it is not ready.
 */
export async function makeTemplate(host: PlaneHost, signal: AbortSignal): Promise<PlaneTemplate | undefined> {
  if (host.options.simulate.length > 0) return undefined;
  const { clock } = host;
  const credentials = await newCredentials(host);
  const hidden: PlaneHost = {
    ...host,
    clock: hurried(clock),
    encryption: undefined,
    auditFilters: undefined,
    template: () => undefined,
  };
  const undo: (() => MaybePromise<void>)[] = [];
  const settings: PlaneSettings = {
    name: "template",
    uid: "",
    urls: ["https://template.invalid"],
    issuers: ["https://template.invalid"],
    place: {},
    quotaBytes: () => undefined,
    confirm: () => Promise.resolve(),
  };
  const { plane, assembled, cache } = await open(hidden, settings, credentials, undo);
  try {
    let revision = -1;
    for (let looks = 0, quiet = 0; quiet < quietLooks; looks++) {
      await pause(clock, lookMs, signal);
      if (signal.aborted || looks === looksMax) return undefined;
      const isQuiet = assembled.isCaughtUp() && assembled.ownRequests() === 0 && cache.revision === revision;
      quiet = isQuiet ? quiet + 1 : 0;
      revision = cache.revision;
    }
    return PlaneTemplate.of(cache, valuesOf(credentials));
  } finally {
    await plane.end();
  }
}

/** Returns a clock whose timers fire early. */
const hurried = (clock: Clock): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (delayMs, callback) => clock.after(delayMs / hurry, callback),
});

const valuesOf = ({ frontProxy }: PlaneCredentials) => ({ frontProxyAuthority: frontProxy.ca.certificate });

async function open(
  host: PlaneHost,
  settings: PlaneSettings,
  credentials: PlaneCredentials,
  undo: (() => MaybePromise<void>)[],
): Promise<{ readonly plane: Plane; readonly assembled: Assembled; readonly cache: WatchCache }> {
  const { clock, random } = host;
  const { name, urls, issuers, place } = settings;
  const { folder } = place;
  const options = planeOptions(host.options, issuers, place);
  const marker = folder === undefined ? undefined : checkDataFolder(folder, options.apiDomain);
  const clientTrust = trustOf(credentials);
  const plans = await plansOf(host, options, credentials, clientTrust);
  const log = host.log.with({ plane: name });
  // The store of a plane is that of one server, whichever of its processes has opened it.
  const parts = { ...host, options, plans, log, folder, clientTrust, processes: undefined };
  const end = new AbortController();
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
    endOfService: end.signal,
  });
  if (marker?.holds.includes("store") !== true) await markFolder(folder, options);
  await peers?.serve();
  store.served?.();
  started();
  const opened = { assembled, store, encryption, peers };
  const close = (): Promise<ReadonlySet<string>> => closeAll(host, options, opened);
  const plane = new Plane({ host, assembled, cache, peers, end, close, wake: firstWork?.resolve });
  return { plane, assembled, cache };
}

/** Notes in a folder that it has a store from now on. */
async function markFolder(folder: string | undefined, { apiDomain }: ServerOptions): Promise<void> {
  if (folder === undefined) return;
  await writePrivateFiles(folder, [markerFile(apiDomain, ["credentials", "store"])]);
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
  await first?.write(cache, { clock, uid, ...valuesOf(credentials) });
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

interface OpenParts {
  readonly host: PlaneHost;
  readonly assembled: Assembled;
  readonly cache: WatchCache;
  readonly peers: Peers | undefined;
  readonly end: AbortController;
  /** Closes everything, and resolves with the digests of the plane's bootstrap tokens. */
  readonly close: () => Promise<ReadonlySet<string>>;
  /** Begins the work of controllers; `undefined` where it has begun. */
  readonly wake: (() => void) | undefined;
}

/** The methods that give controllers no work, as those of strangers do. */
const readMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** A reply, and whether it is for a user that the plane knows. */
interface Answered {
  readonly reply: Reply;
  readonly isKnown: boolean;
}

/** An open plane. */
export class Plane {
  readonly #parts: OpenParts;
  /** The requests that were not answered yet, and the open streams. */
  readonly #running = new Set<ApiRequest>();
  readonly #seats: PlaneSeats;
  /** The share of the plane in the event loop. */
  readonly #share: PlaneShare;
  #usedMs: number;
  #isUntouched: boolean;
  #closing: Promise<ReadonlySet<string>> | undefined;
  #onQuiet: (() => void) | undefined;

  constructor(parts: OpenParts) {
    this.#parts = parts;
    this.#usedMs = parts.host.clock.monotonic();
    this.#isUntouched = parts.wake !== undefined;
    this.#seats = new PlaneSeats(seats, parts.host.clock);
    this.#share = parts.host.turns.share();
  }

  /** The time at which the last request of a known user ended, by the monotonic clock. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** Whether no request runs, no watch is open, and no controller waits for an answer. */
  get isIdle(): boolean {
    const { assembled } = this.#parts;
    return this.#running.size === 0 && assembled.ownRequests() === 0 && assembled.isCaughtUp();
  }

  /** The bytes of all objects. */
  get usedBytes(): number {
    return this.#parts.cache.presentBytes;
  }

  /** Whether the plane is as it was made, so that its controllers have nothing to do. */
  get isUntouched(): boolean {
    return this.#isUntouched;
  }

  /** The reason for clients, once the plane ends; `undefined` while it serves. */
  get ended(): StatusError | undefined {
    const { signal } = this.#parts.end;
    return signal.aborted ? (signal.reason as StatusError) : undefined; // `end` gives it
  }

  /** Handles a request below the plane's prefix. Never rejects. */
  handle(request: ApiRequest): MaybePromise<Reply> {
    if (this.ended !== undefined) return this.#answer(request, statusReply(this.ended), ({ reply }) => reply);
    this.#running.add(request);
    const ended = ({ reply, isKnown }: Answered): Reply => {
      if (isKnown && !readMethods.has(request.method)) {
        this.#isUntouched = false;
        this.#parts.wake?.();
      }
      return {
        ...reply,
        done: () => {
          reply.done?.();
          this.#forget(request, isKnown);
        },
      };
    };
    const { assembled, peers } = this.#parts;
    const share = this.#share;
    const work = (): MaybePromise<Reply> => {
      // The plane may have ended, or the client gone, while the request waited.
      if (this.ended !== undefined) return statusReply(this.ended);
      return request.aborted
        ? noRoom()
        : andThen(peers?.comeBack(), () =>
            andThen(
              share.result(() => assembled.handle(request)),
              divided,
            ),
          );
    };
    const divided = (reply: Reply): Reply =>
      reply.chunks === undefined ? reply : { ...reply, chunks: share.chunks(reply.chunks) };
    return andThen(this.#seats.handle(request, work, noRoom), (reply) => this.#answer(request, reply, ended));
  }

  /** Gives a reply to `use`, or that for strangers in its place: they get the same as from a plane that is closed or absent. */
  #answer(request: ApiRequest, reply: Reply, use: (answered: Answered) => Reply): MaybePromise<Reply> {
    if (request.user !== unknownUser) return use({ reply, isKnown: true });
    if (isPreflight(request, reply)) return use({ reply, isKnown: false });
    const stranger = (): Reply => use({ reply: unauthenticatedReply(reply), isKnown: false });
    if (reply.code === 401) return stranger();
    // It was refused before anybody asked for its user.
    const isKnown = attempt(
      (one: ApiRequest) => this.#parts.assembled.knows(one),
      request,
      () => false,
    );
    return andThen(isKnown, (known) => (known ? use({ reply, isKnown: true }) : stranger()));
  }

  /** Shortens the time for which requests wait for other servers, since the server ends. */
  drain(): void {
    this.#parts.assembled.drain();
  }

  /**
   * Ends running requests and watches with `reason`, and closes everything. Resolves with the digests of the plane's
   * bootstrap tokens.
   */
  end(reason: StatusError = serviceUnavailable("the control plane is closed")): Promise<ReadonlySet<string>> {
    return (this.#closing ??= this.#end(reason));
  }

  async #end(reason: StatusError): Promise<ReadonlySet<string>> {
    const { end, assembled, host, close } = this.#parts;
    const { clock } = host;
    end.abort(reason);
    assembled.drain();
    for (const request of this.#running) request.abort(reason);
    if (this.#running.size > 0) {
      const quiet = Promise.withResolvers<void>();
      this.#onQuiet = quiet.resolve;
      const cancel = clock.after(endMs, quiet.resolve);
      await quiet.promise;
      cancel();
    }
    return close();
  }

  /** Strangers keep no plane open: `isUse` says whether the request counts as use. */
  #forget(request: ApiRequest, isUse: boolean): void {
    this.#running.delete(request);
    if (isUse) this.#usedMs = this.#parts.host.clock.monotonic();
    if (this.#running.size === 0) this.#onQuiet?.();
  }
}
