/** Validates the resize policies of containers. Source: the answers of kube-apiserver. */
import type { ContainerResizePolicy } from "#api/core/v1.ts";
import { GoSyntax, invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { checkRequiredOneOf, checkUnique, type Errors } from "../../checks.ts";

const resources = ["cpu", "memory"];
const policyNames = ["NotRequired", "RestartContainer"];

/**
 * Checks the resize policies of a container. `podRestarts` is the restart policy of the pod. Upstream: most findings
 * have the path of the list.
 */
export function checkResizePolicies(
  policies: readonly ContainerResizePolicy[] = [],
  podRestarts: string | undefined,
  path: FieldPath,
  errors: Errors,
): void {
  if (policies.length === 0) return;
  const seen = new Set<string>();
  for (const [i, { resourceName: name, restartPolicy: policy }] of policies.entries()) {
    checkUnique(name, seen, path.index(i), errors, new GoSyntax(name));
    if (name === "") errors.push(required(path));
    else if (!resources.includes(name)) errors.push(notSupported(path, new GoSyntax(name), resources));
    checkRequiredOneOf(policy, policyNames, path, errors);
    if (podRestarts === "Never" && policy !== "NotRequired") {
      errors.push(invalid(path, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'"));
    }
  }
}

/** Checks that an init container has no resize policies. */
export function checkNoResizePolicies(
  policies: readonly ContainerResizePolicy[] = [],
  path: FieldPath,
  errors: Errors,
): void {
  if (policies.length === 0) return;
  errors.push(invalid(path, policies, "must not be set for init containers"));
}
