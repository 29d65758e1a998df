/** Converts objects of a request to the version that a webhook or a policy asks for. */
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** Converts between the served versions of a kind. */
export interface ObjectForms {
  /**
   * Returns the object as one of `kind`, which is another version or group of the same stored objects; returns the
   * object itself when it is one already. Throws `StatusError` when that version is not served, or the conversion
   * fails.
   */
  convertTo(object: ApiObject, kind: GroupVersionKind): MaybePromise<ApiObject>;
  /**
   * Reads a value that was made from an object as an object of `kind`: fills in defaults, and drops unknown fields of
   * custom resources. Returns a promise if the value is long. Throws or rejects with `StatusError` when the value does
   * not fit, or is too long for an object.
   */
  reread(value: unknown, kind: GroupVersionKind): MaybePromise<ApiObject>;
  /**
   * Applies a JSON Patch to an object of `kind`, and reads the result as such an object. Returns a promise if the patch
   * is long. Throws or rejects with `StatusError`.
   */
  applyPatch(object: ApiObject, kind: GroupVersionKind, patch: Buffer): MaybePromise<ApiObject>;
}
