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
    help: "Requests of known users, by a label of the user.",
    labels: ["username"],
  });
  // The next request is most often from the same user.
  let last: { readonly name: string; readonly uses: Counter } | undefined;
  const count = attemptMetrics({
    metrics,
    clock,
    attempts: { name: "authentication_attempts", help: "Requests whose credentials were checked, by result." },
    durations: {
      name: "authentication_duration_seconds",
      help: "Time for which credentials are checked, by result.",
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
    legacy: counter("serviceaccount_legacy_tokens_total", "Uses of tokens that are kept in a Secret."),
    automatic: counter("serviceaccount_legacy_auto_token_uses_total", "Uses of such tokens that a controller made."),
    manual: counter("serviceaccount_legacy_manual_token_uses_total", "Uses of such tokens that somebody made by hand."),
    invalid: counter(
      "serviceaccount_invalid_legacy_auto_token_uses_total",
      "Uses of such tokens that are marked as invalid.",
    ),
    valid: counter("serviceaccount_valid_tokens_total", "Uses of tokens of pods in their time."),
    stale: counter(
      "serviceaccount_stale_tokens_total",
      "Uses of tokens of pods after the time in which they should have been renewed.",
    ),
  };
  return (use) => counters[use].add();
}
