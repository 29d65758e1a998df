/** A store that a server has opened: its cache, and what can be done with the log below it. */
import type { LogWatchCache } from "./watch-cache/log-watch-cache.ts";
import type { Revision } from "./log-store.ts";

export interface OpenedStore {
  readonly cache: LogWatchCache;
  /** Returns what people should know about the start: a loss was accepted, or cannot be excluded. */
  notice(): string | undefined;
  /** The work on the log of this process; a log without files of its own has none. */
  readonly maintenance?: StoreMaintenance;
  /** The health checks of a log elsewhere. */
  readonly checks?: readonly StoreCheck[];
  /**
   * Looks once more whether nothing else fills the store, when this server has made itself known. Rejects with
   * `StorageFailure`.
   */
  confirm?(): Promise<void>;
  /** Notes that the server answers requests, and that this store is therefore the one that it uses. */
  served?(): void;
  /** Releases what the log needs beside itself; called when the cache is closed. */
  close?(): Promise<void> | void;
}

/** A check of the log, with the endpoints that show it. */
interface StoreCheck {
  readonly name: string;
  readonly endpoints: readonly ("healthz" | "livez" | "readyz")[];
  /** Returns the reason why the check fails. */
  problem(): string | undefined;
}

export interface StoreMaintenance {
  /** Writes a consistent copy to a file while writes go on; resolves with the revision that it shows. */
  backup(file: string): Promise<Revision>;
  /**
   * Drops all history before a revision, or before a time (milliseconds since the epoch), and returns the room to the
   * file system. Resolves with the revision and the bytes by which the file shrank.
   */
  drop(
    before: { readonly revision: Revision } | { readonly at: number },
  ): Promise<{ readonly revision: Revision; readonly bytes: number }>;
  /**
   * The approximate number of bytes of all values in the log, the revision up to which superseded ones are gone, and the
   * bytes of the file.
   */
  readonly size: { readonly bytes: number; readonly since: Revision; readonly fileBytes: number };
  /** Resolves when the thread that owns the log has answered. */
  probe(): Promise<void>;
}
