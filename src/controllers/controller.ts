/** The interface of built-in controllers. A controller acts only through a client, as its own user. */
import type { Clock } from "#std/clock.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { WorkQueueMetrics } from "#client/work-queue-metrics.ts";
import type { ApiDomain } from "#meta/api-domain.ts";

export interface ControllerEnvironment {
  /** A client with the controller's own user, which has only the rights of its role. */
  readonly client: RestClient;
  /** A client that lists and watches everything, and gets accounts and namespaces. It never writes. */
  readonly reader: RestClient;
  readonly clock: Clock;
  readonly domain: ApiDomain;
  readonly signal: AbortSignal;
  /** The metrics of work queues; `undefined` when they are not measured. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** Starts a controller, which works until the environment's signal is aborted. Resolves then. */
export type Controller = (environment: ControllerEnvironment) => Promise<void>;
