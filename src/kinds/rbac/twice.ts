/** Shared by the namespaced and the cluster-scoped kinds of RBAC. */
import type { FieldError } from "#meta/field-error.ts";

/** Errors of an update. Upstream validates it twice, so each cause occurs twice. */
export const twice = (errors: readonly FieldError[]): readonly FieldError[] =>
  errors.length === 0 ? errors : [...errors, ...errors];
