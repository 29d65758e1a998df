/**
 * Priority and fairness of a server. Stored objects configure it, with effect from each acknowledged write; the
 * built-in objects are created at the start and restored once a minute.
 */
import type { FlowSchema, PriorityLevelConfiguration } from "#api/flowcontrol/v1.ts";
import { bootstrapFlowControl } from "#api/bootstrap-flow-control.ts";
import type { RestClient } from "#client/rest-client.ts";
import { reconcileFlowControl } from "#controllers/bootstrap-flow-control.ts";
import { flowSchemaStatusController } from "#controllers/flow-schema-status.ts";
import { dump } from "#flowcontrol/dump.ts";
import { FlowControl } from "#flowcontrol/flow-control.ts";
import { FlowMetrics } from "#flowcontrol/flow-metrics.ts";
import { WatchCounts } from "#flowcontrol/watch-counts.ts";
import type { HandledRequest, Reply } from "#http/api-request.ts";
import type { Health } from "#http/health.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Stores } from "#registry/stores.ts";
import type { Clock } from "#std/clock.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import type { FairnessFlags } from "./flow-control/flags.ts";
import type { GeneralFlags } from "./general-flags.ts";
import type { ServerParts } from "./server-parts.ts";
import type { HandlersByResource } from "./index-handlers.ts";

interface FairnessParts extends Pick<ServerParts, "domain" | "clock" | "log" | "metrics"> {
  readonly options: FairnessFlags & Pick<GeneralFlags, "requestTimeoutMs">;
  readonly cache: Pick<WatchCache, "count">;
  readonly stores: Stores;
}

/** The step of the start that makes the built-in objects. */
export const fairnessStep = "priority-and-fairness-config-producer";

const resources = ["flowschemas", "prioritylevelconfigurations"];
const maintainEveryMs = 60_000;
const retryMs = 1000;
const statusAfterMs = 2000;

export class Fairness {
  readonly control: FlowControl;
  readonly watches = new WatchCounts();
  readonly clock: Clock;
  readonly waitLimitMs: number;
  readonly #parts: FairnessParts;
  readonly #group: string;
  #table: (() => ResourceTable) | undefined;
  readonly #stop = new AbortController();
  #cancel: () => void = () => undefined;
  #cancelStatus: () => void = () => undefined;

  constructor(parts: FairnessParts) {
    const { cache, clock, domain, metrics, options, stores } = parts;
    this.#parts = parts;
    this.clock = clock;
    this.#group = domain.rename("flowcontrol.apiserver.k8s.io");
    // A quarter of the time limit of a request, as upstream.
    this.waitLimitMs = options.requestTimeoutMs / 4;
    this.control = new FlowControl({
      clock,
      metrics: new FlowMetrics(metrics),
      seats: options.maxRequestsInflight + options.maxMutatingRequestsInflight,
      bootstrap: bootstrapFlowControl(domain),
      work: {
        watches: this.watches,
        objects: ({ group, version, resource, namespace }) => {
          const definition = this.#table?.().find(group, version, resource);
          if (definition === undefined || !definition.stored) return undefined;
          const { prefix } = stores.of(definition);
          return cache.count(namespace === "" ? prefix : `${prefix}${namespace}/`);
        },
      },
    });
  }

  /** The handlers that put stored flow schemas and levels into force. */
  get handlers(): HandlersByResource {
    const { control } = this;
    return {
      "flowschemas.flowcontrol.apiserver.k8s.io": {
        cleared: () => control.clear("schemas"),
        changed: (_namespace, name, schema: FlowSchema | undefined) => control.setSchema(name, schema),
      },
      "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {
        cleared: () => control.clear("levels"),
        changed: (_namespace, name, level: PriorityLevelConfiguration | undefined) => control.setLevel(name, level),
      },
    };
  }

  /** `served` returns the table of served resources. */
  start(served: () => ResourceTable): void {
    this.#table = served;
    this.control.start();
  }

  /** Creates the default objects and keeps them up to date. Resolves after the first try; failed tries are repeated. */
  async maintain(client: RestClient, health: Health): Promise<void> {
    // The mandatory objects are in force even when the resources are not served.
    if (!resources.every((resource) => this.#table?.().find(this.#group, "v1", resource) !== undefined)) return;
    const { clock, domain, log } = this.#parts;
    const done = health.startupStep(fairnessStep);
    const round = async (): Promise<void> => {
      let nextMs = maintainEveryMs;
      try {
        await reconcileFlowControl(client, domain);
        done();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        nextMs = retryMs;
        log.warn({ error: String(error) }, "could not bring the default flow schemas up to date; trying again");
      }
      if (!this.#stop.signal.aborted) this.#cancel = clock.after(nextMs, () => void round());
    };
    await round();
    // No client waits for the status, so clients that wait for the start come first.
    this.#cancelStatus = clock.after(statusAfterMs, () => {
      void flowSchemaStatusController({ client, clock, domain, log, signal: this.#stop.signal });
    });
  }

  /** Answers requests for the paths that show levels, queues and requests; `undefined` for all other paths. */
  readonly reply = (request: HandledRequest): Reply | undefined => {
    if (!request.path.startsWith("/debug/")) return undefined;
    const details = (request.query.get("includeRequestDetails") ?? "") !== "";
    const text = dump(this.control, request.path, details, this.clock);
    if (text === undefined) return undefined;
    return {
      code: 200,
      contentType: "text/plain; charset=utf-8",
      headers: { "cache-control": "no-cache, private" },
      bytes: Buffer.from(text),
    };
  };

  close(): void {
    this.#stop.abort();
    this.#cancel();
    this.#cancelStatus();
    this.control.close();
  }
}
