/**
 * NodeRestriction: a kubelet may write only its own node and the pods on it, and cannot extend its own rights.
 * `authz/node.ts` is the other half. Source of rules and messages: upstream's plugin of this name.
 */
import type { TokenRequest } from "#api/authentication/v1.ts";
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import type { Node, PersistentVolumeClaim, Pod } from "#api/core/v1.ts";
import type { FindObject } from "#api/object-types.ts";
import type { ResourceSlice } from "#api/resource/v1beta1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { nodeNameOf } from "#authz/node-identity.ts";
import { podReferences } from "#authz/pod-references.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { Labels } from "#meta/selector.ts";
import type { OwnerReference } from "#meta/object-meta.ts";
import { podAnnotations } from "#meta/pod-annotations.ts";
import { notFound, type StatusError } from "#meta/status-error.ts";
import { parseCertificateRequest } from "#std/certificate-request.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { audienceProblem } from "./node-audiences.ts";
import { type AdmissionAttributes, type AdmissionPlugin, objectName, refusal } from "./plugin.ts";

export interface NodeRestrictionOptions {
  readonly domain: ApiDomain;
  readonly find: FindObject;
  /** Whether tokens are given only for audiences that the pod names (gate `ServiceAccountNodeAudienceRestriction`). */
  readonly limitsAudiences: boolean;
  /** Whether kubelets may request any certificate (gate `AllowInsecureKubeletCertificateSigningRequests`). */
  readonly anyCertificates: boolean;
}

type Check = (node: string, attributes: AdmissionAttributes) => MaybePromise<void>;

/** Refuses the write by throwing. */
const refuse = (attributes: AdmissionAttributes, reason: string): never => {
  throw refusal(attributes, reason);
};

export function nodeRestriction(options: NodeRestrictionOptions): AdmissionPlugin {
  const { domain } = options;
  const checks = new Map<string, Check>(
    Object.entries({
      pods: checkPod(options),
      nodes: checkNode(options),
      persistentvolumeclaims: checkClaim,
      serviceaccounts: checkToken(options),
      "leases.coordination.k8s.io": checkLease(domain.rename("kube-node-lease")),
      "csinodes.storage.k8s.io": checkCsiNode,
      "resourceslices.resource.k8s.io": checkSlice,
      ...(options.anyCertificates ? {} : { "certificatesigningrequests.certificates.k8s.io": checkRequest(domain) }),
    }).map(([name, check]) => [domain.rename(name), check]),
  );
  return {
    name: "NodeRestriction",
    operations: ["CREATE", "UPDATE", "DELETE"],
    admit(attributes) {
      const { user } = attributes.context;
      const node = nodeNameOf(user);
      if (node === undefined) return undefined;
      if (node === "") return refuse(attributes, `could not determine node from user ${goQuote(user.name)}`);
      const { group, resource } = attributes.resource;
      const checked = checks.get(group === "" ? resource : `${resource}.${group}`)?.(node, attributes);
      return andThen(checked, () => undefined);
    },
  };
}

const unexpected = (attributes: AdmissionAttributes): never =>
  refuse(attributes, `unexpected operation ${goQuote(attributes.operation)}`);

