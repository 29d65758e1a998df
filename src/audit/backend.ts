/**
 * The interface of audit backends, and their modes, which decide how long a request waits for its event. Source:
 * upstream's audit backends.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { EventRecord } from "./event.ts";

/** The destination of audit events. */
export interface EventWriter {
  /** Writes the events. Rejects when they were not written. */
  write(records: readonly EventRecord[]): Promise<void>;
  /** Writes pending events and closes. */
  close(): Promise<void>;
}

/** A receiver of the events of requests. */
export interface AuditBackend {
  /** Takes an event synchronously. False means that the request must not continue without it. Never rejects. */
  process(record: EventRecord): MaybePromise<boolean>;
  /** Resolves when all accepted events are written, or given up and reported. */
  close(): Promise<void>;
}

/** Called for lost events: with the part of the backend that lost them, their number, and the reason. */
export type EventsLost = (plugin: string, count: number, error: unknown) => void;

/**
 * Returns a backend in which requests wait until their events are written. If it is strict, requests do not begin
 * without their event.
 */
export function blockingBackend(plugin: string, writer: EventWriter, strict: boolean, lost: EventsLost): AuditBackend {
  return {
    process: (record) =>
      writer.write([record]).then(
        () => true,
        (error: unknown) => {
          lost(plugin, 1, error);
          return !strict;
        },
      ),
    close: () => writer.close(),
  };
}

interface TruncateOptions {
  /** The maximum bytes of an event. */
  readonly eventBytesMax: number;
  /** The annotation of events whose objects were removed. */
  readonly annotation: string;
}

/**
 * Returns a backend that removes the objects from events that are too large, and loses the events that are still too
 * large.
 */
export function truncatingBackend(inner: AuditBackend, options: TruncateOptions, lost: EventsLost): AuditBackend {
  const { eventBytesMax, annotation } = options;
  return {
    process(record) {
      if (record.bytes <= eventBytesMax) return inner.process(record);
      const shorter = record.truncate(annotation);
      if (shorter.bytes <= eventBytesMax) return inner.process(shorter);
      lost("truncate", 1, new Error(`an event is longer than ${eventBytesMax} bytes without its objects`));
      return true;
    },
    close: () => inner.close(),
  };
}

/** Returns a backend that passes each event to all backends, each of which must accept it. */
export function unionOf(backends: readonly AuditBackend[]): AuditBackend {
  if (backends.length === 1) return backends[0]!;
  return {
    process(record) {
      const answers = backends.map((backend) => backend.process(record));
      if (answers.every((answer) => answer === true)) return true;
      return Promise.all(answers.map((answer) => Promise.resolve(answer))).then((all) => all.every((answer) => answer));
    },
    async close() {
      await Promise.all(backends.map((backend) => backend.close()));
    },
  };
}
