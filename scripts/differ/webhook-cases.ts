/** Random webhook configurations and random writes. The same seed gives the same case. */
import { configMap, pod } from "../../test/objects.ts";
import { type Case, denies, type Phase, type Session, sets } from "../../test/webhooks/session.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { definition } from "../../test/crds.ts";
import { chance, pick } from "./choices.ts";

/** Returns at least one and at most `max` members of a list. */
function draw<T>(random: Random, from: readonly T[], max = 3): readonly T[] {
  const count = 1 + Math.floor(random.next() * max);
  return [...new Set(Array.from({ length: count }, () => pick(random, from)))];
}

const groups = ["", "apps", "autoscaling", "policy", "events.k8s.io", "batch", "coordination.k8s.io"];
const versions = ["v1", "v1", "v2", "v1beta1"];
const resources = [
  "configmaps",
  "pods",
  "pods/status",
  "pods/*",
  "pods/eviction",
  "pods/binding",
  "deployments",
  "deployments/scale",
  "*/scale",
  "*/status",
  "horizontalpodautoscalers",
  "events",
  "leases",
  "widgets",
  "widgets/scale",
  "serviceaccounts",
  "serviceaccounts/token",
];
const operations = ["CREATE", "UPDATE", "DELETE", "CONNECT"];
const conditions = [
  "request.operation != 'DELETE'",
  "object != null && has(object.metadata.labels)",
  "request.name == 'a'",
  "request.kind.kind in ['Pod', 'ConfigMap', 'Widget']",
  "oldObject == null",
  "!has(request.subResource) || request.subResource != 'scale'",
  "request.resource.group == ''",
  "request.requestResource.version == 'v1'",
  "request.options.fieldManager == 'x'",
];

/** Whether a name with a star includes another name, which must not stand beside it then. */
function covers(star: string, name: string): boolean {
  const [resource, subresource] = name.split("/");
  return subresource !== undefined && (star === `*/${subresource}` || star === `${resource}/*`);
}

function rule(random: Random, group: string): object {
  const drawn = draw(random, resources, 5);
  const isCovered = (name: string): boolean =>
    drawn.some((other) => other !== name && other.includes("*") && covers(other, name));
  const named = drawn.filter((name) => !isCovered(name));
  return {
    apiGroups: chance(random, 0.6) ? ["*"] : draw(random, ["", group, ...groups]),
    apiVersions: chance(random, 0.6) ? ["*"] : draw(random, versions),
    operations: chance(random, 0.6) ? ["*"] : draw(random, operations),
    resources: chance(random, 0.3) ? [pick(random, ["*", "*/*"])] : named,
    ...(chance(random, 0.3) ? { scope: pick(random, ["*", "Namespaced", "Cluster"]) } : {}),
  };
}

function selector(random: Random, key: string): object {
  if (chance(random, 0.5)) return { matchLabels: { [key]: pick(random, ["yes", "no"]) } };
  const operator = pick(random, ["In", "NotIn", "Exists", "DoesNotExist"]);
  return { matchExpressions: [{ key, operator, ...(operator.endsWith("In") ? { values: ["yes"] } : {}) }] };
}

function webhook(random: Random, phase: Phase, group: string): object {
  return {
    rules: Array.from({ length: 1 + Math.floor(random.next() * 2) }, () => rule(random, group)),
    matchPolicy: pick(random, ["Exact", "Equivalent", "Equivalent"]),
    failurePolicy: pick(random, ["Fail", "Ignore"]),
    ...(chance(random, 0.25) ? { objectSelector: selector(random, "ask") } : {}),
    ...(chance(random, 0.3) ? { matchConditions: [{ name: "c", expression: pick(random, conditions) }] } : {}),
    ...(phase === "mutating" ? { reinvocationPolicy: pick(random, ["Never", "IfNeeded"]) } : {}),
  };
}

type Write = (on: Session, random: Random) => Promise<unknown>;

const names = ["a", "b"];
const labels = (random: Random): object => pick(random, [{}, { labels: { ask: "yes" } }, { labels: { ask: "no" } }]);
const template = { metadata: { labels: { a: "b" } }, spec: pod("t")["spec"] };

/** The bodies of new objects, by the path of their collection. */
const bodies: Readonly<Record<string, (name: string) => object>> = {
  configmaps: (name) => configMap(name, { k: "v" }),
  pods: (name) => pod(name),
  "apps/v1/deployments": () => ({ spec: { selector: { matchLabels: { a: "b" } }, template } }),
  "autoscaling/v2/horizontalpodautoscalers": (name) => scaler(name, "v2"),
  "autoscaling/v1/horizontalpodautoscalers": (name) => scaler(name, "v1"),
  "coordination.k8s.io/v1/leases": () => ({ spec: { holderIdentity: "h" } }),
  serviceaccounts: () => ({}),
  events: () => ({ involvedObject: { kind: "Pod", name: "p" }, reason: "R", message: "m", type: "Normal" }),
};

