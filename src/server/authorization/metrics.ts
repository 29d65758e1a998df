/** Metrics of authorization, with kube-apiserver's names. */
import type { Attributes, Authorizer, Verdict } from "#authz/authorizer.ts";
import { userAnonymous } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { isLate } from "#std/maybe-promise.ts";
import type { Metrics } from "#std/metrics.ts";
import { attemptMetrics } from "../attempt-metrics.ts";

/** Returns the authorizer with metrics: it counts and times every answer. */
export function observedAuthorizer(inner: Authorizer, metrics: Metrics, clock: Clock): Authorizer {
  const count = attemptMetrics({
    metrics,
    clock,
    attempts: {
      name: "authorization_attempts_total",
      help: "Requests whose rights were checked, by result.",
    },
    durations: {
      name: "authorization_duration_seconds",
      help: "Time for which rights are checked, by result.",
    },
  });
  const refused = refusedActions(metrics);
  const record = (verdict: Verdict, attributes: Attributes, startedMs: number): Verdict => {
    count(resultOf(verdict), startedMs);
    if (verdict.decision !== "allow") refused(attributes);
    return verdict;
  };
  return {
    ...inner,
    authorize(attributes) {
      const startedMs = clock.monotonic();
      const verdict = inner.authorize(attributes);
      // Runs for every request, so it makes no closure for a verdict that is not a promise.
      return isLate(verdict)
        ? verdict.then((late) => record(late, attributes, startedMs))
        : record(verdict, attributes, startedMs);
    },
  };
}

/** The number of refused actions that are told apart; all others are counted together. */
const actionsMax = 500;

/** The length of a word of a request from which the request is not counted. It may have any words. */
const wordLengthMax = 400;

/**
 * Counts refused actions, so that a controller that lacks a right can be found. Only accounts of programs, which begin
 * with `system:`, are named: names of people do not belong into metrics.
 */
function refusedActions(metrics: Metrics): (attributes: Attributes) => void {
  const refused = metrics.counter({
    name: "binnacle_authorization_refused_total",
    help: "Requests about resources that were refused for want of a right, by action; users only if they are accounts of programs.",
    labels: ["user", "verb", "group", "resource", "subresource", "namespace"],
    seriesMax: actionsMax,
  });
  return ({ user, isResourceRequest, verb, group, resource, subresource, namespace }) => {
    if (!isResourceRequest) return;
    const isProgram = user.name.startsWith("system:") && user.name !== userAnonymous;
    const words = [isProgram ? user.name : "", verb, group, resource, subresource, namespace];
    if (words.every((word) => word.length <= wordLengthMax)) refused.with(...words).add();
  };
}

function resultOf(verdict: Verdict): string {
  if (verdict.decision === "allow") return "allowed";
  if (verdict.error !== undefined) return "error";
  return verdict.decision === "deny" ? "denied" : "no-opinion";
}
