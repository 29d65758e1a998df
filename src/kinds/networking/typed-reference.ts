/** References to objects by group, kind and name, in ingresses and their classes. */
import type { IngressClassParametersReference } from "#api/networking/v1.ts";
import type { TypedLocalObjectReference } from "#api/core/v1.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { checkName, checkSegment, type Errors } from "../checks.ts";

type Reference = TypedLocalObjectReference | IngressClassParametersReference;

/** Checks a reference, and adds findings to `errors`. */
export function checkTypedReference({ apiGroup, kind, name }: Reference, path: FieldPath, errors: Errors): void {
  if (apiGroup !== undefined && apiGroup !== null)
    checkName(apiGroup, dns1123Subdomain, path.child("apiGroup"), errors);
  checkSegment(kind, "kind", path.child("kind"), errors);
  checkSegment(name, "name", path.child("name"), errors);
}
