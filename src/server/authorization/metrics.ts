/** Metrics of authorization, with kube-apiserver's names. */
import type { Attributes, Authorizer, Verdict } from "#authz/authorizer.ts";
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

/**
 * The numbers of refused actions that are told apart: of one account, of the accounts of one home, and of all. None can
 * displace those of others: what goes beyond its share is counted together.
 */
const shares = { account: 20, home: 100, all: 1000 } as const;

/** The length of a word of a request from which the request is not counted. It may have any words. */
const wordLengthMax = 400;

/**
 * Counts refused actions, so that a controller that lacks a right can be found. Only accounts of programs are told
 * apart: names of people do not belong into metrics, and strangers choose the words of their requests.
 */
function refusedActions(metrics: Metrics): (attributes: Attributes) => void {
  const labels = ["user", "verb", "group", "resource", "subresource", "namespace"] as const;
  const refused = metrics.counter({
    name: "binnacle_authorization_refused_total",
    help: "Requests about resources that were refused for want of a right: those of accounts of programs by action, all others together.",
    labels,
    seriesMax: shares.all + 2, // those of others, and those beyond a share
  });
  const ofOthers = refused.with(...labels.map(() => ""));
  const hasShare = sharedOut();
  return ({ user, isResourceRequest, verb, group, resource, subresource, namespace }) => {
    if (!isResourceRequest) return;
    const home = homeOf(user.name);
    if (home === undefined) return ofOthers.add();
    const words = [user.name, verb, group, resource, subresource, namespace];
    if (words.some((word) => word.length > wordLengthMax)) return;
    refused.with(...(hasShare(home, words) ? words : labels.map(() => "other"))).add();
  };
}

/** Returns a function that says whether an action of an account is within the shares. It stays so once it was. */
function sharedOut(): (home: string, words: readonly string[]) => boolean {
  const known = new Set<string>();
  const used = new Map<string, number>();
  const usedBy = (holder: string): number => used.get(holder) ?? 0;
  return (home, words) => {
    const action = words.join("\u0000");
    if (known.has(action)) return true;
    const account = `${home}\u0000${words[0]}`;
    const isFull = known.size >= shares.all || usedBy(home) >= shares.home || usedBy(account) >= shares.account;
    if (isFull) return false;
    known.add(action);
    for (const holder of [home, account]) used.set(holder, usedBy(holder) + 1);
    return true;
  };
}

/**
 * Returns the accounts with which the account of a program has a share in common: those of its namespace, all nodes, or
 * the components of the cluster. `undefined` for people and for strangers.
 */
const homeOf = (user: string): string | undefined => /^system:(?:serviceaccount:[^:]+:|node:|kube-)/.exec(user)?.[0];

function resultOf(verdict: Verdict): string {
  if (verdict.decision === "allow") return "allowed";
  if (verdict.error !== undefined) return "error";
  return verdict.decision === "deny" ? "denied" : "no-opinion";
}
