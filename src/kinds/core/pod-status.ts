/** Checks of a pod's status in updates. Source: the answers of kube-apiserver. */
import type { Container, ContainerStatus, Pod, PodStatus, ResourceStatus } from "#api/core/v1.ts";
import { type FieldError, forbidden, GoSyntax, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain, qualifiedName } from "#meta/names.ts";
import { checkAddresses } from "./pod-validation/addresses.ts";
import { checkEach, checkId, checkName, checkOneOf, checkUnique, type Errors } from "../checks.ts";

const statusPath = FieldPath.of("status");
const claimsPath = statusPath.child("resourceClaimStatuses");
/** The path of conditions in upstream's messages. */
const conditionsPath = FieldPath.of("metadata", "conditions");

/** Returns findings about a new status. */
export function validatePodStatus({ spec, status }: Pod, { spec: oldSpec, status: old }: Pod): FieldError[] {
  const errors: FieldError[] = [];
  checkConditions(status, errors);
  checkTransitions(status, { spec: oldSpec, status: old }, errors);
  checkAddresses(status, errors);
  const isWindows = spec.os?.name === "windows";
  for (const list of ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"] as const) {
    checkUsers(status[list], isWindows, statusPath.child(list), errors);
  }
  checkAllocated(status.initContainerStatuses, spec.initContainers, statusPath.child("initContainerStatuses"), errors);
  checkAllocated(status.containerStatuses, spec.containers, statusPath.child("containerStatuses"), errors);
  for (const [i, { allocatedResourcesStatus = [] }] of (status.ephemeralContainerStatuses ?? []).entries()) {
    if (allocatedResourcesStatus.length === 0) continue;
    const at = statusPath.child("ephemeralContainerStatuses").index(i).child("allocatedResourcesStatus");
    errors.push(forbidden(at, "must not be specified in container status"));
  }
  const claims = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  const names = new Set<string>();
  for (const [i, { name, resourceClaimName }] of (status.resourceClaimStatuses ?? []).entries()) {
    const at = claimsPath.index(i).child("name");
    if (resourceClaimName !== undefined) checkName(resourceClaimName, dns1123Subdomain, at, errors);
    checkUnique(name, names, at, errors);
    if (!claims.has(name)) errors.push(invalid(at, name, "must match the name of an entry in `spec.resourceClaims`"));
  }
  if (old.qosClass && status.qosClass !== old.qosClass) {
    errors.push(invalid(statusPath.child("qosClass"), status.qosClass ?? "", "field is immutable"));
  }
  return errors;
}

function checkConditions({ conditions = [] }: PodStatus, errors: Errors): void {
  for (const [i, { type }] of conditions.entries()) {
    checkName(type, qualifiedName, conditionsPath.index(i).child("Type"), errors);
  }
}

/** Checks that containers that have ended for good do not run again. */
function checkTransitions(status: PodStatus, old: Pick<Pod, "spec" | "status">, errors: Errors): void {
  const { restartPolicy = "", initContainers } = old.spec;
  const restarted = new Set(
    (initContainers ?? []).filter((container) => container.restartPolicy === "Always").map(({ name }) => name),
  );
  for (const list of ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const) {
    const policy = list === "ephemeralContainerStatuses" ? "Never" : restartPolicy;
    if (policy === "Always") continue;
    const goingOn = new Set(
      (status[list] ?? []).filter(({ state }) => state.terminated === undefined).map(({ name }) => name),
    );
    for (const [i, { name, state }] of (old.status[list] ?? []).entries()) {
      const { terminated } = state;
      if (terminated === undefined || (terminated.exitCode !== 0 && policy === "OnFailure")) continue;
      if (list === "initContainerStatuses" && restarted.has(name)) continue;
      if (goingOn.has(name)) errors.push(forbidden(statusPath.child(list).index(i).child("state"), notAgain));
    }
  }
}

const notAgain = "may not be transitioned to non-terminated state";

/** Checks the users of containers. Upstream: the path omits the field `user`. */
function checkUsers(
  statuses: readonly ContainerStatus[] = [],
  isWindows: boolean,
  path: FieldPath,
  errors: Errors,
): void {
  for (const [i, { user }] of statuses.entries()) {
    if (user?.linux === undefined) continue;
    const at = path.index(i).child("linux");
    if (isWindows) {
      errors.push(forbidden(at, "cannot be set for a windows pod"));
      continue;
    }
    const { uid, gid, supplementalGroups = [] } = user.linux;
    checkId(uid, at.child("uid"), errors);
    checkId(gid, at.child("gid"), errors);
    checkEach(supplementalGroups, checkId, at.child("supplementalGroups"), errors);
  }
}

/** Checks the health of the resources that a container requests, by name, and of its claims. */
function checkAllocated(
  statuses: readonly ContainerStatus[] = [],
  containers: readonly Container[] | null | undefined,
  path: FieldPath,
  errors: Errors,
): void {
  for (const [i, { name, allocatedResourcesStatus: resources = [] }] of statuses.entries()) {
    const container = containers?.find((each) => each.name === name);
    const at = path.index(i).child("allocatedResourcesStatus");
    for (const [j, resource] of resources.entries()) {
      if (container !== undefined) checkResourceName(resource, container, at.index(j).child("name"), errors);
      checkHealth(resource, at.index(j).child("resources"), errors);
    }
  }
}

const claimForm =
  "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";

function checkResourceName({ name }: ResourceStatus, { resources }: Container, path: FieldPath, errors: Errors): void {
  const { claims = [], requests = {} } = resources;
  if (!name.startsWith("claim:")) {
    if (Object.hasOwn(requests, name)) return;
    errors.push(invalid(path, new GoSyntax(name), "must match one of the container's resource requests"));
    return;
  }
  const isClaim = claims.some(({ name: claim, request }) => name === `claim:${claim}${request ? `/${request}` : ""}`);
  if (!isClaim) errors.push(invalid(path, new GoSyntax(name), claimForm));
}

const healths = ["Healthy", "Unhealthy", "Unknown"];

function checkHealth({ resources = [] }: ResourceStatus, path: FieldPath, errors: Errors): void {
  const ids = new Set<string>();
  for (const [i, { resourceID, health = "" }] of resources.entries()) {
    checkUnique(resourceID, ids, path.index(i).child("resourceID"), errors);
    checkOneOf(health, healths, path.index(i).child("health"), errors);
  }
}