function checkPod(options: NodeRestrictionOptions): Check {
  const create = checkMirrorPod(options);
  const nodeNameOf = (attributes: AdmissionAttributes, name: string): string | undefined => {
    const pod = options.find("pods", attributes.namespace, name);
    if (pod === undefined) throw notFoundError("pod", name);
    return pod.spec.nodeName;
  };
  return (node, attributes) => {
    const { operation, subresource } = attributes;
    const quoted = goQuote(node);
    switch (subresource) {
      case "":
        if (operation === "CREATE") return create(node, attributes);
        if (operation !== "DELETE") {
          refuse(
            attributes,
            `unexpected operation ${goQuote(operation)}, node ${quoted} can only create and delete mirror pods`,
          );
        }
        // The deletion of a collection names no pod.
        if (nodeNameOf(attributes, attributes.name) !== node) {
          refuse(attributes, `node ${quoted} can only delete pods with spec.nodeName set to itself`);
        }
        return undefined;
      case "status":
        return operation === "UPDATE" ? checkPodStatus(node, attributes) : unexpected(attributes);
      case "eviction": {
        if (operation !== "CREATE") return unexpected(attributes);
        const name = objectName(attributes);
        if (name === "") refuse(attributes, "could not determine pod from request data");
        if (nodeNameOf(attributes, name) !== node) {
          refuse(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`);
        }
        return undefined;
      }
      default:
        return refuse(
          attributes,
          `unexpected pod subresource ${goQuote(subresource)}, only 'status' and 'eviction' are allowed`,
        );
    }
  };
}

/** Upstream: the caches of kube-apiserver name the resource in the singular. */
const notFoundError = (resource: "pod" | "node", name: string): StatusError => notFound({ group: "", resource }, name);

function checkMirrorPod({ domain, find }: NodeRestrictionOptions): Check {
  const mirror = podAnnotations(domain).mirror;
  return (node, attributes) => {
    const pod = attributes.object as Pod; // the resource says so
    const { annotations, ownerReferences = [] } = pod.metadata;
    const quoted = goQuote(node);
    if (annotations?.[mirror] === undefined) {
      refuse(attributes, `pod does not have ${goQuote(mirror)} annotation, node ${quoted} can only create mirror pods`);
    }
    if (pod.spec.nodeName !== node) {
      refuse(attributes, `node ${quoted} can only create pods with spec.nodeName set to itself`);
    }
    checkOwner(node, ownerReferences, attributes);
    const nodeObject = find("nodes", "", node);
    if (nodeObject === undefined) throw notFoundError("node", node);
    const [owner] = ownerReferences;
    if (owner?.uid !== nodeObject.metadata.uid) {
      refuse(
        attributes,
        `node ${node} UID mismatch: expected ${owner?.uid ?? ""} got ${nodeObject.metadata.uid ?? ""}`,
      );
    }
    checkNothingNamed(quoted, pod, attributes);
  };
}

function checkOwner(node: string, owners: readonly OwnerReference[], attributes: AdmissionAttributes): void {
  const quoted = goQuote(node);
  if (owners.length > 1) {
    refuse(attributes, `node ${quoted} can only create pods with a single owner reference set to itself`);
  }
  const [owner] = owners;
  if (owner === undefined || owner.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node) {
    refuse(attributes, `node ${quoted} can only create pods with an owner reference set to itself`);
    return;
  }
  if (owner.controller !== true) {
    refuse(attributes, `node ${quoted} can only create pods with a controller owner reference set to itself`);
  }
  if (owner.blockOwnerDeletion === true) {
    refuse(attributes, `node ${quoted} must not set blockOwnerDeletion on an owner reference`);
  }
}

/** Refuses pods that name other objects: a pod on a node gives the node rights to the objects that it names. */
function checkNothingNamed(quoted: string, pod: Pod, attributes: AdmissionAttributes): void {
  const { secrets, configMaps } = podReferences(pod);
  const volumes = pod.spec.volumes ?? [];
  const named: readonly (readonly [what: string, isNamed: boolean])[] = [
    ["a service account", (pod.spec.serviceAccountName ?? "") !== ""],
    ["secrets", secrets.size > 0],
    ["configmaps", configMaps.size > 0],
    [
      "clustertrustbundles",
      volumes.some(({ projected }) =>
        (projected?.sources ?? []).some(({ clusterTrustBundle }) => clusterTrustBundle !== undefined),
      ),
    ],
    [
      "persistentvolumeclaims",
      volumes.some((volume) => (volume.persistentVolumeClaim ?? volume.ephemeral) !== undefined),
    ],
    ["resourceclaims", (pod.spec.resourceClaims ?? []).length > 0],
  ];
  for (const [what, isNamed] of named) {
    if (isNamed) refuse(attributes, `node ${quoted} can not create pods that reference ${what}`);
  }
}

const checkPodStatus: Check = (node, attributes) => {
  const pod = attributes.object as Pod; // the resource says so
  const before = attributes.oldObject as Pod; // likewise
  const quoted = goQuote(node);
  if (before.spec.nodeName !== node) {
    refuse(attributes, `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!jsonEquals(pod.metadata.labels ?? {}, before.metadata.labels ?? {})) {
    refuse(attributes, `node ${quoted} cannot update labels through pod status`);
  }
  const claims = ({ status }: Pod): unknown => status.resourceClaimStatuses ?? [];
  if (!jsonEquals(claims(pod), claims(before))) {
    refuse(attributes, `node ${quoted} cannot update resource claim statues`);
  }
};

function checkNode({ domain }: NodeRestrictionOptions): Check {
  const isForbidden = forbiddenLabels(domain);
  return (node, attributes) => {
    const { operation } = attributes;
    const object = attributes.object as Node | undefined; // the resource says so
    const before = attributes.oldObject as Node | undefined; // likewise
    const quoted = goQuote(node);
    const name = attributes.name === "" ? (object?.metadata.name ?? "") : attributes.name;
    if (name !== node) refuse(attributes, `node ${quoted} is not allowed to modify node ${goQuote(name)}`);
    if (object === undefined) return;
    const changed = changedLabels(object.metadata.labels, before?.metadata.labels).filter(isForbidden).toSorted();
    if (operation === "CREATE") {
      if (object.spec.configSource !== undefined) {
        refuse(attributes, `node ${quoted} is not allowed to create pods with a non-nil configSource`);
      }
      if (changed.length > 0) {
        refuse(attributes, `node ${quoted} is not allowed to set the following labels: ${changed.join(", ")}`);
      }
      return;
    }
    const source = object.spec.configSource;
    if (source !== undefined && !jsonEquals(source, before?.spec.configSource)) {
      refuse(attributes, `node ${quoted} is not allowed to update configSource to a new non-nil configSource`);
    }
    if (!jsonEquals(object.spec.taints ?? [], before?.spec.taints ?? [])) {
      refuse(attributes, `node ${quoted} is not allowed to modify taints`);
    }
    if (changed.length > 0) {
      refuse(attributes, `is not allowed to modify labels: ${changed.join(", ")}`);
    }
    // The garbage collector would delete a node whose owner does not exist (CVE-2025-5187).
    if (!jsonEquals(object.metadata.ownerReferences ?? [], before?.metadata.ownerReferences ?? [])) {
      refuse(attributes, `node ${quoted} is not allowed to modify ownerReferences`);
    }
  };
}

function changedLabels(after: Labels = {}, before: Labels = {}): readonly string[] {
  const keys = new Set([...Object.keys(after), ...Object.keys(before)]);
  const valueOf = (labels: Labels, key: string): string | undefined =>
    Object.hasOwn(labels, key) ? labels[key] : undefined;
  return [...keys].filter((key) => valueOf(after, key) !== valueOf(before, key));
}

/**
 * Returns whether kubelets may not set a label: labels that steer workloads, and labels of Kubernetes that are not for
 * kubelets.
 */
function forbiddenLabels({ rename }: ApiDomain): (label: string) => boolean {
  const own = ["kubernetes.io", "k8s.io"].map(rename);
  const kubelet = ["kubelet.kubernetes.io", "node.kubernetes.io"].map(rename);
  const restricted = rename("node-restriction.kubernetes.io");
  const allowedLabels = new Set(
    [
      "kubernetes.io/hostname",
      "topology.kubernetes.io/zone",
      "topology.kubernetes.io/region",
      "failure-domain.beta.kubernetes.io/zone",
      "failure-domain.beta.kubernetes.io/region",
      "node.kubernetes.io/instance-type",
      "beta.kubernetes.io/instance-type",
      "kubernetes.io/os",
      "kubernetes.io/arch",
      "beta.kubernetes.io/os",
      "beta.kubernetes.io/arch",
    ].map(rename),
  );
  const isIn = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`);
  return (label) => {
    const slash = label.indexOf("/");
    const host = slash < 0 ? "" : label.slice(0, slash);
    if (isIn(host, restricted)) return true;
    if (!own.some((domain) => isIn(host, domain))) return false;
    return !allowedLabels.has(label) && !kubelet.some((domain) => isIn(host, domain));
  };
}

/** Status fields of a claim that the kubelet reports: its size, and the progress of changes. */
const reported: ReadonlySet<string> = new Set<keyof PersistentVolumeClaim["status"]>([
  "capacity",
  "conditions",
  "allocatedResources",
  "allocatedResourceStatuses",
  "modifyVolumeStatus",
  "currentVolumeAttributesClassName",
]);

const checkClaim: Check = (node, attributes) => {
  if (attributes.subresource !== "status") refuse(attributes, "may only update PVC status");
  if (attributes.operation !== "UPDATE") unexpected(attributes);
  const claim = attributes.object as PersistentVolumeClaim; // the resource says so
  const before = attributes.oldObject as PersistentVolumeClaim; // likewise
  if (jsonEquals(withoutReported(claim), withoutReported(before))) return;
  const quoted = goQuote(node);
  refuse(attributes, `node ${quoted} is not allowed to update fields other than status.quantity and status.conditions`);
};

function withoutReported({ metadata, status, ...rest }: PersistentVolumeClaim): unknown {
  const { resourceVersion: _version, managedFields: _managers, ...others } = metadata;
  const remaining = Object.entries(status).filter(([name]) => !reported.has(name));
  return { ...rest, metadata: others, status: Object.fromEntries(remaining) };
}

function checkToken(options: NodeRestrictionOptions): Check {
  return (node, attributes) => {
    if (attributes.operation !== "CREATE" || attributes.subresource !== "token") return;
    const { spec } = attributes.object as TokenRequest; // the subresource says so
    const ref = spec.boundObjectRef ?? {};
    const { name = "", uid = "" } = ref;
    if (ref.apiVersion !== "v1" || ref.kind !== "Pod" || name === "") {
      refuse(attributes, "node requested token not bound to a pod");
    }
    if (uid === "") refuse(attributes, "node requested token with a pod binding without a uid");
    const pod = options.find("pods", attributes.namespace, name);
    if (pod === undefined) throw notFoundError("pod", name);
    if (uid !== pod.metadata.uid) {
      refuse(
        attributes,
        `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    }
    if (pod.spec.nodeName !== node) {
      refuse(attributes, "node requested token bound to a pod scheduled on a different node");
    }
    if (options.limitsAudiences) {
      const problem = audienceProblem(options, spec?.audiences ?? [], pod);
      if (problem !== undefined) refuse(attributes, problem);
    }
  };
}

/** Returns the name of the object in the path; a create has none there, so it is taken from the object. */
const nameOf = ({ name, operation, object }: AdmissionAttributes): string =>
  operation === "CREATE" ? (object?.metadata.name ?? "") : name;

const checkLease =
  (namespace: string): Check =>
  (node, attributes) => {
    if (attributes.namespace !== namespace) {
      refuse(attributes, `can only access leases in the ${goQuote(namespace)} system namespace`);
    }
    if (nameOf(attributes) !== node) {
      refuse(attributes, "can only access node lease with the same name as the requesting node");
    }
  };

const checkCsiNode: Check = (node, attributes) => {
  if (nameOf(attributes) !== node) {
    refuse(attributes, "can only access CSINode with the same name as the requesting node");
  }
};

/** Checks each slice of a deleted collection; the authorizer checks all other requests for slices. */
const checkSlice: Check = (node, attributes) => {
  const { operation, object, oldObject } = attributes;
  if (operation !== "CREATE" && operation !== "DELETE") return;
  const slice = (operation === "CREATE" ? object : oldObject) as ResourceSlice | undefined; // the resource says so
  if (slice?.spec.nodeName === node) return;
  const verb = operation === "CREATE" ? "create" : "delete";
  refuse(attributes, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`);
};

/** Checks that a node requests certificates in its own name. */
function checkRequest({ rename }: ApiDomain): Check {
  const signers = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"].map(rename);
  return (_node, attributes) => {
    const { operation, subresource, context } = attributes;
    if (operation !== "CREATE" || subresource !== "") return undefined;
    const { spec } = attributes.object as CertificateSigningRequest; // the resource says so
    if (!signers.includes(spec.signerName)) return undefined;
    const parsing = parseCertificateRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1"));
    return andThen(parsing, (parsed) => {
      if (!parsed.ok) refuse(attributes, `unable to parse csr: ${parsed.problem}`);
      else if (parsed.request.commonName !== context.user.name) {
        refuse(attributes, `can only create a node CSR with CN=${context.user.name}`);
      }
    });
  };
}
