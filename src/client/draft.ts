/**
 * The types of objects that programs send, made of the types of objects that servers return: new objects, changed ones,
 * what is applied, and patches.
 */
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";

/** A `T` of which every part may be left out: a server sets the defaults of what is absent or undefined. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]?: DeepPartial<T[Field]> | undefined }
    : T;

/** The fields of `T` beside its metadata, each of which may be left out. */
type Fields<T extends ApiObject> = DeepPartial<Omit<T, "metadata">>;

/** Whether objects of the type are stored and have names. Reviews, for example, are not. */
interface HasName {
  readonly metadata: { readonly name: string };
}

type Named = { readonly name: string } | { readonly generateName: string };

/** An object that may be created: it has a name, or the beginning of one, and the fields that are not defaults. */
export type Draft<T extends ApiObject> = T extends HasName
  ? Fields<T> & { readonly metadata: DeepPartial<ObjectMeta> & Named }
  : DeepPartial<T>;

/** An object that may replace the one with its name. With a `resourceVersion` it replaces only this version. */
export type Replacement<T extends ApiObject> = Fields<T> & {
  readonly metadata: DeepPartial<ObjectMeta> & { readonly name: string };
};

/** The metadata that may be applied. */
type AppliedMeta = DeepPartial<
  Pick<
    ObjectMeta,
    "namespace" | "labels" | "annotations" | "finalizers" | "ownerReferences" | "uid" | "resourceVersion"
  >
> & { readonly name: string };

/** An object as it may be applied: its name, and the fields that the manager wants to own. */
export type Apply<T extends ApiObject> = Fields<T> & { readonly metadata: AppliedMeta };

/** A copy of a `T` that may be changed. */
export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Field in keyof T]: Mutable<T[Field]> }
    : T;

/** The fields that change: `null` removes one, and a list replaces the whole list. Source: RFC 7386. */
export type MergePatch<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]?: MergePatch<T[Field]> | null | undefined }
    : T;

/**
 * The same, but lists of built-in kinds are merged by the keys of their items. Directives are fields that begin with
 * `$`, such as `$patch: "delete"`. Custom resources do not support it.
 */
export type StrategicPatch<T> = T extends readonly (infer Item)[]
  ? readonly StrategicPatch<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]?: StrategicPatch<T[Field]> | null | undefined } & {
        readonly [directive: `$${string}`]: unknown;
      }
    : T;

/** One step of a JSON patch. Paths are JSON pointers: `/spec/replicas`. Source: RFC 6902. */
export type JsonPatchStep =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly path: string; readonly from: string };

/** A patch of one of the three forms. */
export type Patch<T> =
  | { readonly merge: MergePatch<T>; readonly json?: never; readonly strategic?: never }
  | { readonly json: readonly JsonPatchStep[]; readonly merge?: never; readonly strategic?: never }
  | { readonly strategic: StrategicPatch<T>; readonly merge?: never; readonly json?: never };
