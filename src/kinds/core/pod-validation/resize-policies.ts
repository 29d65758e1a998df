/** Validates what a resize does to containers. Source: the answers of kube-apiserver. */
import type { ContainerResizePolicy } from "#api/core/v1.ts";
import { duplicate, GoSyntax, invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { checkRequiredOneOf, type Errors } from "../../checks.ts";

const resources = ["cpu", "memory"];
const policies = ["NotRequired", "RestartContainer"];

/** `podRestarts` is the restart policy of the pod. Upstream: most findings are reported without the index. */
export function checkResizePolicies(
  given: readonly ContainerResizePolicy[] = [],
  podRestarts: string | undefined,
  path: FieldPath,
  errors: Errors,
): void {
  const seen = new Set<string>();
  for (const [i, { resourceName: name, restartPolicy: policy }] of given.entries()) {
    if (seen.has(name)) errors.push(duplicate(path.index(i), new GoSyntax(name)));
    seen.add(name);
    if (name === "") errors.push(required(path));
    else if (!resources.includes(name)) errors.push(notSupported(path, new GoSyntax(name), resources));
    checkRequiredOneOf(policy, policies, path, errors);
    if (podRestarts === "Never" && policy !== "NotRequired") {
      errors.push(invalid(path, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'"));
    }
  }
}

/** Init containers have none. */
export function checkNoResizePolicies(
  given: readonly ContainerResizePolicy[] = [],
  path: FieldPath,
  errors: Errors,
): void {
  if (given.length === 0) return;
  errors.push(invalid(path, given, "must not be set for init containers"));
}
