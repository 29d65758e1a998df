/** Checks of objects: what is stuck, what names things that do not exist, what has used up its quota. */
import { apiVersionOf } from "#meta/group-version.ts";
import { humanDuration } from "#meta/human-duration.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { namespaceWords, objectWords } from "#meta/printed-command.ts";
import { compareQuantities, parseQuantity, type Quantity } from "#meta/quantity.ts";
import { shownName } from "../open-cluster.ts";
import { Deletions } from "../explain/deletion.ts";
import { bindingText, roleText } from "#authz/grants.ts";
import { readGrants } from "../explain/grants.ts";
import type { DoctorCheck, DoctorFinding, ExaminedCluster } from "./finding.ts";
import { conditionOf, listAll, placeOf } from "./lists.ts";
import { counted, someOf } from "./words.ts";

/** The time after which a deletion or a claim counts as stuck. */
const stuckMs = 60_000;

export const objectChecks: readonly DoctorCheck[] = [
  { name: "namespaces that stay", run: stuckNamespaces },
  { name: "deletions that do not end", run: stuckDeletions },
  { name: "owners of kinds that are not served", run: unservedOwners },
  { name: "bindings to roles that do not exist", run: danglingBindings },
  { name: "quotas", run: fullQuotas },
  { name: "claims without a volume", run: waitingClaims },
  { name: "workloads without pods", run: idleWorkloads },
  { name: "workloads whose pods are refused", run: refusedPods },
];

