/** Objects of a request in the version that a webhook or a policy asks for. */
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** Converts between the served versions of a kind. */
export interface ObjectForms {
  /**
   * The object as one of `kind`, a kind of another version or group for the same stored objects; the object itself when
   * it is one already. Throws `StatusError` when that version is not served, or the conversion fails.
   */
  convertTo(object: ApiObject, kind: GroupVersionKind): MaybePromise<ApiObject>;
  /**
   * A value that was made of an object, as one of `kind`: defaults are filled in, unknown fields dropped from custom
   * resources. Later, if it is long. Throws or rejects with `StatusError` when it does not fit, or is too long for an object.
   */
  reread(value: unknown, kind: GroupVersionKind): MaybePromise<ApiObject>;
  /** The object of `kind` after a JSON Patch, read again; later, if the patch is long. Throws or rejects with `StatusError`. */
  patched(object: ApiObject, kind: GroupVersionKind, patch: Buffer): MaybePromise<ApiObject>;
}
