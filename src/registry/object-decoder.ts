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

/** The budget for defaults, which only defaults of custom kinds can exhaust. */
interface WithRoom {
  room(): ByteBudget;
}

export interface ObjectDecoder {
  /**
   * The generated type of whole objects, by which formats other than JSON are written; `undefined` for custom kinds.
   */
  readonly type: Schema | undefined;
  /** Decodes a request body. Throws the `StatusError` of the answer when the body cannot be the requested object. */
  decodeBody(body: Omit<ObjectBody, "schema"> & WithRoom): DecodedObject;
  /** Decodes the result of a patch. Throws `invalid` when it does not fit its type. */
  decodePatched(patched: Omit<PatchedValue, "schema"> & WithRoom): PatchedObject;
  /** Decodes the result of an apply. Throws `DecodeError` when it does not fit its type. */
  decodeMerged(merged: MergedObject & WithRoom): Pick<DecodedObject, "object" | "hasEmptyLists">;
}

interface MergedObject {
  readonly value: Readonly<Record<string, unknown>>;
  /** The object before the patch or apply; the value shares unchanged parts with it. */
  readonly live: Unstructured | undefined;
  readonly gvk: GroupVersionKind;
}

/** Makes a decoder by a generated type, which is built when it is first needed. */
export const typedDecoder = (schema: () => Schema): ObjectDecoder => ({
  get type() {
    return schema();
  },
  decodeBody: (body) => decodeObject({ ...body, schema: schema() }),
  decodePatched: (patched) => decodePatched({ ...patched, schema: schema() }),
  decodeMerged: (merged) => decodeMerged({ ...merged, schema: schema() }),
});

/** Makes a decoder by the schema of a custom resource definition. */
export const customDecoder = (type: CustomType): ObjectDecoder => ({
  type: undefined,
  decodeBody: (body) => decodeCustom({ ...body, type, room: body.room() }),
  decodePatched: (patched) => decodePatchedCustom({ ...patched, type, room: patched.room() }),
  decodeMerged: (merged) => ({
    object: decodeMergedCustom({ ...merged, type, room: merged.room() }),
    hasEmptyLists: false,
  }),
});
