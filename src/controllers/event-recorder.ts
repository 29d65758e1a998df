/** Records events about objects. The same event about an object is written once. */
import type { Event } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import type { ControllerEnvironment } from "./controller.ts";

const recentKeysMax = 4096;

export class EventRecorder {
  readonly #environment: Omit<ControllerEnvironment, "reader">;
  readonly #component: string;
  /** The last recorded events. */
  readonly #recentKeys = new Set<string>();
  #count = 0n;

  /** `component` is the source of the events, with upstream's name. */
  constructor(environment: Omit<ControllerEnvironment, "reader">, component: string) {
    this.#environment = environment;
    this.#component = component;
  }

  /** Records an event, without waiting: an event that cannot be written is lost, with a line in the log. */
  tell(
    about: ApiObject & { readonly kind: string },
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    const { apiVersion = "v1", kind } = about;
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = about.metadata;
    const key = `${uid} ${reason} ${message}`;
    if (this.#recentKeys.has(key)) return;
    if (this.#recentKeys.size >= recentKeysMax) this.#recentKeys.clear();
    this.#recentKeys.add(key);
    const { client, clock, log } = this.#environment;
    // Upstream: events about cluster-scoped objects are in this namespace.
    const eventNamespace = namespace === "" ? "default" : namespace;
    const ms = clock.now();
    const now = timestampOf(ms);
    // Upstream: the time in nanoseconds. Several events may be recorded in a millisecond.
    const suffix = (BigInt(Math.floor(ms)) * 1_000_000n + (this.#count++ % 1_000_000n)).toString(16);
    const event = client.create<Event>(`/api/v1/namespaces/${encodeURIComponent(eventNamespace)}/events`, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name}.${suffix}`, namespace: eventNamespace },
      involvedObject: {
        apiVersion,
        kind,
        namespace,
        name,
        uid,
        ...(resourceVersion === "" ? {} : { resourceVersion }),
      },
      type,
      reason,
      message,
      source: { component: this.#component },
      reportingComponent: this.#component,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    });
    event.catch((err: unknown) =>
      log.info({ err, reason, [kind.toLowerCase()]: `${namespace}/${name}` }, "an event is lost"),
    );
  }
}
