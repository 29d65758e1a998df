/**
 * The interface of audit backends and their modes, which say how long a request waits for its event. Source: upstream's
 * audit backends.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { EventRecord } from "./event.ts";

/** A sink for audit events. */
export interface EventWriter {
  /** Rejects when the events were not kept. */
  write(records: readonly EventRecord[]): Promise<void>;
  /** Writes pending events and closes. */
  close(): Promise<void>;
}

/** The receiver of a request's events. */
export interface AuditBackend {
  /** Takes an event synchronously. False: the request must not continue without it. Never rejects. */
  process(record: EventRecord): MaybePromise<boolean>;
  /** Resolves when all that was taken is kept, or given up and reported. */
  close(): Promise<void>;
}

/** Hears of events that are lost: by which part of a backend, how many, and why. */
export type EventsLost = (plugin: string, count: number, error: unknown) => void;

/** Requests wait until their events are kept; where it is strict, they do not begin without. */
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
  /** Most bytes of an event. */
  readonly eventBytesMax: number;
  /** Annotation of events that lost their objects. */
  readonly annotation: string;
}

/** Events that are too large lose their objects; those that still are, are lost. */
export function truncatingBackend(inner: AuditBackend, options: TruncateOptions, lost: EventsLost): AuditBackend {
  const { eventBytesMax, annotation } = options;
  return {
    process(record) {
      if (record.bytes <= eventBytesMax) return inner.process(record);
      const shorter = record.truncated(annotation);
      if (shorter.bytes <= eventBytesMax) return inner.process(shorter);
      lost("truncate", 1, new Error(`an event is longer than ${eventBytesMax} bytes without its objects`));
      return true;
    },
    close: () => inner.close(),
  };
}

/** All of them; an event must be taken by each. */
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
