/** The admission plugin PodSecurity of a server, with its metrics under kube-apiserver's names. */
import {
  type ObservedRequest,
  podSecurity,
  type PodSecurityObserver,
  type PodSecuritySettings,
} from "#admission/pod-security.ts";
import type { AdmissionPlugin } from "#admission/plugin.ts";
import type { Pod } from "#api/core/v1.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { Counter, Metrics } from "#std/metrics.ts";
import type { Lookups, StoreFinder } from "../lookups.ts";
import type { ServerParts } from "../server-parts.ts";

interface PodSecurityParts extends Pick<ServerParts, "domain" | "clock" | "metrics"> {
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly lookups: Lookups;
  readonly storeOf: StoreFinder;
}

export function podSecurityPlugin(
  settings: PodSecuritySettings,
  { domain, clock, metrics, gates, lookups, storeOf }: PodSecurityParts,
): AdmissionPlugin {
  return podSecurity({
    ...settings,
    domain,
    clock,
    relaxesUserNamespaces: gates.isOn("UserNamespacesPodSecurityStandards"),
    getNamespace: lookups.getNamespace,
    podsOf(namespace) {
      const store = storeOf("pods")!; // built in
      const entries = store.peekEntries(namespace);
      return { count: entries.length, pod: (index) => store.object(entries[index]!) as unknown as Pod }; // by its schema
    },
    observer: podSecurityMetrics(metrics),
  });
}

function podSecurityMetrics(metrics: Metrics): PodSecurityObserver {
  const ofRequest = ["request_operation", "resource", "subresource"];
  const evaluations = metrics.counter({
    name: "pod_security_evaluations_total",
    help: "Checks of pods by a level of pod security, without exempt requests.",
    labels: ["decision", "mode", "policy_level", "policy_version", ...ofRequest],
  });
  const exemptions = metrics.counter({
    name: "pod_security_exemptions_total",
    help: "Requests that are exempt from pod security.",
    labels: ofRequest,
  });
  const errors = metrics.counter({
    name: "pod_security_errors_total",
    help: "Errors in checks of pod security; after some of them the strictest level was checked.",
    labels: ["fatal", ...ofRequest],
  });
  // Hot path: the most frequent children are looked up once. They exist from the start, as upstream.
  const passed = (operation: string, subresource: string): Counter =>
    evaluations.with("allow", "enforce", "privileged", "latest", operation, "pod", subresource);
  const often = { create: passed("create", ""), update: passed("update", "") };
  for (const operation of ["create", "update"]) {
    for (const resource of ["controller", "pod"]) exemptions.with(operation, resource, "");
  }
  const labels = ({ operation, resource, subresource }: ObservedRequest): readonly [string, string, string] => [
    operation,
    resource,
    subresource,
  ];
  return {
    passed: (operation, subresource) => (subresource === "" ? often[operation] : passed(operation, subresource)).add(),
    evaluated: (evaluation) =>
      evaluations
        .with(evaluation.decision, evaluation.mode, evaluation.level, evaluation.version, ...labels(evaluation))
        .add(),
    exempted: (request) => exemptions.with(...labels(request)).add(),
    failed: (request) => errors.with("false", ...labels(request)).add(),
  };
}
