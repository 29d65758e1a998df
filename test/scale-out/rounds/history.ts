/** The things that are written down in a round: calls of clients, segments of watches, and what etcd committed. */
import type { Random } from "#std/random.ts";

export type CallKind = "create" | "update" | "patch" | "apply" | "delete" | "get" | "list";

/** Times are in microseconds of the monotonic clock of this process. */
export interface Call {
  readonly client: number;
  readonly kind: CallKind;
  /** The name of the object; empty for a list. */
  readonly key: string;
  readonly server: string;
  readonly begin: number;
  readonly end: number;
  /** The status of the answer; 0 when none came. */
  readonly status: number;
  /** The reason of a failure, or the error of the connection. */
  readonly reason?: string;
  /** The version that an update or a deletion names. */
  readonly expected?: number;
  /** The value that a write stores, different for each write. */
  readonly wanted?: string;
  /** The version and the value in the answer. That of a list is the version of all its pages. */
  readonly version?: number;
  readonly value?: string;
  readonly items?: Readonly<Record<string, Item>>;
  /** The versions of further pages of a list. */
  readonly pageVersions?: readonly number[];
}

export interface Item {
  readonly version: number;
  /** Absent in objects that no client of the round wrote. */
  readonly value: string | undefined;
}

export type WatchedEvent =
  | {
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly key: string;
      readonly version: number;
      readonly value: string | undefined;
    }
  | { readonly type: "BOOKMARK"; readonly version: number };

/** All that one watcher heard from the version of a list on, over all its connections. */
export interface Segment {
  readonly watcher: number;
  /** The version of the list. */
  readonly from: number;
  readonly events: WatchedEvent[];
  /** The servers that it was connected to. */
  readonly servers: string[];
}

/** A change that etcd committed. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** The revision of the replaced value; 0 if there was none. */
  readonly before: number;
  /** Whether the object is deleted. */
  readonly isDeletion: boolean;
  readonly value: string | undefined;
}

export interface History {
  readonly keys: readonly string[];
  readonly calls: readonly Call[];
  readonly segments: readonly Segment[];
  /** Sorted by revision. */
  readonly changes: readonly Change[];
  /** The version of the namespace's content before the first call. */
  readonly first: number;
}

export const nowMicros = (): number => Math.round(performance.now() * 1000);

export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;

/** Returns a whole number from `least` to `most`. */
export const between = (random: Random, least: number, most: number): number =>
  least + Math.floor(random.next() * (most - least + 1));
