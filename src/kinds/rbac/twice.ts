/** Shared by the namespaced and the cluster-scoped kinds of RBAC. */
import type { FieldError } from "#meta/field-error.ts";

/** Findings of an update. Upstream: it is checked twice, so that each of its causes stands there twice. */
export const twice = (errors: readonly FieldError[]): readonly FieldError[] =>
  errors.length === 0 ? errors : [...errors, ...errors];
