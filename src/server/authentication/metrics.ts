/** Metrics of authentication, with kube-apiserver's names. Only the server's own users appear as labels. */
import type { Authentication, Authenticator } from "#authn/authenticator.ts";
import type { TokenUse } from "#authn/service-account-token.ts";
import type { Clock } from "#std/clock.ts";
import { isLate } from "#std/maybe-promise.ts";
import type { Counter, Metrics } from "#std/metrics.ts";

import { attemptMetrics } from "../attempt-metrics.ts";

/** Returns the authenticator with metrics: it counts and times every answer. Anonymous users count as users. */
export function observeAuthenticator(inner: Authenticator, metrics: Metrics, clock: Clock): Authenticator {
  const users = metrics.counter({
    name: "authenticated_user_requests",
    help: "Counter of authenticated requests broken out by username.",
    labels: ["username"],
  });
  // The next request is most often from the same user.
  let last: { readonly name: string; readonly uses: Counter } | undefined;
  const count = attemptMetrics({
    metrics,
    clock,
    attempts: { name: "authentication_attempts", help: "Counter of authenticated attempts." },
    durations: {
      name: "authentication_duration_seconds",
      help: "Authentication duration in seconds broken out by result.",
    },
  });
  const record = (answer: Authentication, startedMs: number): Authentication => {
    if (answer.outcome === "user") {
      const { name } = answer.user;
      if (last?.name !== name) last = { name, uses: users.with(knownName(name)) };
      last.uses.add();
    }
    count(resultOf(answer), startedMs);
    return answer;
  };
  return {
    authenticate(credentials) {
      const startedMs = clock.monotonic();
      const answer = inner.authenticate(credentials);
      // Runs for every request, so it makes no closure for an answer that is not a promise.
      return isLate(answer) ? answer.then((late) => record(late, startedMs)) : record(answer, startedMs);
    },
  };
}

function resultOf({ outcome }: Authentication): string {
  if (outcome === "user") return "success";
  return outcome === "none" ? "failure" : "error";
}

/** Returns the label of a user. As upstream, a few own users have their name; all others share a label. */
function knownName(user: string): string {
  if (/^(?:admin|client|kube_proxy|kubelet|system:serviceaccount:kube-system:default)$/.test(user)) return user;
  return user.includes("@") ? "email_id" : "other";
}

/** Returns the counter of uses of tokens that upstream would have expired. */
export function tokenUseCounter(metrics: Metrics): (use: TokenUse) => void {
  const counter = (name: string, help: string) => metrics.counter({ name, help }).with();
  const counters = {
    legacy: counter("serviceaccount_legacy_tokens_total", "Cumulative legacy service account tokens used"),
    automatic: counter("serviceaccount_legacy_auto_token_uses_total", "Cumulative auto-generated legacy tokens used"),
    manual: counter("serviceaccount_legacy_manual_token_uses_total", "Cumulative manually created legacy tokens used"),
    invalid: counter(
      "serviceaccount_invalid_legacy_auto_token_uses_total",
      "Cumulative invalid auto-generated legacy tokens used",
    ),
    valid: counter("serviceaccount_valid_tokens_total", "Cumulative valid projected service account tokens used"),
    stale: counter("serviceaccount_stale_tokens_total", "Cumulative stale projected service account tokens used"),
  };
  return (use) => counters[use].add();
}
