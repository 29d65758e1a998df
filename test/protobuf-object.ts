/** Encodes objects as Protobuf bodies for tests, as client-go sends them, with the tables of built-in kinds. */
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import type { Schema } from "#schema/schema.ts";
import type { ObjectBody } from "./objects.ts";
import { double, envelope, field, integer } from "./protobuf.ts";

const tables = loadDefinitions(kubernetesDomain);

/** Returns the object in Protobuf. Members that no table has and negative numbers are left out. */
export function protobufBody(object: ObjectBody): Buffer | undefined {
  const { apiVersion, kind, ...members } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  const gv = parseApiVersion(apiVersion);
  const schema = gv === undefined ? undefined : tables.schemaOf({ ...gv, kind });
  return schema === undefined ? undefined : envelope(apiVersion, kind, ...fieldsOf(schema, members));
}

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function fieldsOf(schema: Schema, object: Members): Buffer[] {
  const parts: Buffer[] = [];
  for (const [name, { schema: type, proto, protoIn = [] }] of schema.fields ?? []) {
    const value = object[name];
    if (proto === undefined || value === undefined || value === null) continue;
    const bytes = valueOf(type, proto[0], value);
    parts.push(protoIn.reduceRight((inner, [number]) => field(number, inner), bytes));
  }
  return parts;
}

function special(schema: Schema, number: number, value: unknown): Buffer | undefined {
  switch (schema.special) {
    case "time":
    case "microTime":
      return typeof value === "string"
        ? field(number, integer(1, Math.floor(Date.parse(value) / 1000)), integer(2, (Date.parse(value) % 1000) * 1e6))
        : Buffer.alloc(0);
    case "quantity":
      return field(number, field(1, String(value)));
    case "intOrString":
      return typeof value === "number"
        ? field(number, integer(1, 0), integer(2, value))
        : field(number, integer(1, 1), field(3, String(value)));
    case undefined:
      return undefined;
    default:
      return field(number, field(1, JSON.stringify(value)));
  }
}

function valueOf(schema: Schema, number: number, value: unknown): Buffer {
  const own = special(schema, number, value);
  if (own !== undefined) return own;
  switch (schema.type) {
    case "string":
      return field(number, schema.format === "byte" ? Buffer.from(String(value), "base64") : String(value));
    case "boolean":
      return integer(number, value === true ? 1 : 0);
    case "integer":
      return typeof value === "number" && value >= 0 ? integer(number, value) : Buffer.alloc(0);
    case "number":
      return double(number, Number(value));
    case "array":
      return Buffer.concat(Array.isArray(value) ? value.map((item) => valueOf(schema.items!, number, item)) : []);
    case "map":
      return Buffer.concat(
        Object.entries(isMembers(value) ? value : {}).map(([key, item]) =>
          field(number, field(1, key), valueOf(schema.items!, 2, item)),
        ),
      );
    case "object":
      return field(number, ...(isMembers(value) ? fieldsOf(schema, value) : []));
    case "any":
      return Buffer.alloc(0);
  }
}
