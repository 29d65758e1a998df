/** Validates references from pods to their own fields and to the resources of their containers (downward API). */
import type { ObjectFieldSelector, ResourceFieldSelector } from "#api/core/v1.ts";
import { invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { canonicalQuantity } from "#meta/quantity.ts";
import type { Errors } from "../../checks.ts";
import { checkName } from "../../checks.ts";

/** The fields that environment variables can show. */
export const environmentFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

/** The fields that files can show. */
export const fileFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];

const maps = ["metadata.annotations", "metadata.labels"];
const knownPaths: ReadonlySet<string> = new Set([
  ...environmentFields,
  ...maps,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);

/** Checks a reference to one of `fields`, or to a member of labels or annotations, as in `metadata.labels['key']`. */
export function checkFieldRef(
  { apiVersion = "", fieldPath }: ObjectFieldSelector,
  fields: readonly string[],
  path: FieldPath,
  errors: Errors,
): void {
  if (apiVersion === "v1" && fields.includes(fieldPath)) return; // this is the usual case
  if (apiVersion === "") {
    errors.push(required(path.child("apiVersion")));
    return;
  }
  const at = path.child("fieldPath");
  if (fieldPath === "") {
    errors.push(required(at));
    return;
  }
  const refuse = (why: string): void => {
    errors.push(invalid(at, fieldPath, `error converting fieldPath: ${why}`));
  };
  if (apiVersion !== "v1") {
    refuse(`unsupported pod version: ${apiVersion}`);
    return;
  }
  const bracket = fieldPath.endsWith("']") ? fieldPath.indexOf("['") : -1;
  if (bracket > 0) {
    const map = fieldPath.slice(0, bracket);
    if (!maps.includes(map)) {
      refuse(`field label does not support subscript: ${fieldPath}`);
      return;
    }
    const key = fieldPath.slice(bracket + 2, -2);
    const shown = map === "metadata.annotations" ? key.toLowerCase() : key;
    checkName(shown, qualifiedName, path, errors);
    return;
  }
  const field = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  if (!knownPaths.has(field)) refuse(`field label not supported: ${fieldPath}`);
  else if (!fields.includes(field)) errors.push(notSupported(at, field, fields));
}

const resources = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const cpuDivisors = ["1m", "1"];
const byteDivisors = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/** Checks a reference to a request or limit. A file must name the container. */
export function checkResourceRef(
  { containerName = "", resource, divisor }: ResourceFieldSelector,
  ofFile: boolean,
  path: FieldPath,
  errors: Errors,
): void {
  if (ofFile && containerName === "") errors.push(required(path.child("containerName")));
  else if (resource === "") errors.push(required(path.child("resource")));
  else if (!resources.includes(resource) && !isHugePages(resource)) {
    errors.push(notSupported(path.child("resource"), resource, resources));
  }
  const shown = canonicalQuantity(divisor) ?? "0";
  if (shown === "0") return;
  const [, kind = ""] = resource.split(".");
  const [divisors, called] =
    kind === "cpu"
      ? [cpuDivisors, "cpu"]
      : kind === "memory"
        ? [byteDivisors, "memory"]
        : kind === "ephemeral-storage"
          ? [byteDivisors, "local ephemeral storage"]
          : isHugePages(resource)
            ? [byteDivisors, "hugepages"]
            : [];
  if (divisors === undefined || divisors.includes(shown)) return;
  const listed = divisors === cpuDivisors ? divisors.join(" and ") : divisors.join(", ");
  const detail = `only divisor's values ${listed} are supported with the ${called} resource`;
  errors.push(invalid(path.child("divisor"), resource, detail)); // upstream: the resource is shown
}

const isHugePages = (resource: string): boolean =>
  resource.startsWith("limits.hugepages-") || resource.startsWith("requests.hugepages-");
