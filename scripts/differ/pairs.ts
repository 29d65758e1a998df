/**
 * Cases for the comparison of merges: two objects of a kind, as people write them, to be merged into each other. The
 * second one is another valid object, or the first with a few changes; some of its values are empty in one of the
 * possible ways. The same seed gives the same pair.
 */
import { type Random, seededRandom } from "#std/random.ts";
import type { Schema } from "#schema/schema.ts";
import { chance, maybe, pick, upTo } from "./choices.ts";
import { type ComparedKind, contentOf, ofCluster, comparedKindWithoutSpec, withStatus } from "./compared-kind.ts";
import { applyEdit, editsOf, type Edit, valuesIn, valueOf } from "./edits.ts";
import { comparedKinds } from "./kinds.ts";
import type { Json } from "./servers.ts";

const policy = (random: Random): Json => ({
  matchConstraints: {
    resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["bindings"] }],
  },
  validations: [{ expression: "true", ...maybe(random, 0.5, () => ({ message: "m", reason: "Forbidden" })) }],
  ...maybe(random, 0.4, () => ({ failurePolicy: "Ignore", variables: [{ name: "v", expression: "1" }] })),
  ...maybe(random, 0.4, () => ({ matchConditions: [{ name: "c", expression: "false" }] })),
  ...maybe(random, 0.3, () => ({ auditAnnotations: [{ key: "k", valueExpression: "'v'" }] })),
});

const binding = (random: Random): Json => ({
  policyName: pick(random, ["nowhere", "elsewhere"]),
  validationActions: pick(random, [["Deny"], ["Warn", "Audit"]]),
  ...maybe(random, 0.4, () => ({ matchResources: { namespaceSelector: { matchLabels: { a: "b" } } } })),
});

const admission = "admissionregistration.k8s.io";

/** The kinds whose objects are merged: those of the other comparisons, and kinds without random edits there. */
export const pairedKinds: readonly ComparedKind[] = [
  ...comparedKinds,
  comparedKindWithoutSpec("", "v1", "Namespace", "namespaces", () => ({}), { ...withStatus, ...ofCluster }),
  comparedKindWithoutSpec(
    admission,
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    (random) => ({ spec: policy(random) }),
    {
      ...withStatus,
      ...ofCluster,
    },
  ),
  comparedKindWithoutSpec(
    admission,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    (random) => ({ spec: binding(random) }),
    ofCluster,
  ),
];

export interface Pair {
  readonly kind: ComparedKind;
  /** A valid object, and the other one. */
  readonly objects: readonly [Json, Json];
  /** Two statuses, if the kind has one. */
  readonly statuses: readonly [Json, Json] | undefined;
}

/** Returns the empty values of the type, including `null`. */
function emptyValues(schema: Schema): readonly unknown[] {
  switch (schema.special) {
    case "time":
      return [null, "0001-01-01T00:00:00Z"];
    case "microTime":
      return [null, "0001-01-01T00:00:00.000000Z"];
    case "quantity":
      return [null, "0"];
    case "intOrString":
      return [null, 0, ""];
    case undefined:
      break;
    default:
      return [null];
  }
  switch (schema.type) {
    case "string":
      return [null, ""];
    case "integer":
    case "number":
      return [null, 0];
    case "boolean":
      return [null, false];
    case "array":
      return [null, []];
    default:
      return [null, {}];
  }
}

/** Returns an edit that makes a value empty, or adds an empty one, or moves or removes items of a list. */
function shapeEdit(random: Random, schema: Schema, value: unknown, root: readonly string[]): Edit | undefined {
  const { present, absent } = valuesIn(schema, value, root);
  const lists = present.filter((one) => Array.isArray(one.value) && one.value.length > 1);
  if (lists.length > 0 && chance(random, 0.3)) {
    const { path, value: list } = pick(random, lists);
    const items = list as readonly unknown[]; // only lists were chosen
    return { path, value: chance(random, 0.5) ? items.toReversed() : items.slice(1) };
  }
  const from = chance(random, 0.6) ? present : absent;
  const candidates = from.filter(
    ({ path }) => path.length > 0 && (from === present || typeof path.at(-1) === "string"),
  );
  if (candidates.length === 0) return undefined;
  const chosen = pick(random, candidates);
  return { path: chosen.path, value: pick(random, emptyValues(chosen.schema)) };
}

function withEdits(random: Random, kind: ComparedKind, object: Json, count: number): Json {
  let next: unknown = object;
  for (let i = 0; i < count; i++) {
    const { schema, value, path } = contentOf(kind, next as Json, kind.root);
    const edits = chance(random, 0.5)
      ? editsOf(random, schema, value, path, 1)
      : [shapeEdit(random, schema, value, path)].filter((edit) => edit !== undefined);
    next = edits.reduce<unknown>(applyEdit, next);
  }
  return next as Json; // edits keep an object
}

const metadata = (random: Random): Json => ({
  ...maybe(random, 0.6, () => ({
    labels: pick<Json>(random, [{ app: "a" }, { app: "b", tier: "web" }, { tier: "db" }, {}]),
  })),
  ...maybe(random, 0.4, () => ({
    annotations: pick<Json>(random, [{ "example.com/a": "1" }, { "example.com/b": "", c: "2" }, {}]),
  })),
  ...maybe(random, 0.15, () => ({
    finalizers: pick(random, [["example.com/a"], ["example.com/b", "example.com/a"], []]),
  })),
});

function withMetadata(random: Random, object: Json, name: string): Json {
  const { name: own } = object["metadata"] as { readonly name: string }; // each object has a name
  return { ...object, metadata: { ...metadata(random), name: own === "one" ? name : own } };
}

/** Returns the pair with this number. Both objects have the name `name`, unless their kind requires another one. */
export function pairOf(kind: ComparedKind, seed: number, name: string): Pair {
  const random = seededRandom(seed);
  const first = withMetadata(random, kind.make(random), name);
  const other = chance(random, 0.6) ? kind.make(random) : first;
  const second = withEdits(random, kind, withMetadata(random, other, name), upTo(random, 2));
  const schema = kind.schema.fields?.get("status")?.schema;
  const status = (): Json => {
    const value = valueOf(random, schema!, " status", 3); // the kind has a status
    const edit = chance(random, 0.7) ? shapeEdit(random, schema!, value, []) : undefined;
    return (edit === undefined ? value : applyEdit(value, edit)) as Json; // its type is an object
  };
  const hasStatus = schema !== undefined && "status" in kind.subresources && kind.hasServerStatus !== true;
  return { kind, objects: [first, second], statuses: hasStatus ? [status(), status()] : undefined };
}
