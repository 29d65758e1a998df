/** An object of every built-in kind with each field set once, generated from the tables, in Protobuf and as a value. */
import type { ApiTables } from "#api/definitions.ts";
import { apiVersionOf, type GroupVersionKind } from "#meta/group-version.ts";
import type { Schema } from "#schema/schema.ts";
import { double, envelope, field, integer } from "../protobuf.ts";

export interface SampleObject {
  readonly gvk: GroupVersionKind;
  readonly schema: Schema;
  readonly object: Readonly<Record<string, unknown>>;
  /** The same object as a Protobuf body. */
  readonly protobuf: Buffer;
}

/** Returns an object for each kind in each version. */
export function sampleObjects(tables: ApiTables): SampleObject[] {
  return tables.kinds.map(({ group, version, kind, typeName }) => {
    const schema = tables.schema(typeName)!;
    const [parts, members] = fields(schema, []);
    const apiVersion = apiVersionOf({ group, version });
    return {
      gvk: { group, version, kind },
      schema,
      object: { apiVersion, kind, ...members },
      protobuf: envelope(apiVersion, kind, ...parts),
    };
  });
}

/** Returns a value of a type in both forms. A type inside itself ends at the second level. */
function sample(schema: Schema, number: number, seen: readonly Schema[]): [Buffer, unknown] | undefined {
  switch (schema.special) {
    case "time":
      return [field(number, integer(1, 1_700_000_000), integer(2, 5000)), "2023-11-14T22:13:20Z"];
    case "microTime":
      return [field(number, integer(1, 1_700_000_000), integer(2, 5000)), "2023-11-14T22:13:20.000005Z"];
    case "duration":
      return [field(number, integer(1, 90_000_000_000)), "90000000000ns"];
    case "quantity":
      return [field(number, field(1, "2Gi")), "2Gi"];
    case "intOrString":
      return [field(number, integer(1, 0), integer(2, 80), field(3, "")), 80];
    case "rawExtension":
    case "fieldsV1":
    case "json":
      return [field(number, field(1, '{"a":[1]}')), { a: [1] }];
    case "schemaOrBool":
      return [field(number, integer(1, 1)), true];
    case "schemaOrStringArray":
      return [field(number, field(2, "a"), field(2, "b")), ["a", "b"]];
    case "schemaOrArray":
      return [field(number, field(1, field(5, "string"))), { type: "string" }];
  }
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? [field(number, "bytes"), "Ynl0ZXM="] : [field(number, "text"), "text"];
    case "boolean":
      return [integer(number, 1), true];
    case "integer":
      return [integer(number, 300), 300];
    case "number":
      return [double(number, 0.5), 0.5];
    case "array": {
      const item = sample(schema.items!, number, seen);
      return item === undefined ? undefined : [Buffer.concat([item[0], item[0]]), [item[1], item[1]]];
    }
    case "map": {
      const inner = schema.items!.type === "array" ? sample(schema.items!, 1, seen) : undefined;
      const value: [Buffer, unknown] | undefined =
        inner === undefined ? sample(schema.items!, 2, seen) : [field(2, inner[0]), inner[1]];
      return value === undefined ? undefined : [field(number, field(1, "key"), value[0]), { key: value[1] }];
    }
    case "object": {
      if (seen.includes(schema)) return undefined;
      const [bytes, value] = fields(schema, seen);
      return [field(number, ...bytes), value];
    }
    default:
      throw new Error(`no sample of ${schema.name}`);
  }
}

function fields(schema: Schema, seen: readonly Schema[]): [Buffer[], Record<string, unknown>] {
  const parts: Buffer[] = [];
  const value: Record<string, unknown> = {};
  for (const [name, { schema: type, proto, protoIn = [] }] of schema.fields ?? []) {
    if (proto === undefined) continue;
    const item = sample(type, proto[0], [...seen, schema]);
    if (item === undefined) continue;
    parts.push(protoIn.reduceRight((inner, [number]) => field(number, inner), item[0]));
    value[name] = item[1];
  }
  return [parts, value];
}
