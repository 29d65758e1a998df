/**
 * The Node authorizer: a kubelet may read what its pods use, and write what it reports. The admission plugin
 * NodeRestriction limits the writes further. Source of reasons: upstream's `plugin/pkg/auth/authorizer/node`.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import { allowed, type Attributes, type Authorizer, noOpinion, type Verdict } from "./authorizer.ts";
import type { NodeGraph, Related } from "./node-graph.ts";
import { nodeNameOf } from "./node-identity.ts";
import { allows, type PreparedRule, ruleResource } from "./rules.ts";

interface NodeOptions {
  readonly domain: ApiDomain;
  readonly graph: Pick<NodeGraph, "relates">;
  /** The rules of the role `system:node`, for resources that need no further check. */
  readonly rules: readonly PreparedRule[];
  /**
   * Whether nodes read only themselves, and lists only with a selector for themselves (gate
   * `AuthorizeNodeWithSelectors`).
   */
  readonly selectors: boolean;
}

const noOpinionBecause = (reason: string): Verdict => ({ ...noOpinion, reason });

type Decide = (node: string, attributes: Attributes) => Verdict;

export function node({ domain, graph, rules, selectors }: NodeOptions): Required<Authorizer> {
  const related =
    (resource: Related): Decide =>
    (name, attributes) => {
      if (attributes.name === "") return noOpinionBecause("No Object name found");
      return graph.relates(name, resource, attributes.namespace, attributes.name)
        ? allowed
        : noOpinionBecause(`no relationship found between node '${name}' and this object`);
    };
  const leases = domain.rename("kube-node-lease");
  const byResource = new Map<string, Decide>(
    Object.entries({
      secrets: readNamespaced(related("secrets")),
      configmaps: readNamespaced(related("configmaps")),
      persistentvolumeclaims: statusOr(getOne(related("persistentvolumeclaims")), related("persistentvolumeclaims")),
      persistentvolumes: getOne(related("persistentvolumes")),
      "resourceclaims.resource.k8s.io": getOne(related("resourceclaims")),
      "volumeattachments.storage.k8s.io": getOne(related("volumeattachments")),
      serviceaccounts: createToken(related("serviceaccounts")),
      "leases.coordination.k8s.io": ownLease(leases),
      "csinodes.storage.k8s.io": ownCsiNode,
      "resourceslices.resource.k8s.io": slices(related("resourceslices"), selectors),
      ...(selectors ? { nodes: ownNode, pods: ownPods(related("pods")) } : {}),
    }).map(([name, decide]) => [domain.rename(name), decide]),
  );
  const authorize = (attributes: Attributes): Verdict => {
    const { user, group, resource } = attributes;
    const name = nodeNameOf(user);
    if (name === undefined) return noOpinion;
    if (name === "") return noOpinionBecause(`unknown node for user ${goQuote(user.name)}`);
    const decide = attributes.isResourceRequest
      ? byResource.get(group === "" ? resource : `${resource}.${group}`)
      : undefined;
    if (decide !== undefined) return decide(name, attributes);
    const wanted = ruleResource(attributes);
    return rules.some((rule) => allows(rule, attributes, wanted)) ? allowed : noOpinion;
  };
  return {
    authorize,
    rulesFor(user) {
      const incomplete = nodeNameOf(user) !== undefined;
      const errors = incomplete ? ["node authorizer does not support user rule resolution"] : [];
      return { resourceRules: [], nonResourceRules: [], incomplete, errors };
    },
    explain(attributes) {
      if (nodeNameOf(attributes.user) === undefined) return "";
      const { decision, reason } = authorize(attributes);
      if (decision === "allow") return "Node: allowed to this node";
      return `Node: ${reason === "" ? "no rule of nodes allows it" : reason}`;
    },
  };
}

const statusOr =
  (otherwise: Decide, decide: Decide): Decide =>
  (name, attributes) => {
    if (attributes.subresource !== "status") return otherwise(name, attributes);
    return ["update", "patch"].includes(attributes.verb)
      ? decide(name, attributes)
      : noOpinionBecause("can only get/update/patch this type");
  };

const getOne =
  (decide: Decide): Decide =>
  (name, attributes) => {
    if (attributes.verb !== "get") return noOpinionBecause("can only get individual resources of this type");
    if (attributes.subresource !== "") return noOpinionBecause("cannot get subresource");
    return decide(name, attributes);
  };

