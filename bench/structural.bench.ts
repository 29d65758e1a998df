/**
 * What an object of 30 fields costs by its structural schema, and a schema of 1 MB when it is checked and compiled.
 * Alone: `node --conditions=source bench/structural.bench.ts`.
 */
import {
  applyDefaults,
  checkListTypes,
  checkStructural,
  compileStructural,
  type JsonSchemaProps,
  prune,
  validateValue,
} from "#schema/structural.ts";

const text = (more: JsonSchemaProps = {}): JsonSchemaProps => ({ type: "string", ...more });

/** 30 fields, four of them lists or maps, with the keywords that are common. */
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

/** Microseconds, the best of five rounds. */
function time(run: () => void, count: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    for (let at = 0; at < count; at++) run();
    best = Math.min(best, ((performance.now() - start) / count) * 1000);
  }
  return best;
}

function largeSchema(bytes: number): JsonSchemaProps {
  const properties: Record<string, JsonSchemaProps> = {};
  const one = thirtyFields();
  const size = JSON.stringify(one).length;
  for (let at = 0; at < bytes / size; at++) properties[`part${at}`] = { ...one, description: `Part ${at}.` };
  return { type: "object", properties: { spec: { type: "object", properties } } };
}

const show = (name: string, us: number): void => {
  console.log(`${name.padEnd(36)}${us.toFixed(us < 10 ? 2 : 0).padStart(10)} us`);
};

const props = thirtyFields();
const schema = compileStructural(props);
const value = thirtyValues();
show(
  "prune, nothing to drop",
  time(() => prune(value, schema, { isResourceRoot: true, track: true }), 100_000),
);
show(
  "defaults, nothing missing",
  time(() => applyDefaults(value, schema), 100_000),
);
show(
  "validate",
  time(() => validateValue(value, schema), 100_000),
);
show(
  "list types",
  time(() => checkListTypes(value, schema), 100_000),
);
show(
  "check the schema",
  time(() => checkStructural(props, "spec"), 1000),
);
show(
  "compile the schema",
  time(() => compileStructural(props).node, 1000),
);
const large = JSON.stringify(largeSchema(1_000_000));
show(
  "check a schema of 1 MB",
  time(() => checkStructural(JSON.parse(large) as JsonSchemaProps, "spec"), 1),
); // made above
show(
  "compile a schema of 1 MB",
  time(() => compileStructural(JSON.parse(large) as JsonSchemaProps).node, 1),
); // made above
