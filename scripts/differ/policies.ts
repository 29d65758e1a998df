/**
 * Cases for the comparison of admission policies: policies with bindings and parameters, some invalid on purpose, and
 * requests that match them. The same seed gives the same case.
 */
import { type Random, seededRandom } from "#std/random.ts";
import { chance, maybe, pick, some, upTo } from "./choices.ts";
import { bindingSpec } from "./policy-bindings.ts";
import { mutatingSpec, validatingSpec } from "./policy-specs.ts";
import { subjects } from "./policy-subjects.ts";
import { type PolicyRequest, requestsAbout } from "./policy-writes.ts";
import type { Json } from "./servers.ts";

/** Policies with bindings and parameters, and requests that match them. */
export interface PolicyCase {
  readonly namespaceLabels: Json;
  readonly params: readonly PolicyRequest[];
  /** Invalid policies and bindings, which servers refuse: none is stored. */
  readonly wrong: readonly PolicyRequest[];
  /** Policies and their bindings. */
  readonly enforced: readonly PolicyRequest[];
  readonly requests: readonly PolicyRequest[];
}

const path = "/apis/admissionregistration.k8s.io";

/** Returns the request that creates a policy or a binding. */
function registration(kind: string, name: string, spec: Json): PolicyRequest {
  const version = kind.startsWith("Validating") ? "v1" : "v1alpha1";
  const plural = kind.endsWith("Policy") ? `${kind.toLowerCase().slice(0, -1)}ies` : `${kind.toLowerCase()}s`;
  const body = {
    apiVersion: `admissionregistration.k8s.io/${version}`,
    kind,
    metadata: { name, labels: { differ: "yes" } },
    spec,
  };
  return { method: "POST", path: `${path}/${version}/${plural}`, body };
}

const kindOf = (isMutating: boolean): string => (isMutating ? "MutatingAdmissionPolicy" : "ValidatingAdmissionPolicy");

/** Returns the requests that create a policy with its bindings. */
function withBindings(random: Random, name: string, isMutating: boolean): PolicyRequest[] {
  const { spec, hasParams } = isMutating ? mutatingSpec(random, true) : validatingSpec(random, true);
  const kind = kindOf(isMutating);
  // kube-apiserver evaluates bindings in a random order, which matters if they change objects.
  const bindings = isMutating || chance(random, 0.7) ? 1 : 2;
  return [
    registration(kind, name, spec),
    ...Array.from({ length: bindings }, (_, at) =>
      registration(
        `${kind}Binding`,
        `${name}-${at}`,
        bindingSpec(random, name, hasParams, { isSound: true, isMutating }),
      ),
    ),
  ];
}

/** Returns a request with an invalid policy or binding. */
function wrongRequest(random: Random): PolicyRequest {
  const isMutating = chance(random, 0.3);
  const kind = kindOf(isMutating);
  const request = chance(random, 0.3)
    ? registration(`${kind}Binding`, "tried", bindingSpec(random, "tried", true, { isSound: false, isMutating }))
    : registration(kind, "tried", (isMutating ? mutatingSpec(random, false) : validatingSpec(random, false)).spec);
  return { ...request, path: `${request.path}?dryRun=All` };
}

const gadgets = "differ.example.com/v1";

/** Returns the request that creates a parameter object. */
const param = (content: Json, path: string, name: string): PolicyRequest => ({
  method: "POST",
  path,
  body: { ...content, metadata: { name, labels: { set: name === "first" ? "one" : "two" } } },
});

/** Returns requests for parameters in three namespaces and at the cluster scope. */
function params(random: Random): PolicyRequest[] {
  const namespaced = ["default", "differ-params", "{ns}"].flatMap((ns) =>
    some(random, 0.8, ["first", "second"]).flatMap((name) => [
      param(
        { apiVersion: "v1", kind: "ConfigMap", data: { limit: pick(random, ["3", "2", "x"]) } },
        `/api/v1/namespaces/${ns}/configmaps`,
        name,
      ),
      param(
        { apiVersion: gadgets, kind: "Gadget", spec: { replicas: 1, max: 2 + upTo(random, 2) } },
        `/apis/${gadgets}/namespaces/${ns}/gadgets`,
        name,
      ),
    ]),
  );
  const zones = ["first", "second"].map((name) =>
    param(
      { apiVersion: gadgets, kind: "Zone", spec: { max: 2 + upTo(random, 2), names: ["a"] } },
      `/apis/${gadgets}/zones`,
      name,
    ),
  );
  return [...namespaced, ...zones];
}

/** Returns the case with this number. */
export function policyCase(seed: number): PolicyCase {
  const random = seededRandom(seed);
  const stored = params(random);
  const names = ["p1", "p2", "p3"].slice(0, 1 + upTo(random, 2));
  // kube-apiserver evaluates policies in a random order too.
  const mutating = chance(random, 0.6) ? pick(random, names) : "";
  const enforced = names.flatMap((name) => withBindings(random, `differ-${name}`, name === mutating));
  return {
    namespaceLabels: {
      ...maybe(random, 0.5, () => ({ tier: "gold" })),
      ...maybe(random, 0.5, () => ({ env: "prod" })),
    },
    params: stored,
    wrong: Array.from({ length: 8 }, () => wrongRequest(random)),
    enforced,
    requests: subjects.filter(() => chance(random, 0.7)).flatMap((subject) => requestsAbout(random, subject)),
  };
}
