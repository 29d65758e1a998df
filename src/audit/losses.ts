/** Counts lost audit events, and logs them at a limited rate. */
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Metrics } from "#std/metrics.ts";
import type { EventsLost } from "./backend.ts";

/** The pause in milliseconds between two log lines about losses. */
const tellEveryMs = 10_000;

interface LossReporter {
  readonly lost: EventsLost;
  /** Logs the losses that were not logged yet. */
  reportRest(): void;
}

/** Counts lost events and logs them at a limited rate. */
export function auditLossReporter(log: Log, metrics: Metrics, clock: Clock): LossReporter {
  let untold = 0;
  const tell = (fields: object): void => {
    log.error({ ...fields, events: untold }, untold === 0 ? "the audit log is not tidy" : "audit events are lost");
    untold = 0;
  };
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  const errors = metrics.counter({
    name: "apiserver_audit_error_total",
    help: "Audit events that were lost, by the plugin that lost them.",
    labels: ["plugin"],
  });
  return {
    lost(plugin, count, error) {
      errors.with(plugin).add(count);
      untold += count;
      const now = clock.monotonic();
      if (now < quietUntilMs) return;
      quietUntilMs = now + tellEveryMs;
      tell({ plugin, error });
    },
    reportRest() {
      if (untold > 0) tell({});
    },
  };
}
