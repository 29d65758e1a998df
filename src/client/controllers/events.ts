/** Writes the events of controllers, as `events.k8s.io/v1`. */
import { microTimestamp } from "#meta/time.ts";
import type { Cluster } from "../cluster.ts";
import { EventRecorder, referenceTo } from "../event-recorder.ts";
import { Event } from "../kinds/events/v1.ts";

interface EventRecorderOptions {
  readonly client: Cluster;
  /** Distinguishes this process from others with the same program. */
  readonly instance: string;
  /** Called for an event that could not be written. */
  readonly failed: (error: unknown) => void;
}

export function eventRecorder({ client, instance, failed }: EventRecorderOptions): EventRecorder {
  const events = client.kind(Event);
  return new EventRecorder({
    clock: client.clock,
    failed,
    create: ({ about, related, controller, name, namespace, firstMs, type, reason, note, action }) =>
      events.create(
        {
          metadata: { name, namespace },
          eventTime: microTimestamp(firstMs),
          reportingController: controller,
          reportingInstance: instance,
          regarding: referenceTo(about),
          related: related && referenceTo(related),
          type,
          reason,
          note,
          action,
        },
        { in: namespace },
      ),
    repeat: ({ name, namespace, count, lastMs }) =>
      events.patch(name, { merge: { series: { count, lastObservedTime: microTimestamp(lastMs) } } }, { in: namespace }),
  });
}
