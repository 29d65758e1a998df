/**
 * For whom a node may get the tokens of a pod: the audiences that the pod names, itself or by the drivers of its volumes.
 * Part of NodeRestriction, under `ServiceAccountNodeAudienceRestriction`.
 */
import { aggregate } from "#authz/authorizer.ts";
import type { Pod, PodVolume } from "#authz/pod-references.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";

export interface NodeAudienceOptions {
  readonly domain: ApiDomain;
  /** From memory; `resource` in Kubernetes' name. */
  find(resource: string, namespace: string, name: string): Unstructured | undefined;
}

/** What leads from a claim to the tokens of a driver; each kind has its part. */
interface Spec {
  readonly volumeName?: string;
  readonly csi?: { readonly driver?: string };
  readonly tokenRequests?: readonly { readonly audience?: string }[] | null;
}

/** Why a token for `audiences` is refused; the empty audience is the server's own. */
export function audienceProblem(
  { domain, find }: NodeAudienceOptions,
  audiences: readonly string[],
  pod: Pod,
): string | undefined {
  if (audiences.length > 1) return "node may only request 0 or 1 audiences";
  const [audience = ""] = audiences;
  const namespace = pod.metadata.namespace ?? "";
  const missing = new Set<string>();
  const specOf = (resource: string, kind: string, from: string, name: string): Spec | undefined => {
    const object = find(resource, from, name);
    if (object === undefined) missing.add(`${domain.rename(kind)} ${goQuote(name)} not found`);
    return object?.["spec"] as Spec | undefined; // by its schema
  };
  const driverOfClaim = (claim: string): string | undefined => {
    const spec = specOf("persistentvolumeclaims", "persistentvolumeclaim", namespace, claim);
    if (spec === undefined) return undefined;
    return specOf("persistentvolumes", "persistentvolume", "", spec.volumeName ?? "")?.csi?.driver;
  };
  const hasDriver = (driver = ""): boolean => {
    if (driver === "") return false;
    const spec = specOf("csidrivers.storage.k8s.io", "csidriver.storage.k8s.io", "", driver);
    return (spec?.tokenRequests ?? []).some((request) => (request.audience ?? "") === audience);
  };
  const names = ({ projected, csi, persistentVolumeClaim, ephemeral, name = "" }: PodVolume): boolean => {
    const claim = ephemeral === undefined ? persistentVolumeClaim?.claimName : `${pod.metadata.name ?? ""}-${name}`;
    return (
      (projected?.sources ?? []).some(
        ({ serviceAccountToken: token }) => token !== undefined && (token.audience ?? "") === audience,
      ) || hasDriver(claim === undefined ? csi?.driver : driverOfClaim(claim))
    );
  };
  if ((pod.spec?.volumes ?? []).some(names)) return undefined;
  return missing.size === 0
    ? `audience ${goQuote(audience)} not found in pod spec volume`
    : `error validating audience ${goQuote(audience)}: ${aggregate([...missing])}`;
}
