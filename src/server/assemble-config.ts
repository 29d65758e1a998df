/** Input and output of `assemble`. */
import type { CodeIssuer } from "#authn/code-exchange.ts";
import type { compileRule } from "#authz/rules.ts";
import type { Term } from "#client/leader-election.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { ServiceAddress } from "#egress/service-address.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { ChainOptions } from "#http/chain.ts";
import type { RequestMetrics, RequestTarget } from "#http/request-metrics.ts";
import type { IpRange } from "#meta/ip-range.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { CacheTraffic, VersionReader, WatchCache } from "#storage/watch-cache.ts";
import type { AdmissionPlan } from "./admission/plan.ts";
import type { AuthenticationPlan } from "./authentication/plan.ts";
import type { AuthorizationPlan } from "./authorization/plan.ts";
import type { ProxyClient } from "./aggregation/proxy-client.ts";
import type { ClientTrust } from "./authentication/client-trust.ts";
import type { ControllerCredentials } from "./controllers/credentials.ts";
import type { Endpoints } from "./endpoints.ts";
import type { ServerOptions } from "./options.ts";
import type { KindsPlan } from "./served-kinds.ts";
import type { Peers } from "./peers.ts";
import type { KubeletClient } from "./nodes/kubelet-client.ts";
import type { ServerParts } from "./server-parts.ts";

/** The configuration from flags and files, read and checked before anything is opened or written. */
export interface Plans {
  readonly kinds: KindsPlan;
  /** The ranges of `--service-cluster-ip-range`. */
  readonly clusterIps: readonly IpRange[];
  readonly authentication: AuthenticationPlan;
  readonly authorization: AuthorizationPlan;
  readonly admission: AdmissionPlan;
  readonly controllerCredentials: ControllerCredentials;
  readonly proxyClient: ProxyClient;
  readonly kubeletClient: KubeletClient;
}

export interface AssembleConfig extends ServerParts {
  /** Returns the address to which a connection to a node goes instead; tests set it. */
  readonly route?: ((address: ServiceAddress) => ServiceAddress) | undefined;
  readonly options: ServerOptions;
  readonly plans: Plans;
  readonly cache: WatchCache & CacheTraffic & VersionReader;
  /** The other servers of the store; `undefined` where it has no others. */
  readonly peers: Peers | undefined;
  /** Whether values of a resource are kept encrypted, or may be. */
  encrypts(of: { readonly group: string; readonly resource: string }): boolean;
  readonly requestMetrics: RequestMetrics;
  /** The clock of connections, and of the deadlines of requests. */
  readonly connectionClock: Clock;
  /** Requests whose bodies or objects have more bytes are handled in threads. */
  readonly largeBytes: number;
  /** Records requests; `undefined` without an audit policy. */
  readonly auditFilters: Required<Pick<ChainOptions, "audit" | "auditUnauthenticated">> | undefined;
  /** The handlers of paths outside the API; the router calls them after authorization. */
  readonly endpoints: Endpoints;
  readonly clientTrust: ClientTrust;
  /** Prepares the rules of roles, which other control planes of the process share; left out: they share none. */
  readonly compileRule?: typeof compileRule | undefined;
  /** The bearer token of a user in `system:masters`. */
  readonly adminToken: string;
  /** The URL by which clients on this machine reach the server. */
  readonly url: string;
  /**
   * Resolves when there may be work for controllers, since the store has all that they would make at their start; left
   * out: they start at once.
   */
  readonly firstWork?: Promise<void> | undefined;
  /** Returns the handler of the requests of controllers, which does its work by this one; left out: it is this one. */
  readonly handlesOwn?: ((handle: Assembled["handle"]) => Assembled["handle"]) | undefined;
  /** Aborted when the server ends before its port, with the reason for clients. */
  readonly endOfService?: AbortSignal | undefined;
}

export interface Assembled {
  /** The client of the server itself, which may do everything. */
  readonly client: RestClient;
  /** Returns that client, restricted so that it writes only during a term. */
  clientWithin(term: Term): RestClient;
  /** Never rejects: errors become replies. */
  handle(request: ApiRequest): MaybePromise<Reply>;
  /** Whether the credentials of a request are those of a user. */
  knows(request: ApiRequest): MaybePromise<boolean>;
  /** Returns the identity providers at which people may sign in. */
  issuers(): readonly CodeIssuer[];
  /** Whether a resource or subresource exists. Bounds the label values of metrics. */
  serves(target: RequestTarget): boolean;
  hasKind(group: string, version: string, kind: string): boolean;
  /** Whether the indexes that decide about requests are in step with the store. */
  isSynced(): boolean;
  /** The number of requests that the server's controllers wait for; watches do not count. */
  ownRequests(): number;
  /** Whether the indexes that decide about requests have taken in everything that they were told. */
  isCaughtUp(): boolean;
  /** Shortens the time for which requests wait for other servers, since the server ends. */
  drain(): void;
  /** Ends the controllers. Called when no request is running, before the cache is closed. */
  close(): Promise<void>;
}