function scaler(target: string, version: string): object {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: target };
  const cpu = { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } };
  return { spec: { scaleTargetRef, maxReplicas: 3, ...(version === "v2" ? { metrics: [cpu] } : {}) } };
}

const target = { apiVersion: "v1", kind: "Node", name: "n" };
const collections = (on: Session): readonly string[] => [
  ...Object.keys(bodies),
  `${on.group}/v1/widgets`,
  `${on.group}/v2/widgets`,
];

const writes: readonly Write[] = [
  ...Array.from(
    { length: 4 },
    (): Write => (on, random) => {
      const name = pick(random, names);
      const at = pick(random, collections(on));
      const { metadata = {}, ...body } = (bodies[at]?.(name) ?? { spec: { replicas: 1 } }) as { metadata?: object };
      const dry = chance(random, 0.2) ? "?dryRun=All" : "";
      return on.post(on.path(at) + dry, {
        ...typeOf(at),
        ...body,
        metadata: { ...metadata, name, namespace: on.ns, ...labels(random) },
      });
    },
  ),
  (on, random) =>
    on.patch(on.path(`${pick(random, collections(on))}/${pick(random, names)}`), { metadata: labels(random) }),
  (on, random) =>
    on.patch(on.path(`${pick(random, collections(on))}/${pick(random, names)}`), { metadata: labels(random) }),
  (on, random) => {
    // kube-apiserver 1.32.1 calls webhooks twice about some pods.
    const at = pick(
      random,
      collections(on).filter((one) => one !== "pods"),
    );
    return on.send("DELETE", on.path(`${at}/${pick(random, names)}`), undefined, { isVague: true });
  },
  (on, random) =>
    on.patch(on.path(`pods/${pick(random, names)}/status`), {
      status: { phase: pick(random, ["Running", "Pending"]) },
    }),
  (on, random) =>
    on.post(on.path(`pods/${pick(random, names)}/eviction`), {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "a" },
    }),
  (on, random) =>
    on.post(on.path(`pods/${pick(random, names)}/binding?dryRun=All`), { metadata: { name: "a" }, target }),
  (on, random) =>
    on.patch(on.path(`apps/v1/deployments/${pick(random, names)}/scale`), {
      spec: { replicas: pick(random, [1, 2, 3]) },
    }),
  (on, random) =>
    on.patch(on.path(`${on.group}/${pick(random, ["v1", "v2"])}/widgets/${pick(random, names)}/scale`), {
      spec: { replicas: pick(random, [1, 2, 3]) },
    }),
  (on, random) =>
    on.patch(on.path(`${on.group}/${pick(random, ["v1", "v2"])}/widgets/${pick(random, names)}/status`), {
      status: { replicas: pick(random, [1, 2, 3]) },
    }),
  (on, random) =>
    on.post(
      on.path(`serviceaccounts/${pick(random, names)}/token`),
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
      { isVague: true },
    ),
];

/** Returns the type of an object for its body, which custom resources need. */
function typeOf(collection: string): object {
  const [group, version] = collection.split("/");
  return collection.endsWith("/widgets") ? { apiVersion: `${group}/${version}`, kind: "Widget" } : {};
}

async function defineWidgets(on: Session): Promise<void> {
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    subresources: { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
  });
  const both = [version("v1"), version("v2")];
  await on.define(definition(on.group, { scope: "Namespaced", versions: both }), on.path(`${on.group}/v2/widgets`));
}

/** Returns the case with this number. */
export function webhookCase(seed: number): Case {
  return {
    name: `seed ${seed}`,
    async run(on) {
      const random = seededRandom(seed);
      await defineWidgets(on);
      for (const phase of ["mutating", "validating"] as const) {
        const configurations: object[] = [];
        for (let at = 0; at < 1 + Math.floor(random.next() * 4); at++) {
          // Only the first webhook may refuse: if several do, servers may answer with different ones.
          const answer =
            at === 0 && chance(random, 0.15)
              ? denies("no")
              : phase === "mutating" && chance(random, 0.4)
                ? sets("/metadata/labels", { set: String(at) })
                : {};
          configurations.push(await on.webhook(phase, `${phase[0]}${at}`, answer, webhook(random, phase, on.group)));
        }
        await on.configure(phase, phase, configurations);
      }
      await on.settle();
      for (let at = 0; at < 25; at++) await pick(random, writes)(on, random);
    },
  };
}
