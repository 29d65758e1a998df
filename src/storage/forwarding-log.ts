/**
 * A log store around another one that forwards everything, both ways. Stores that change a part of it extend this class
 * and override that part.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type {
  CommitResult,
  Compacted,
  LogVersions,
  LogFollower,
  LogRange,
  LogRangeOptions,
  LogStore,
  LogWrite,
  HistoryPage,
  Revision,
  RevisionsAround,
  StorageFull,
  ValueForm,
} from "./log-store.ts";

export abstract class ForwardingLog implements LogStore {
  /** The log to which everything is forwarded. */
  protected readonly log: LogStore;

  constructor(log: LogStore) {
    this.log = log;
  }

  get form(): ValueForm {
    return this.log.form;
  }

  get revision(): Revision {
    return this.log.revision;
  }

  get compactedRevision(): Revision {
    return this.log.compactedRevision;
  }

  get hasHistory(): boolean {
    return this.log.hasHistory;
  }

  get isShared(): boolean {
    return this.log.isShared === true;
  }

  get formName(): string | undefined {
    return this.log.formName;
  }

  get addedBytes(): number {
    return this.log.addedBytes ?? 0;
  }

  get failure(): Error | undefined {
    return this.log.failure;
  }

  get full(): StorageFull | undefined {
    return this.log.full;
  }

  follow(follower: LogFollower): Promise<void> {
    return this.log.follow(follower);
  }

  latest(): MaybePromise<Revision> {
    return this.log.latest();
  }

  commit(write: LogWrite): Promise<CommitResult> {
    return this.log.commit(write);
  }

  range(prefix: string, options: LogRangeOptions): Promise<LogRange | Compacted> {
    return this.log.range(prefix, options);
  }

  history(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<HistoryPage | undefined> {
    return this.log.history(prefix, exact, after, upTo);
  }

  versions(key: string, before: Revision, limit: number): Promise<LogVersions> {
    return this.log.versions(key, before, limit);
  }

  revisionsAround(at: number): Promise<RevisionsAround> {
    return this.log.revisionsAround(at);
  }

  compact(revision: Revision): Promise<void> {
    return this.log.compact(revision);
  }

  isStale(key: string): boolean {
    return this.log.isStale?.(key) === true;
  }

  close(): Promise<void> {
    return this.log.close();
  }
}
