/** Metrics of validating policies, with kube-apiserver's names: failed validations by the enforced action. */
import type { ObservedCheck, ValidatingPolicies } from "#admission/validating-policy.ts";
import type { Metrics } from "#std/metrics.ts";

/** Returns the recorder of checks. The series of a deleted policy or binding are dropped. */
export function policyMetrics(metrics: Metrics, policies: ValidatingPolicies): (check: ObservedCheck) => void {
  const labels = ["enforcement_action", "error_type", "policy", "policy_binding"];
  const isThere = ([_action, _error, policy = "", binding = ""]: readonly string[]): boolean =>
    policies.has(policy, binding);
  const total = metrics.counter({
    name: "apiserver_validating_admission_policy_check_total",
    help: "[BETA] Requests that a policy has checked, by binding and by what follows.",
    labels,
    isThere,
  });
  const durations = metrics.histogram({
    name: "apiserver_validating_admission_policy_check_duration_seconds",
    help: "[BETA] Time that a policy takes for a request, by binding and by what follows.",
    labels,
    isThere,
    buckets: [0.000_000_5, 0.001, 0.01, 0.1, 1],
  });
  return ({ action, errorType, policy, binding, seconds }) => {
    total.with(action, errorType, policy, binding).add();
    durations.with(action, errorType, policy, binding).observe(seconds);
  };
}
