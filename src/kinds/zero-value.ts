/** Zero values of types, as Go's encoder prints them: only fields that are always present. */
import type { Schema } from "#schema/schema.ts";

const known = new WeakMap<Schema, unknown>();

/** Shared and read-only. */
export function zeroOf(schema: Schema): unknown {
  let zero = known.get(schema);
  if (zero === undefined) {
    zero = makeZero(schema);
    known.set(schema, zero);
  }
  return zero;
}

function makeZero(schema: Schema): unknown {
  switch (schema.special) {
    case "quantity":
      return "0";
    case "intOrString":
      return 0;
    case "duration":
      return "0s";
    case undefined:
      break;
    default:
      return null;
  }
  switch (schema.type) {
    case "string":
      return "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "object": {
      const out: Record<string, unknown> = {};
      for (const [name, field] of schema.fields ?? []) {
        if (field.keep === true) out[name] = field.ptr === true ? null : zeroOf(field.schema);
      }
      return out;
    }
    default:
      return null;
  }
}
