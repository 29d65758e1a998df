/** Metrics of reloaded configuration files, with upstream's names. */
import type { Clock } from "#std/clock.ts";
import type { Metrics } from "#std/metrics.ts";
import { identityHash } from "./identity.ts";

/**
 * Returns the function that counts a reload: `success` when the new content took effect, `failure` when not.
 * `subsystem` is `authentication`, `authorization` or `encryption`.
 */
export function reloadMetrics(metrics: Metrics, subsystem: string, clock: Clock) {
  const name = `apiserver_${subsystem}_config_controller_automatic_reload`;
  const labels = ["apiserver_id_hash", "status"];
  const count = metrics.counter({
    name: `${name}s_total`,
    help: `Times that the configuration of ${subsystem} was read again, by result.`,
    labels,
  });
  const last = metrics.gauge({
    name: `${name}_last_timestamp_seconds`,
    help: `Time at which the configuration of ${subsystem} was last read again, by result, in seconds since 1970.`,
    labels,
  });
  const identity = identityHash();
  return (status: "success" | "failure"): void => {
    count.with(identity, status).add();
    last.with(identity, status).set(clock.now() / 1000);
  };
}