/** A list or watch of one name is a read of it. */
const readNamespaced =
  (decide: Decide): Decide =>
  (name, attributes) => {
    if (!readVerbs.includes(attributes.verb)) return noOpinionBecause("can only read resources of this type");
    if (attributes.subresource !== "") return noOpinionBecause("cannot read subresource");
    if (attributes.namespace === "") return noOpinionBecause("can only read namespaced object of this type");
    return decide(name, attributes);
  };

const readVerbs: readonly string[] = ["get", "list", "watch"];

const createToken =
  (decide: Decide): Decide =>
  (name, attributes) => {
    if (attributes.verb !== "create" || attributes.name === "") {
      return noOpinionBecause("can only create tokens for individual service accounts");
    }
    if (attributes.subresource !== "token")
      return noOpinionBecause("can only create token subresource of serviceaccount");
    return decide(name, attributes);
  };

const ownVerbs: readonly string[] = ["get", "create", "update", "patch", "delete"];

/** The name of a new object is unknown here: NodeRestriction checks it. */
const ownLease =
  (namespace: string): Decide =>
  (name, attributes) => {
    if (!ownVerbs.includes(attributes.verb)) {
      return noOpinionBecause("can only get, create, update, patch, or delete a node lease");
    }
    if (attributes.namespace !== namespace) {
      return noOpinionBecause(`can only access leases in the ${goQuote(namespace)} system namespace`);
    }
    return attributes.verb === "create" || attributes.name === name
      ? allowed
      : noOpinionBecause("can only access node lease with the same name as the requesting node");
  };

const ownCsiNode: Decide = (name, attributes) => {
  if (!ownVerbs.includes(attributes.verb)) {
    return noOpinionBecause("can only get, create, update, patch, or delete a CSINode");
  }
  if (attributes.subresource !== "") return noOpinionBecause("cannot authorize CSINode subresources");
  return attributes.verb === "create" || attributes.name === name
    ? allowed
    : noOpinionBecause("can only access CSINode with the same name as the requesting node");
};

const slices =
  (decide: Decide, selectors: boolean): Decide =>
  (name, attributes) => {
    if (attributes.subresource !== "") return noOpinionBecause("cannot authorize ResourceSlice subresources");
    if (attributes.verb === "create") return allowed;
    if (ownVerbs.includes(attributes.verb)) return decide(name, attributes);
    if (!["list", "watch", "deletecollection"].includes(attributes.verb)) {
      return noOpinionBecause(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
      );
    }
    return !selectors || selects(attributes, "spec.nodeName", name)
      ? allowed
      : noOpinionBecause("can only list/watch/deletecollection resourceslices with nodeName field selector");
  };

const selects = ({ fieldSelector = [] }: Attributes, field: string, value: string): boolean =>
  fieldSelector.some((term) => term.field === field && term.operator === "=" && term.value === value);

const ownNode: Decide = (name, attributes) => {
  const { verb, subresource } = attributes;
  if (subresource === "" && readVerbs.includes(verb)) {
    if (attributes.name === name) return allowed;
    return noOpinionBecause(
      attributes.name === ""
        ? `node '${name}' cannot read all nodes, only its own Node object`
        : `node '${name}' cannot read '${attributes.name}', only its own Node object`,
    );
  }
  // NodeRestriction ensures that the object is the node's own.
  const writes =
    subresource === "" ? ["create", "update", "patch"] : subresource === "status" ? ["update", "patch"] : [];
  return writes.includes(verb) ? allowed : noOpinion;
};

const ownPods =
  (decide: Decide): Decide =>
  (name, attributes) => {
    const { verb, subresource } = attributes;
    if (subresource === "") {
      if (verb === "get") return decide(name, attributes);
      if (verb === "list" || verb === "watch") {
        if (selects(attributes, "spec.nodeName", name)) return allowed;
        if (attributes.name !== "") return decide(name, attributes);
        return noOpinionBecause("can only list/watch pods with spec.nodeName field selector");
      }
    }
    // NodeRestriction ensures that the pod is on this node.
    const writes: Readonly<Record<string, readonly string[]>> = {
      "": ["create", "delete"],
      status: ["update", "patch"],
      eviction: ["create"],
    };
    return Object.hasOwn(writes, subresource) && writes[subresource]!.includes(verb) ? allowed : noOpinion;
  };
