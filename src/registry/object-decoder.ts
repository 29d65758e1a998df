/**
 * Reads request bodies, and the values that patches and applies make: by the generated type of a kind, or by the schema
 * of its definition. A `ResourceDefinition` carries the decoder of its kind, so handlers do not ask which one it is.
 */
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ByteBudget } from "#schema/json-values.ts";
import type { Schema } from "#schema/schema.ts";
import { type CustomType, decodeCustom, decodeMergedCustom, decodePatchedCustom } from "#codec/custom-object.ts";
import { type DecodedObject, decodeMerged, decodeObject, type ObjectBody } from "#codec/object.ts";
import { decodePatched, type PatchedObject, type PatchedValue } from "#codec/patch-body.ts";

/** The budget of defaults, which only those of custom kinds can exhaust. */
interface WithRoom {
  room(): ByteBudget;
}

export interface ObjectDecoder {
  /** The generated type of whole objects, by which formats other than JSON are written; `undefined` for custom kinds. */
  readonly type: Schema | undefined;
  /** A request body. Throws the `StatusError` to answer when it cannot be the object asked for. */
  body(body: Omit<ObjectBody, "schema"> & WithRoom): DecodedObject;
  /** The object that a patch made. Throws `invalid` when it does not fit its type. */
  patched(patched: Omit<PatchedValue, "schema"> & WithRoom): PatchedObject;
  /** The object that an apply made. Throws `DecodeError` when it does not fit its type. */
  merged(merged: MergedObject & WithRoom): Pick<DecodedObject, "object" | "hasEmptyLists">;
}

interface MergedObject {
  readonly value: Readonly<Record<string, unknown>>;
  /** The object before, of which the value shares what did not change. */
  readonly live: Unstructured | undefined;
  readonly gvk: GroupVersionKind;
}

/** Decodes by a generated type, built when first asked for. */
export const typedDecoder = (schema: () => Schema): ObjectDecoder => ({
  get type() {
    return schema();
  },
  body: (body) => decodeObject({ ...body, schema: schema() }),
  patched: (patched) => decodePatched({ ...patched, schema: schema() }),
  merged: (merged) => decodeMerged({ ...merged, schema: schema() }),
});

/** Decodes by the schema of a custom resource definition. */
export const customDecoder = (type: CustomType): ObjectDecoder => ({
  type: undefined,
  body: (body) => decodeCustom({ ...body, type, room: body.room() }),
  patched: (patched) => decodePatchedCustom({ ...patched, type, room: patched.room() }),
  merged: (merged) => ({
    object: decodeMergedCustom({ ...merged, type, room: merged.room() }),
    hasEmptyLists: false,
  }),
});
