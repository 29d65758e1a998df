/** The parts of a server that all features share; each feature takes the parts that it needs. */
import type { Health } from "#http/health.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Metrics } from "#std/metrics.ts";
import type { Random } from "#std/random.ts";
import type { Tracer } from "#std/tracer.ts";
import type { Egress } from "./egress/ways.ts";

export interface ServerParts {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly egress: Egress;
  /** Makes traces of requests; `undefined` without `--tracing-config-file`. */
  readonly tracer: Tracer | undefined;
  /** The health checks. Every step of the start is added here and must have ended before `/readyz` passes. */
  readonly health: Health;
}
