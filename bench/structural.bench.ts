/**
 * The cost of an object with 30 fields under its structural schema, and of checking and compiling a schema of 1 MB. To
 * run it alone: `node --conditions=source bench/structural.bench.ts`.
 */
import { FieldPath } from "#meta/field-path.ts";
import {
  applyDefaults,
  checkListTypes,
  checkStructural,
  StructuralSchema,
  type JsonSchemaProps,
  prune,
  validateValue,
} from "#schema/structural.ts";
import { bestOf } from "./in-process.ts";
import { runAlone } from "./report.ts";
import type { Run, Suite } from "./suite.ts";

export const structuralSuite: Suite = {
  name: "structural",
  about: "an object of 30 fields against its structural schema, and large schemas; no server",
  rows: {
    prune: "looking for fields to drop, none there",
    defaults: "looking for fields to fill in, none missing",
    validate: "values against their schema",
    "list-types": "duplicates in sets and maps",
    "check-schema": "the rules of structural schemas for a schema of 30 fields",
    "compile-schema": "compiling it",
    "check-schema-1m": "the rules for a schema of 1 MB, with parsing it",
    "compile-schema-1m": "compiling one of 1 MB, with parsing it",
  },
  workloads: [],
  measure,
};

const text = (more: JsonSchemaProps = {}): JsonSchemaProps => ({ type: "string", ...more });

/** Returns a schema of 30 fields with common keywords; four of the fields are lists or maps. */
function thirtyFields(): JsonSchemaProps {
  const spec: Record<string, JsonSchemaProps> = {
    image: text({ minLength: 1, maxLength: 255 }),
    replicas: { type: "integer", minimum: 0, maximum: 1000, default: 1 },
    strategy: text({ enum: ["Rolling", "Recreate"], default: "Rolling" }),
    name: text({ pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 }),
    paused: { type: "boolean" },
    ratio: { type: "number", minimum: 0, maximum: 1 },
    port: { "x-kubernetes-int-or-string": true },
    since: text({ format: "date-time" }),
    labels: { type: "object", additionalProperties: text() },
    args: { type: "array", items: text() },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: {
        type: "object",
        required: ["name", "port"],
        properties: { name: text(), port: { type: "integer" }, protocol: text({ default: "TCP" }) },
      },
    },
    resources: { type: "object", properties: { cpu: text(), memory: text() } },
  };
  for (let at = 0; at < 12; at++) spec[`field${at}`] = at % 2 === 0 ? text() : { type: "integer" };
  return { type: "object", properties: { spec: { type: "object", required: ["image", "name"], properties: spec } } };
}

function thirtyValues(): unknown {
  const spec: Record<string, unknown> = {
    image: "registry.example.com/shop/cart:1.4.2",
    replicas: 3,
    strategy: "Rolling",
    name: "cart-frontend",
    paused: false,
    ratio: 0.25,
    port: "80%",
    since: "2024-02-29T12:00:00Z",
    labels: { app: "cart", tier: "front", team: "shop" },
    args: ["--verbose", "--port=80"],
    ports: [
      { name: "http", port: 80, protocol: "TCP" },
      { name: "dns", port: 53, protocol: "UDP" },
    ],
    resources: { cpu: "100m", memory: "64Mi" },
  };
  for (let at = 0; at < 12; at++) spec[`field${at}`] = at % 2 === 0 ? `value ${at}` : at;
  return { apiVersion: "example.com/v1", kind: "Cart", metadata: { name: "a" }, spec };
}

function largeSchema(bytes: number): JsonSchemaProps {
  const properties: Record<string, JsonSchemaProps> = {};
  const one = thirtyFields();
  const size = JSON.stringify(one).length;
  for (let at = 0; at < bytes / size; at++) properties[`part${at}`] = { ...one, description: `Part ${at}.` };
  return { type: "object", properties: { spec: { type: "object", properties } } };
}

async function measure(run: Run): Promise<void> {
  const row = (name: string, count: number, call: () => void): Promise<void> =>
    run.row(name, () => bestOf(name, count, call));
  const props = thirtyFields();
  const schema = new StructuralSchema(props);
  const value = thirtyValues();
  await row("prune", 100_000, () => prune(value, schema.node, { isResourceRoot: true, track: true }));
  await row("defaults", 100_000, () => applyDefaults(value, schema.node));
  await row("validate", 100_000, () => validateValue(value, schema.node));
  await row("list-types", 100_000, () => checkListTypes(value, schema.node));
  await row("check-schema", 1000, () => checkStructural(props, FieldPath.of("spec")));
  await row("compile-schema", 1000, () => new StructuralSchema(props).node);
  const text = JSON.stringify(largeSchema(1_000_000));
  const large = (): JsonSchemaProps => JSON.parse(text) as JsonSchemaProps; // JSON of a schema
  await row("check-schema-1m", 1, () => checkStructural(large(), FieldPath.of("spec")));
  await row("compile-schema-1m", 1, () => new StructuralSchema(large()).node);
}

if (import.meta.main) await runAlone(structuralSuite);
