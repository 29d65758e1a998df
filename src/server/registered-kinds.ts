/**
 * The kinds that exist beside those that are served: a body of such a kind is told apart from one that nobody knows.
 * Source: the answers of kube-apiserver 1.32.1.
 */
import type { ApiTables } from "#api/definitions.ts";
import { type GroupVersionKind, internalVersion } from "#meta/group-version.ts";
import { isKindOfAllVersions, isKindOfKnownVersions } from "#meta/meta-kinds.ts";

type IsRegistered = (gvk: GroupVersionKind, asked: string) => boolean;

/** The first labels of groups that a server of its own answers for upstream, which knows no other group. */
const ownServers: ReadonlySet<string> = new Set(["apiextensions", "apiregistration"]);

/** Kinds without a table, by the first label of the group and the version; most are of earlier releases. */
const moreKinds: Readonly<Record<string, readonly string[]>> = {
  "extensions/v1beta1": [
    ...["DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"].flatMap((kind) => [kind, `${kind}List`]),
    "DeploymentRollback",
    "Scale",
  ],
  "apps/v1beta1": ["DeploymentRollback", "Scale"],
  "apps/v1beta2": ["Scale"],
  "policy/v1beta1": ["Eviction"],
  "imagepolicy/v1alpha1": ["ImageReview"],
  "admission/v1": ["AdmissionReview"],
  "admission/v1beta1": ["AdmissionReview"],
};

/**
 * Kinds that a version lacks, although other versions of the group have them or a type of the version has their name.
 */
const lackingKinds: Readonly<Record<string, readonly string[]>> = {
  "/v1": ["PartialObjectMetadata", "PartialObjectMetadataList", "ResourceClaim", "Table"],
  "admissionregistration/v1alpha1": ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  "admissionregistration/v1beta1": ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"],
  "apps/v1beta1": ["DaemonSet", "ReplicaSet"],
  "authentication/v1alpha1": ["TokenRequest", "TokenReview"],
  "authentication/v1beta1": ["TokenRequest"],
  "batch/v1beta1": ["Job"],
  "certificates/v1alpha1": ["CertificateSigningRequest"],
  "certificates/v1beta1": ["ClusterTrustBundle"],
  "coordination/v1alpha2": ["Lease"],
  "coordination/v1beta1": ["LeaseCandidate"],
  "networking/v1beta1": ["NetworkPolicy"],
  "storage/v1": ["TokenRequest"],
  "storage/v1alpha1": ["CSIDriver", "CSINode", "StorageClass"],
  "storage/v1beta1": ["TokenRequest"],
};

const has = (kinds: Readonly<Record<string, readonly string[]>>, version: string, kind: string): boolean =>
  Object.hasOwn(kinds, version) && kinds[version]!.includes(kind);

/** The checks by tables, which all control planes of a process share. */
const checks = new WeakMap<ApiTables, IsRegistered>();

/**
 * Returns the check whether a built-in kind exists in a version, for the server that answers for the group `asked`.
 * Stable versions have the kinds of the tables. Of the others some have more, from older releases, and no table: there
 * each kind of the group counts that is not known to be missing.
 */
export function registeredKinds(tables: ApiTables): IsRegistered {
  const check = checks.get(tables) ?? checkOf(tables);
  checks.set(tables, check);
  return check;
}

function checkOf(tables: ApiTables): IsRegistered {
  const versions = new Set(tables.versions.map(({ group, version }) => `${group}/${version}`));
  const kinds = new Set(tables.kinds.flatMap(({ group, kind }) => [`${group}/${kind}`, `${group}/${kind}List`]));
  const labelOf = (group: string): string => group.split(".", 1)[0]!;
  const serverOf = (group: string): string => (ownServers.has(labelOf(group)) ? labelOf(group) : "");
  return (gvk, asked) => {
    const { group, version, kind } = gvk;
    if (isKindOfAllVersions(kind)) return true;
    const label = labelOf(group);
    if (serverOf(group) !== serverOf(asked) || label === "meta") return false;
    if (version === internalVersion) return kinds.has(`${group}/${kind}`);
    const known = `${label}/${version}`;
    const single = kind.replace(/List$/, "");
    if (has(moreKinds, known, kind)) return true;
    if (has(lackingKinds, known, kind) || has(lackingKinds, known, single)) return false;
    if (tables.schemaOf(gvk) !== undefined) return true;
    if (!versions.has(`${group}/${version}`)) return false;
    return isKindOfKnownVersions(kind) || (!/^v\d+$/.test(version) && kinds.has(`${group}/${kind}`));
  };
}
