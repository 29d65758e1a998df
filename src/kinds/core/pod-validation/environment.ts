/** Validates environment variables of containers and their sources. */
import type { EnvFromSource, EnvVar, EnvVarSource } from "#api/core/v1.ts";
import { invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { configKey, dns1123Subdomain, type NameCheck } from "#meta/names.ts";
import { checkName, checkRequiredName, type Errors } from "../../checks.ts";
import { checkFieldRef, checkResourceRef, environmentFields } from "./downward.ts";

/** Checks variables, whose names `variableName` checks. */
export function checkEnv(
  variables: readonly EnvVar[] = [],
  variableName: NameCheck,
  path: FieldPath,
  errors: Errors,
): void {
  for (const [i, { name, value = "", valueFrom }] of variables.entries()) {
    // Pods have many variables, and nearly all names are right: these need no path.
    if (name === "" || variableName(name).length > 0) {
      checkRequiredName(name, variableName, path.index(i).child("name"), errors);
    }
    if (valueFrom !== undefined) checkSource(valueFrom, value, path.index(i).child("valueFrom"), errors);
  }
}

const sourceNames = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"] as const;
const noSource = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";

function checkSource(from: EnvVarSource, value: string, path: FieldPath, errors: Errors): void {
  const { fieldRef, resourceFieldRef } = from;
  if (fieldRef !== undefined) checkFieldRef(fieldRef, environmentFields, path.child("fieldRef"), errors);
  if (resourceFieldRef !== undefined) {
    checkResourceRef(resourceFieldRef, false, path.child("resourceFieldRef"), errors);
  }
  for (const name of ["configMapKeyRef", "secretKeyRef"] as const) {
    const ref = from[name];
    if (ref === undefined) continue;
    const at = path.child(name);
    checkName(ref.name ?? "", dns1123Subdomain, at.child("name"), errors);
    checkRequiredName(ref.key, configKey, at.child("key"), errors);
  }
  let count = 0;
  for (const name of sourceNames) if (from[name] !== undefined) count++;
  if (count === 0) errors.push(invalid(path, "", noSource));
  else if (value !== "") errors.push(invalid(path, "", "may not be specified when `value` is not empty"));
  else if (count > 1) errors.push(invalid(path, "", "may not have more than one field specified at a time"));
}

/**
 * Checks the sources of variables. Upstream: findings about sources without a reference, or with two, have the path of
 * the list.
 */
export function checkEnvFrom(
  sources: readonly EnvFromSource[] = [],
  variableName: NameCheck,
  path: FieldPath,
  errors: Errors,
): void {
  for (const [i, { prefix, configMapRef, secretRef }] of sources.entries()) {
    const at = path.index(i);
    if (prefix) checkName(prefix, variableName, at.child("prefix"), errors);
    for (const [field, ref] of [["configMapRef", configMapRef] as const, ["secretRef", secretRef] as const]) {
      if (ref === undefined) continue;
      const nameAt = at.child(field, "name");
      if (!ref.name) errors.push(required(nameAt));
      else checkName(ref.name, dns1123Subdomain, nameAt, errors);
    }
    if (configMapRef === undefined && secretRef === undefined) {
      errors.push(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      errors.push(invalid(path, "", "may not have more than one field specified at a time"));
    }
  }
}
