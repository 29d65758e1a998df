/**
 * The client library: `connect` opens a cluster, whose kinds have typed calls. It works with every server that has the
 * API of Kubernetes; `docs/client.md` introduces it.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { Clock } from "#std/clock.ts";
import { systemRandom } from "#std/random.ts";
import { waitingClock } from "./clock.ts";
import { DomainFinder } from "./cluster/domain.ts";
import { type InformerCallOptions, openInformer } from "./cluster/informer.ts";
import { KindClient } from "./cluster/kind-client.ts";
import type { ClusterParts } from "./cluster/target.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ConnectionSettings, Impersonation } from "./connection-settings.ts";
import type { Informer } from "./informer.ts";
import type { Kind } from "./kind.ts";
import { openConnection } from "./connection.ts";
import { defaultSettings, type Kubeconfig, loadKubeconfig, settingsOf } from "./kubeconfig.ts";
import { RestClient } from "./rest-client.ts";
import type { ClientRequest, Transport } from "./transport.ts";

export type { Applied, ApplyCallOptions, FieldConflict } from "./cluster/calls.ts";
export type { InformerCallOptions } from "./cluster/informer.ts";
export {
  KindClient,
  type ListCallOptions,
  type DeleteAllCallOptions,
  type DeleteCallOptions,
} from "./cluster/kind-client.ts";
export { SubresourceClient } from "./cluster/subresource-client.ts";
export type { CallOptions, Selection, WriteCallOptions } from "./cluster/target.ts";
export { type Predicate, type UntilCallOptions, WaitTimeoutError } from "./cluster/until.ts";
export type { WatchEvent, WatchCallOptions } from "./cluster/watch.ts";

export interface ConnectOptions {
  /**
   * The kubeconfig: the path of a file, paths in order of precedence, or one that was read. Default: the files of
   * `KUBECONFIG`, or `~/.kube/config`, or the account of the pod in which the program runs.
   */
  readonly kubeconfig?: string | readonly string[] | Kubeconfig | undefined;
  /** The context of the kubeconfig; default: its current one. */
  readonly context?: string | undefined;
  /** The settings of the connection, in place of a kubeconfig. */
  readonly settings?: ConnectionSettings | undefined;
  /** The way to the server, in place of a connection of the library's own. It belongs to the caller, who closes it. */
  readonly transport?: Transport | undefined;
  /** The name of the program: the field manager of its writes, and its user agent. */
  readonly manager?: string | undefined;
  /** The user that requests are made as. */
  readonly as?: Impersonation | undefined;
  /** The time; default: the machine's. */
  readonly clock?: Clock | undefined;
}

const defaultManager = "binnacle-client";

interface Opened {
  readonly transport: Transport;
  readonly namespace: string;
  close(): Promise<void>;
}

/**
 * Opens a cluster. Files are read, and mistakes in them throw `KubeconfigError`; nothing is sent before the first call.
 */
export async function connect(options: ConnectOptions = {}): Promise<Cluster> {
  const { clock = waitingClock, manager = defaultManager } = options;
  if (!/^[\x20-\x7e]{1,128}$/.test(manager)) {
    throw new TypeError(`${JSON.stringify(manager)} is no name of a manager: it has 1 to 128 characters of ASCII`);
  }
  return new Cluster({ ...(await open(options, clock, manager)), clock, manager });
}

async function open(options: ConnectOptions, clock: Clock, manager: string): Promise<Opened> {
  const { transport, as } = options;
  if (transport !== undefined) {
    if (as !== undefined) throw new TypeError("a transport decides itself as whom it makes requests");
    return { transport, namespace: "default", close: () => Promise.resolve() };
  }
  const settings = options.settings ?? (await settingsFrom(options, clock));
  if (as?.user === "") throw new TypeError("requests cannot be made as a user without a name");
  const own = as === undefined ? settings : { ...settings, impersonate: as };
  const connection = openConnection(own, { clock, random: systemRandom, userAgent: manager });
  return { transport: connection, namespace: settings.namespace, close: () => connection.close() };
}

async function settingsFrom({ kubeconfig, context }: ConnectOptions, clock: Clock): Promise<ConnectionSettings> {
  if (kubeconfig === undefined) return defaultSettings({ context, clock });
  const isRead = typeof kubeconfig === "object" && "clusters" in kubeconfig;
  return settingsOf(isRead ? kubeconfig : await loadKubeconfig({ files: kubeconfig }), { context, clock });
}

interface ClusterOptions extends Opened {
  readonly clock: Clock;
  readonly manager: string;
  /** The parts that a cluster shares with the one that it was made of. */
  readonly shared?: { readonly domain: DomainFinder; readonly closing: AbortSignal };
}

/** A cluster that a program works with. `close` ends its connections. */
export class Cluster {
  /** Calls by path. */
  readonly rest: RestClient;
  /** The name of the program: the field manager of its writes. */
  readonly manager: string;
  /** The time that everything goes by. */
  readonly clock: Clock;
  readonly #transport: Transport;
  readonly #parts: ClusterParts;
  readonly #domain: DomainFinder;
  readonly #close: () => Promise<void>;
  readonly #closing = new AbortController();

  constructor({ transport, namespace, close, clock, manager, shared }: ClusterOptions) {
    this.rest = new RestClient(transport);
    this.manager = manager;
    this.clock = clock;
    this.#transport = transport;
    const domain = shared?.domain ?? new DomainFinder(this.rest);
    const closing = shared?.closing ?? this.#closing.signal;
    const groupOf = (group: string) => domain.groupOf(group);
    this.#domain = domain;
    this.#parts = { rest: this.rest, clock, random: systemRandom, manager, namespace, groupOf, closing };
    this.#close = close;
  }

  /** Returns the calls on the objects of a kind. */
  kind<T extends ApiObject>(kind: Kind<T>): KindClient<T> {
    return new KindClient(this.#parts, kind);
  }

  /**
   * Starts an informer on the objects of a kind: a copy in memory that follows the cluster, with indexes. `synced`
   * resolves when all objects have been read.
   */
  informer<T extends ApiObject>(kind: Kind<T>, options: InformerCallOptions<T> = {}): Informer<T> {
    return openInformer(this.#parts, kind, options);
  }

  /** Returns the same cluster with a way to it that `wrap` makes of the present one, such as one that refuses writes. */
  through(wrap: (transport: Transport) => Transport): Cluster {
    const { clock, manager } = this;
    const { namespace, closing } = this.#parts;
    const shared = { domain: this.#domain, closing };
    const close = (): Promise<void> => Promise.resolve();
    return new Cluster({ transport: wrap(this.#transport), namespace, close, clock, manager, shared });
  }

  /** Sends any request, and resolves with the decoded answer. Rejects with `ApiError`. */
  call<T>(request: ClientRequest): Promise<T> {
    return this.rest.call(request);
  }

  /**
   * Returns the API domain of the cluster: `k8s.io`, or the name that its groups have instead. Groups of kinds are
   * renamed by the library; a program needs it for names inside of objects, such as groups in rules.
   */
  domain(): Promise<string> {
    return this.#domain.domain();
  }

  /**
   * Ends all requests, watches and informers, and closes the connections that `connect` opened. Watches throw
   * `ConnectionError`, unless their signal has ended them before.
   */
  close(): Promise<void> {
    this.#closing.abort(new ConnectionError("the cluster is closed", { sent: false, temporary: false }));
    return this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
