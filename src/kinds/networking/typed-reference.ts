/** References to objects by group, kind and name, in ingresses and their classes. */
import { dns1123Subdomain } from "#meta/names.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { checkName, checkSegment, type Errors } from "../checks.ts";

export interface TypedReference {
  readonly apiGroup?: string | null;
  readonly kind: string;
  readonly name: string;
}

/** Adds errors to `errors`. */
export function checkTypedReference({ apiGroup, kind, name }: TypedReference, path: FieldPath, errors: Errors): void {
  if (apiGroup !== undefined && apiGroup !== null)
    checkName(apiGroup, dns1123Subdomain, path.child("apiGroup"), errors);
  checkSegment(kind, "kind", path.child("kind"), errors);
  checkSegment(name, "name", path.child("name"), errors);
}
