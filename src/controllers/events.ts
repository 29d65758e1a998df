/** Writes the events of a built-in controller, in the form of upstream's controllers: as `v1`, with a count. */
import type { Event } from "#api/core/v1.ts";
import { EventRecorder, referenceTo } from "#client/event-recorder.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import type { ControllerEnvironment } from "./controller.ts";
import { inNamespace, objectPath } from "./paths.ts";

/**
 * Records an event, without waiting: an event that cannot be written is lost, with a line in the log. Work that still
 * runs when its controller ends records none.
 */
export type TellEvent = (
  about: ApiObject & { readonly kind: string },
  type: "Normal" | "Warning",
  reason: string,
  note: string,
) => void;

const events = "/api/v1/events";

/** `component` is the source of the events, with upstream's name. */
export function eventTeller(environment: Omit<ControllerEnvironment, "reader">, component: string): TellEvent {
  const { client, clock, log, signal } = environment;
  const recorder = new EventRecorder({
    clock,
    // Upstream: the count of such an event goes on as long as the event is remembered.
    seriesMs: Infinity,
    create: ({ about, name, namespace, type, reason, note, count, firstMs, lastMs }) =>
      client.create<Event>(inNamespace(events, namespace), {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name, namespace },
        involvedObject: { ...referenceTo(about), apiVersion: about.apiVersion ?? "v1" },
        type,
        reason,
        message: note,
        source: { component },
        reportingComponent: component,
        firstTimestamp: timestampOf(firstMs),
        lastTimestamp: timestampOf(lastMs),
        count,
      }),
    repeat: ({ name, namespace, count, lastMs }) =>
      client.patch<Event>(objectPath(events, { namespace, name }), {
        count,
        lastTimestamp: timestampOf(lastMs),
      }),
    failed: (err, { about: { kind, metadata }, reason }) => {
      const { namespace, name } = metadata;
      log.info({ err, reason, kind, namespace, name }, "an event is lost");
    },
  });
  signal.addEventListener("abort", () => recorder.drop(), { once: true });
  return (about, type, reason, note) => {
    if (!signal.aborted) recorder.record({ about, controller: component, type, reason, note });
  };
}
