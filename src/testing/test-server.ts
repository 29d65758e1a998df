/**
 * A server for tests: in memory, silent, on a free port of this machine, with means that only tests need. Several can
 * run in one process. `start-test-server.ts` starts them.
 */
import type { Cluster } from "#client/cluster.ts";
import type { RequestFault, RequestMatch } from "./faults.ts";
import type { RecordedRequest } from "./request-record.ts";

/** A state of the server to which `restore` goes back. It belongs to one server. */
export interface Snapshot {
  /** The version of the store in this state, as objects and lists show it. */
  readonly resourceVersion: string;
}

/** Plans faults for requests of clients. The requests of the server's own controllers meet none. */
export interface FaultControls {
  /** Plans a fault for the next request that matches, or for the next `times` ones. Throws `RangeError`. */
  next(match: RequestMatch, fault: RequestFault, options?: { readonly times?: number }): void;
  /** Cuts the connections of the watches that match, all by default. Returns their number. */
  dropWatches(match?: RequestMatch): number;
  /** Forgets all earlier versions: a list or a watch that begins at one of them gets 410 Expired. */
  compact(): Promise<void>;
  /** Forgets planned faults. */
  clear(): void;
}

/** The time of the server, which is that of the machine until a test advances it. */
export interface ClockControls {
  /** Returns milliseconds since the epoch. */
  now(): number;
  /**
   * Advances the time: `"90s"`, `"1h30m"`, or milliseconds. What is due then happens, once each, as after a sleep of the
   * machine. Resolves when the server has settled. Rejects with `RangeError` for a text that is no duration.
   */
  advance(duration: string | number): Promise<void>;
}

export interface TestServer extends AsyncDisposable {
  /** The URL as `https://127.0.0.1:port`. */
  readonly url: string;
  /** The authority of the server's certificate, as PEM. */
  readonly ca: string;
  /** The path of a file with the authority. */
  readonly caFile: string;
  /** The bearer token of an administrator. */
  readonly token: string;
  /** The text of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** The path of a file with this text. Both files are removed when the server is closed. */
  readonly kubeconfigFile: string;
  /** `fetch` as the administrator, with the trust that it needs. It takes a path, too: `/api/v1/namespaces`. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /**
   * Connects the client library as the administrator. `manager` is the name of the writer and the user agent. What was
   * connected is closed with the server.
   */
  client(manager?: string): Promise<Cluster>;
  /**
   * Goes back to the state after the start: objects, faults and recorded requests. Versions go on, so running watches
   * see what is deleted, changed and added. Finalizers, admission and quotas do not hold it up. The time stays.
   */
  reset(): Promise<void>;
  /** Remembers the present objects. */
  snapshot(): Snapshot;
  /** Goes back to the objects of a snapshot, as `reset` does. Rejects with `TypeError` for the snapshot of another server. */
  restore(snapshot: Snapshot): Promise<void>;
  /**
   * Resolves when the server's controllers have nothing to do, no request runs, and watchers have been sent everything.
   * Rejects after ten seconds, with the reason in its message.
   */
  settled(): Promise<void>;
  readonly clock: ClockControls;
  readonly faults: FaultControls;
  /** Returns the requests of clients since the start or the last `reset`; the latest 10,000. */
  requests(): readonly RecordedRequest[];
  /** Returns the latest 200 lines of the server's log. */
  logs(): readonly string[];
  /** Stops the server. Further calls return the promise of the first. */
  close(): Promise<void>;
}
