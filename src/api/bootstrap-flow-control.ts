/**
 * The built-in flow schemas and priority levels, as data. Mandatory ones catch all requests that no other schema
 * matches, and never change; suggested ones may be edited. Source: upstream's `apis/flowcontrol/bootstrap`.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import type { FlowSchema, PolicyRulesWithSubjects, PriorityLevelConfiguration } from "./flowcontrol/v1.ts";

export interface BootstrapFlowControl {
  readonly levels: readonly PriorityLevelConfiguration[];
  readonly schemas: readonly FlowSchema[];
}

/** The names of the schemas and levels that are always in force, stored or not. */
export const mandatoryNames: readonly string[] = ["exempt", "catch-all"];

/** Upstream's annotation that tells whether the server keeps a spec at its suggested value. */
export const autoUpdateAnnotation = "apf.kubernetes.io/autoupdate-spec";

/** The objects by domain, which all control planes of a process share. */
const known = new WeakMap<ApiDomain, BootstrapFlowControl>();

/** Returns all schemas and levels, with the names of the domain. */
export function bootstrapFlowControl(domain: ApiDomain): BootstrapFlowControl {
  const objects = known.get(domain) ?? makeObjects(domain);
  known.set(domain, objects);
  return objects;
}

function makeObjects(domain: ApiDomain): BootstrapFlowControl {
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
  const annotations = { [autoUpdateAnnotation]: "true" };
  const object = <Spec>(kind: string, [name, spec]: Named<Spec>) => ({
    apiVersion,
    kind,
    metadata: { name, annotations },
    spec,
    status: {},
  });
  const all: BootstrapFlowControl = {
    levels: levels.map((level) => object("PriorityLevelConfiguration", level)),
    schemas: schemas.map((schema) => object("FlowSchema", schema)),
  };
  return JSON.parse(domain.rename(JSON.stringify(all))) as BootstrapFlowControl; // only texts were renamed
}

type Named<Spec> = readonly [name: string, spec: Spec];
type Level = Named<PriorityLevelConfiguration["spec"]>;
type Schema = Named<FlowSchema["spec"]>;

const queuedLevel = (
  name: string,
  nominalConcurrencyShares: number,
  lendablePercent: number,
  [queues, handSize]: readonly [number, number],
): Level => [
  name,
  {
    type: "Limited",
    limited: {
      nominalConcurrencyShares,
      limitResponse: { type: "Queue", queuing: { queues, handSize, queueLengthLimit: 50 } },
      lendablePercent,
    },
  },
];

const levels: readonly Level[] = [
  ["exempt", { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }],
  [
    "catch-all",
    {
      type: "Limited",
      limited: { nominalConcurrencyShares: 5, limitResponse: { type: "Reject" }, lendablePercent: 0 },
    },
  ],
  queuedLevel("system", 30, 33, [64, 6]),
  queuedLevel("node-high", 40, 25, [64, 6]),
  queuedLevel("leader-election", 10, 0, [16, 4]),
  queuedLevel("workload-high", 40, 50, [128, 6]),
  queuedLevel("workload-low", 100, 90, [128, 6]),
  queuedLevel("global-default", 20, 50, [128, 6]),
];

const groups = (...names: readonly string[]) => names.map((name) => ({ kind: "Group", group: { name } }));
const users = (...names: readonly string[]) => names.map((name) => ({ kind: "User", user: { name } }));
const systemAccounts = (...names: readonly string[]) =>
  names.map((name) => ({ kind: "ServiceAccount", serviceAccount: { namespace: "kube-system", name } }));

const inNamespaces = (verbs: readonly string[], apiGroup: string, ...resources: readonly string[]) => ({
  verbs,
  apiGroups: [apiGroup],
  resources,
  namespaces: ["*"],
});
const anywhere = (verbs: readonly string[], apiGroup: string, ...resources: readonly string[]) => ({
  ...inNamespaces(verbs, apiGroup, ...resources),
  clusterScope: true,
});

const any = ["*"];
const leading = ["get", "create", "update"];
const everyone = groups("system:unauthenticated", "system:authenticated");
const everything = {
  resourceRules: [anywhere(any, "*", "*")],
  nonResourceRules: [{ verbs: any, nonResourceURLs: any }],
};

/** Makes a flow schema. `by` is the method that distinguishes flows; empty when the schema has one flow. */
const schema = (
  name: string,
  [level, matchingPrecedence, by]: readonly [level: string, precedence: number, by: "" | "ByUser" | "ByNamespace"],
  rule: PolicyRulesWithSubjects,
): Schema => [
  name,
  {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence,
    ...(by === "" ? {} : { distinguisherMethod: { type: by } }),
    rules: [rule],
  },
];

const leases = inNamespaces(leading, "coordination.k8s.io", "leases");

const schemas: readonly Schema[] = [
  schema("exempt", ["exempt", 1, ""], { subjects: groups("system:masters"), ...everything }),
  schema("catch-all", ["catch-all", 10_000, "ByUser"], { subjects: everyone, ...everything }),
  schema("system-nodes", ["system", 500, "ByUser"], { subjects: groups("system:nodes"), ...everything }),
  schema("system-node-high", ["node-high", 400, "ByUser"], {
    subjects: groups("system:nodes"),
    resourceRules: [
      anywhere(any, "", "nodes", "nodes/status"),
      inNamespaces(any, "coordination.k8s.io", "leases"),
    ],
  }),
  schema("probes", ["exempt", 2, ""], {
    subjects: everyone,
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
  }),
  schema("system-leader-election", ["leader-election", 100, "ByUser"], {
    subjects: [...users("system:kube-controller-manager", "system:kube-scheduler"), ...systemAccounts("*")],
    resourceRules: [leases],
  }),
  schema("workload-leader-election", ["leader-election", 200, "ByUser"], {
    subjects: systemAccounts("*"),
    resourceRules: [inNamespaces(leading, "", "endpoints", "configmaps"), leases],
  }),
  schema("endpoint-controller", ["workload-high", 150, "ByUser"], {
    subjects: [
      ...users("system:kube-controller-manager"),
      ...systemAccounts("endpoint-controller", "endpointslicemirroring-controller"),
    ],
    resourceRules: [inNamespaces(leading, "", "endpoints")],
  }),
  schema("kube-controller-manager", ["workload-high", 800, "ByNamespace"], {
    subjects: users("system:kube-controller-manager"),
    ...everything,
  }),
  schema("kube-scheduler", ["workload-high", 800, "ByNamespace"], {
    subjects: users("system:kube-scheduler"),
    ...everything,
  }),
  schema("kube-system-service-accounts", ["workload-high", 900, "ByNamespace"], {
    subjects: systemAccounts("*"),
    ...everything,
  }),
  schema("service-accounts", ["workload-low", 9000, "ByUser"], {
    subjects: groups("system:serviceaccounts"),
    ...everything,
  }),
  schema("global-default", ["global-default", 9900, "ByUser"], { subjects: everyone, ...everything }),
];
