/** The bounds of a machine, divided among the processes that serve on it. */
import type { AuditFlags } from "./audit/flags.ts";
import type { FairnessFlags } from "./flow-control/flags.ts";
import { connectionLimits } from "./listener/connection-limits.ts";
import type { ListenerFlags } from "./listener/flags.ts";

type Bounds = FairnessFlags & ListenerFlags & AuditFlags;

/**
 * Returns the options of one of `count` processes. Each has its share of the seats, the connections and the calls of the
 * audit webhook, rounded up, so that a bound is exceeded by less than one for each process. 0 stays 0.
 */
export function dividedBounds<Options extends Bounds>(options: Options, count: number): Options {
  if (count === 1) return options;
  const share = (bound: number): number => Math.ceil(bound / count);
  const { connections, connectionsPerAddress, connectionsPerUser, connectionsPerPlane } = connectionLimits(options);
  return {
    ...options,
    maxRequestsInflight: share(options.maxRequestsInflight),
    maxMutatingRequestsInflight: share(options.maxMutatingRequestsInflight),
    connectionsMax: share(connections),
    connectionsPerAddressMax: share(connectionsPerAddress),
    connectionsPerUserMax: share(connectionsPerUser),
    connectionsPerPlaneMax: share(connectionsPerPlane),
    auditLogBatchThrottleQps: options.auditLogBatchThrottleQps / count,
    auditLogBatchThrottleBurst: share(options.auditLogBatchThrottleBurst),
    auditWebhookBatchThrottleQps: options.auditWebhookBatchThrottleQps / count,
    auditWebhookBatchThrottleBurst: share(options.auditWebhookBatchThrottleBurst),
  };
}
