/**
 * Restricts the audiences for which a node may request tokens of a pod to those that the pod or its volume drivers
 * name. It belongs to NodeRestriction, under the gate `ServiceAccountNodeAudienceRestriction`.
 */
import type { Pod, Volume } from "#api/core/v1.ts";
import type { FindObject } from "#api/object-types.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { aggregate, goQuote } from "#meta/field-error.ts";

interface NodeAudienceOptions {
  readonly domain: ApiDomain;
  readonly find: FindObject;
}

/**
 * Returns why a token of the pod for `audiences` is refused; `undefined` when it is not. The empty audience is the
 * server's own.
 */
export function audienceProblem(
  { domain, find }: NodeAudienceOptions,
  audiences: readonly string[],
  pod: Pod,
): string | undefined {
  if (audiences.length > 1) return "node may only request 0 or 1 audiences";
  const [audience = ""] = audiences;
  const namespace = pod.metadata.namespace ?? "";
  const missing = new Set<string>();
  /** Returns the object, and records when it is missing. */
  const requireObject = <T>(object: T | undefined, kind: string, name: string): T | undefined => {
    if (object === undefined) missing.add(`${domain.rename(kind)} ${goQuote(name)} not found`);
    return object;
  };
  const driverOfClaim = (name: string): string | undefined => {
    const claim = requireObject(find("persistentvolumeclaims", namespace, name), "persistentvolumeclaim", name);
    if (claim === undefined) return undefined;
    const { volumeName = "" } = claim.spec;
    return requireObject(find("persistentvolumes", "", volumeName), "persistentvolume", volumeName)?.spec.csi?.driver;
  };
  const hasDriver = (driver = ""): boolean => {
    if (driver === "") return false;
    const driverObject = requireObject(
      find("csidrivers.storage.k8s.io", "", driver),
      "csidriver.storage.k8s.io",
      driver,
    );
    return (driverObject?.spec.tokenRequests ?? []).some((request) => request.audience === audience);
  };
  const names = ({ projected, csi, persistentVolumeClaim, ephemeral, name }: Volume): boolean => {
    const claim = ephemeral === undefined ? persistentVolumeClaim?.claimName : `${pod.metadata.name ?? ""}-${name}`;
    return (
      (projected?.sources ?? []).some(
        ({ serviceAccountToken: token }) => token !== undefined && (token.audience ?? "") === audience,
      ) || hasDriver(claim === undefined ? csi?.driver : driverOfClaim(claim))
    );
  };
  if ((pod.spec.volumes ?? []).some(names)) return undefined;
  return missing.size === 0
    ? `audience ${goQuote(audience)} not found in pod spec volume`
    : `error validating audience ${goQuote(audience)}: ${aggregate(missing)}`;
}