async function stuckNamespaces({ cluster, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const namespaces = await listAll(cluster, "", "namespaces");
  return namespaces.flatMap((namespace): DoctorFinding[] => {
    const { deletionTimestamp, name = "" } = namespace.metadata;
    if (deletionTimestamp === undefined || nowMs - Date.parse(deletionTimestamp) < stuckMs) return [];
    const reasons = [
      "NamespaceDeletionDiscoveryFailure",
      "NamespaceDeletionGroupVersionParsingFailure",
      "NamespaceDeletionContentFailure",
      "NamespaceContentRemaining",
      "NamespaceFinalizersRemaining",
    ].flatMap((type) => {
      const condition = conditionOf(namespace, type);
      return condition?.status === "True" ? [condition.message ?? type] : [];
    });
    const since = humanDuration(nowMs - Date.parse(deletionTimestamp));
    return [
      {
        severity: "problem",
        about: `namespace/${name}`,
        what: `It is being deleted for ${since}. ${reasons.length === 0 ? "Its status does not say why it stays." : reasons.join("; ")}`,
        next: `See what is left in it: binnacle tree ${objectWords("ns", name)}`,
      },
    ];
  });
}

async function stuckDeletions({ cluster, found, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const deletions = await Deletions.in(cluster);
  return found.objects.flatMap(({ resource, metadata }): DoctorFinding[] => {
    const { deletionTimestamp, finalizers = [], name = "", namespace } = metadata;
    if (deletionTimestamp === undefined || finalizers.length === 0 || resource.resource === "namespaces") return [];
    if (nowMs - Date.parse(deletionTimestamp) < stuckMs) return [];
    const [since = "", ...notes] = deletions.notes(metadata, [], nowMs);
    return [
      {
        severity: "problem",
        about: `${shownName(resource, name)}${namespace === undefined ? "" : ` in ${namespace}`}`,
        what: `It ${since}: it ${notes.join(", and it ")}.`,
        next:
          deletions.strangeFinalizers(metadata).length === 0
            ? `See what it owns: binnacle tree ${objectWords(resource.resource, name)}${namespaceWords(namespace)}`
            : `If whoever set the finalizer is gone for good, remove it: ${deletions.removalCommand(resource, metadata)}`,
      },
    ];
  });
}

async function unservedOwners({ cluster, found }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const { resources, missing } = await cluster.discovered();
  if (missing.length > 0) return []; // what is not served cannot be told
  const served = new Set(resources.map((one) => `${apiVersionOf(one)} ${one.kind}`));
  const objects = new Map<string, string[]>();
  for (const { resource, metadata } of found.objects) {
    for (const { apiVersion, kind } of metadata.ownerReferences ?? []) {
      const key = `${apiVersion} ${kind}`;
      if (served.has(key)) continue;
      const names = objects.get(key);
      const name = shownName(resource, metadata.name ?? "");
      if (names === undefined) objects.set(key, [name]);
      else names.push(name);
    }
  }
  return [...objects].map(([key, names]) => ({
    severity: "warning",
    about: key,
    what: `${counted(names.length, "object")} ${names.length === 1 ? "is" : "are"} owned by it, and the server does not serve this kind: ${someOf(names)}.`,
    next: "The garbage collector cannot tell whether the owner exists, so it never collects them. Bring the definition back, or remove the reference.",
  }));
}

async function danglingBindings({ cluster }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const grants = await readGrants(cluster, "");
  return grants
    .filter(({ rules }) => rules === undefined)
    .map((grant) => ({
      severity: "warning",
      about: bindingText(grant),
      what: `It gives ${roleText(grant)}, which does not exist, so it gives nothing.`,
      next: "Create the role, or delete the binding.",
    }));
}

/** The share of a quota from which it is told. */
const nearlyFullPercent = 90n;

const times = (quantity: Quantity, factor: bigint): Quantity => ({ ...quantity, unscaled: quantity.unscaled * factor });

async function fullQuotas({ cluster }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  interface Status {
    readonly hard?: Readonly<Record<string, string>>;
    readonly used?: Readonly<Record<string, string>>;
  }
  const quotas = await listAll(cluster, "", "resourcequotas");
  return quotas.flatMap((quota) => {
    const { hard = {}, used = {} } = (quota["status"] ?? {}) as Status; // of a quota
    return Object.entries(hard).flatMap(([name, limit]): DoctorFinding[] => {
      const [most, now] = [parseQuantity(limit), parseQuantity(used[name] ?? "0")];
      if (most === undefined || now === undefined || most.unscaled <= 0n) return [];
      const isFull = compareQuantities(now, most) >= 0;
      const isNear = compareQuantities(times(now, 100n), times(most, nearlyFullPercent)) >= 0;
      if (!isNear) return [];
      return [
        {
          severity: isFull ? "problem" : "warning",
          about: `resourcequota/${placeOf(quota)}`,
          what: `It has used ${used[name] ?? "0"} of ${limit} for ${name}${isFull ? ", so more is refused with 403" : ""}.`,
          next: "Raise the limit in spec.hard, or delete what is not needed.",
        },
      ];
    });
  });
}

async function waitingClaims({ cluster, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const claims = (await listAll(cluster, "", "persistentvolumeclaims")).filter((claim) => phaseOf(claim) === "Pending");
  if (claims.length === 0) return [];
  const classes = await listAll(cluster, "storage", "storageclasses");
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  return claims.flatMap((claim): DoctorFinding[] => {
    const { storageClassName } = (claim["spec"] ?? {}) as { readonly storageClassName?: string }; // of a claim
    const about = `persistentvolumeclaim/${placeOf(claim)}`;
    if (storageClassName === undefined) {
      const what = "It names no storage class, and there was no default one when it was made, so it gets no volume.";
      return [{ severity: "problem", about, what, next: classAdvice([...names].map(String)) }];
    }
    if (storageClassName !== "" && !names.has(storageClassName)) {
      const what = `It waits for the storage class ${JSON.stringify(storageClassName)}, which does not exist.`;
      const others = names.size === 0 ? "" : `, or use one of: ${someOf([...names].map(String))}`;
      return [{ severity: "problem", about, what, next: `Create the class${others}.` }];
    }
    if (ageMs(claim, nowMs) < stuckMs) return [];
    const what = "It waits for a volume: no volume fits, or what provides volumes of its class does not run.";
    return [{ severity: "warning", about, what, next: "See its events: kubectl describe pvc." }];
  });
}

/** Returns what can be done for a claim without a class. */
function classAdvice(names: readonly string[]): string {
  if (names.length === 0) return "The cluster has no storage class: create one, and name it in spec.storageClassName.";
  return `Set spec.storageClassName to one of: ${someOf(names)}; or mark one as the default: annotation storageclass.kubernetes.io/is-default-class: "true".`;
}

/** Finds workloads whose controller does nothing: on a server without kube-controller-manager this is the first question of newcomers. */
async function idleWorkloads({ cluster, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const kinds = ["deployments", "statefulsets", "daemonsets", "replicasets"];
  const all = (await Promise.all(kinds.map((plural) => listAll(cluster, "apps", plural)))).flat();
  const idle = all.filter((one) => {
    const { observedGeneration } = (one["status"] ?? {}) as { readonly observedGeneration?: number }; // of a workload
    return observedGeneration === undefined && ageMs(one, nowMs) >= 10_000;
  });
  if (idle.length === 0) return [];
  return [
    {
      severity: "problem",
      about: counted(idle.length, "workload"),
      what: `No controller has looked at ${idle.length === 1 ? "it" : "them"}, so there are no pods: ${someOf(idle.map(placeOf))}.`,
      next: "Run kube-controller-manager (docs/control-plane.md), or let the server pretend with --simulate=workloads (docs/simulation.md): by itself it keeps objects, and runs nothing.",
    },
  ];
}

/** Finds workloads whose pods cannot be made: a quota, a policy or a webhook refuses them, and nobody sees the answer. */
async function refusedPods({ cluster }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const kinds = ["deployments", "replicasets"];
  const all = await Promise.all(kinds.map((plural) => listAll(cluster, "apps", plural)));
  const [deployments = [], sets = []] = all;
  const findingsOf = (kind: string, objects: readonly Unstructured[]): readonly DoctorFinding[] =>
    objects.flatMap((object): DoctorFinding[] => {
      const failure = conditionOf(object, "ReplicaFailure");
      if (failure?.status !== "True") return [];
      return [
        {
          severity: "problem",
          about: `${kind}/${placeOf(object)}`,
          what: `Its pods cannot be made: ${failure.message ?? failure.reason ?? "no reason is given"}`,
          next: "Remove the cause that the message names, such as a full quota, a policy, or a field of the template; its controller tries again.",
        },
      ];
    });
  // A set of a deployment has the failure of the deployment.
  const single = sets.filter(({ metadata }) => (metadata.ownerReferences ?? []).length === 0);
  return [...findingsOf("deployment", deployments), ...findingsOf("replicaset", single)];
}

const phaseOf = ({ status }: Unstructured): string | undefined => ((status ?? {}) as { readonly phase?: string }).phase; // of a claim

const ageMs = ({ metadata: { creationTimestamp } }: Unstructured, nowMs: number): number =>
  nowMs - Date.parse(creationTimestamp ?? "");
