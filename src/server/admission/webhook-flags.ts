/** Flags of admission webhooks. */
import { boolean, duration } from "#std/flags.ts";

const own = (name: string) => [name, "Binnacle"] as const;

export const webhookFlags = {
  admissionTimeoutMs: duration(
    own("admission-timeout"),
    30_000,
    "Time that all admission webhooks of a write have together, within their own times; 0 for that of the request.",
  ),
  webhookCircuitBreaker: boolean(
    own("webhook-circuit-breaker"),
    true,
    "Leave an admission webhook with failurePolicy Ignore alone for a while after it did not answer in its time.",
  ),
};
