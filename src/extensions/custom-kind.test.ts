/** Definitions as served: versions, conversion, and what is kept between changes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from "#api/apiextensions/v1.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { JsonSchemaProps } from "#schema/structural.ts";
import { runToEnd } from "#std/cooperative.ts";
import { CustomKind, type ServedBefore } from "./custom-kind.ts";

const environment = {
  objectBytesMax: 1024 * 1024,
  domain: kubernetesDomain,
  metadata: { type: "object", fields: new Map() },
  convert: () => Promise.reject(new Error("there are no conversion webhooks here")),
} as const;

const spec = (properties: Readonly<Record<string, JsonSchemaProps>>): JsonSchemaProps => ({
  type: "object",
  properties: { spec: { type: "object", properties } },
});
const text: JsonSchemaProps = { type: "string" };

const version = (
  name: string,
  schema: JsonSchemaProps,
  more: Partial<CustomResourceDefinitionVersion> = {},
): CustomResourceDefinitionVersion => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: schema },
  ...more,
});

const noStatus = { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: null };

const definition = (
  versions: readonly CustomResourceDefinitionVersion[],
  more: Partial<CustomResourceDefinition> = {},
): CustomResourceDefinition => ({
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    scope: "Namespaced",
    versions,
  },
  status: noStatus,
  ...more,
});

function makeKind(of: CustomResourceDefinition, old?: ServedBefore): CustomKind {
  const kind = runToEnd(CustomKind.inPieces(of, () => of, environment, old));
  if (old !== undefined) kind.follow(old.kind);
  return kind;
}

const servedDefinition = (kind: CustomKind, name: string): ResourceDefinition =>
  kind.definitions.find((other) => other.version === name)!;

const two = definition([
  version("v1", spec({ a: text, d: { ...text, default: "D" } }), { storage: true }),
  version("v2", spec({ a: text, b: { ...text, default: "B" } })),
]);

const storedObject = (apiVersion: string, fields: object): Unstructured => ({
  kind: "Widget",
  apiVersion,
  metadata: { name: "x" },
  spec: fields,
});

test("an object that fits its version is served as it is", () => {
  const object = storedObject("example.com/v1", { a: "1", d: "2" });
  assert.equal(servedDefinition(makeKind(two), "v1").conversion!.fromHub(object), object);
});

test("reading prunes and fills in by the stored version, then prunes by the one that is asked for", () => {
  const kind = makeKind(two);
  const object = storedObject("example.com/v1", { a: "1", gone: 1 });
  assert.deepEqual(servedDefinition(kind, "v1").conversion!.fromHub(object)["spec"], { a: "1", d: "D" });
  assert.deepEqual(servedDefinition(kind, "v2").conversion!.fromHub(object)["spec"], { a: "1" });
  assert.deepEqual(
    servedDefinition(kind, "v2").conversion!.toHub(storedObject("example.com/v2", { a: "1", b: "2" }))["spec"],
    {
      a: "1",
    },
  );
});

test("objects of a version that is gone cannot be read", () => {
  assert.throws(() => servedDefinition(makeKind(two), "v1").conversion!.fromHub(storedObject("example.com/v0", {})), {
    message: "request to convert CR from an invalid group/version: example.com/v0",
  });
});

test("only served versions are offered; the stored one is known all the same", () => {
  const kind = makeKind(
    definition([version("v1", spec({}), { storage: true, served: false }), version("v2", spec({}))]),
  );
  assert.deepEqual(
    kind.definitions.map(({ version: name }) => name),
    ["v2"],
  );
  assert.equal(kind.stored.version, "v1");
  assert.equal(servedDefinition(kind, "v2").storageVersionHash, "");
});

test("a change of metadata and status keeps schemas and watches, one of the schema ends them", () => {
  const kind = makeKind(two);
  const before = servedDefinition(kind, "v1");
  const terminating = { type: "Terminating", status: "True", lastTransitionTime: null } as const;
  const marked = { ...two, status: { ...noStatus, acceptedNames: two.spec.names, conditions: [terminating] } };
  const next = makeKind(marked, { kind, definition: two });
  assert.equal(before.custom!.endOfService.aborted, false);
  assert.equal(servedDefinition(next, "v1").conversion, before.conversion);
  assert.equal(servedDefinition(next, "v1").custom!.isTerminating, true);
  assert.deepEqual(servedDefinition(next, "v1").verbs, ["delete", "deletecollection", "get", "list", "watch"]);

  const changed = definition([version("v1", spec({ a: text, new: text }), { storage: true }), two.spec.versions![1]!]);
  const last = makeKind(changed, { kind: next, definition: marked });
  assert.equal(before.custom!.endOfService.aborted, true);
  assert.equal(before.custom!.epoch.retired, true);
  assert.equal(servedDefinition(last, "v1").custom!.epoch.retired, false);
  assert.equal(
    servedDefinition(last, "v2").decoder,
    servedDefinition(kind, "v2").decoder,
    "the schema of v2 is the same one",
  );
  assert.notEqual(servedDefinition(last, "v1").decoder, servedDefinition(kind, "v1").decoder);
});

test("a deprecated version warns with the best that is left [EVENT-05]", () => {
  const old = { deprecated: true };
  const kind = makeKind(
    definition([
      version("v1alpha1", spec({}), old),
      version("v1beta1", spec({})),
      version("v1", spec({}), { storage: true }),
      version("v2", spec({}), { ...old, deprecationWarning: "no" }),
    ]),
  );
  assert.equal(
    servedDefinition(kind, "v1alpha1").deprecation!.warning,
    "example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget",
  );
  assert.equal(servedDefinition(kind, "v2").deprecation!.warning, "no");
  assert.equal(servedDefinition(kind, "v1").deprecation, undefined);
});

/** Returns a definition with `count` versions; `looked` counts how often their names are read. */
function manyVersions(count: number, schema: (index: number) => JsonSchemaProps) {
  const looked = { times: 0 };
  const versions = Array.from({ length: count }, (_, index) => ({
    ...version("", schema(index), { storage: index === 0, deprecated: index % 2 === 1 }),
    get name() {
      looked.times++;
      return `v${index + 1}`;
    },
  }));
  return { of: definition(versions), looked };
}

test("a definition with thousands of versions is made in small pieces, with the same work for each version", () => {
  const [few, many] = [1000, 4000].map((count) => {
    const { of, looked } = manyVersions(count, (index) => spec({ [`f${index}`]: text }));
    const first = makeKind(of);
    const changed = { ...of, spec: { ...of.spec, names: { ...of.spec.names, shortNames: ["w"] } } };
    looked.times = 0;
    let pieces = 1;
    const making = CustomKind.inPieces(changed, () => changed, environment, { kind: first, definition: of });
    let next = making.next();
    for (; next.done !== true; next = making.next()) pieces++;
    assert.equal(next.value.definitions.length, count);
    return { looked: looked.times / count, pieces: pieces / count };
  });
  assert.ok(
    many!.looked < few!.looked * 1.1,
    `${many!.looked} looks at each of 4,000 versions, ${few!.looked} of 1,000`,
  );
  assert.ok(many!.pieces > 1 / 64, `a piece of ${1 / many!.pieces} versions`);
});

test("versions with the same schema share what is made of it, whatever else changes", () => {
  const { of } = manyVersions(1000, () => spec({ a: text }));
  let reads = 0;
  const read = (): CustomResourceDefinition => {
    reads++;
    return of;
  };
  const kind = runToEnd(CustomKind.inPieces(of, read, environment));
  assert.equal(new Set(kind.definitions.map(({ schema }) => schema)).size, 1);
  assert.equal(reads, 1);
  const renamed = definition([
    version("v9", spec({ a: text }), { storage: true }),
    version("v10", spec({ a: text, b: text })),
  ]);
  const next = makeKind(renamed, { kind, definition: of });
  assert.equal(servedDefinition(next, "v9").decoder, kind.definitions[0]!.decoder, "it is known by its schema");
  assert.notEqual(servedDefinition(next, "v10").decoder, kind.definitions[0]!.decoder);
});

test("a new version of a kind that is not used leaves the one before as it was", () => {
  const kind = makeKind(two);
  const changed = definition([version("v1", spec({ a: text, new: text }), { storage: true }), two.spec.versions![1]!]);
  runToEnd(CustomKind.inPieces(changed, () => changed, environment, { kind, definition: two }));
  assert.equal(servedDefinition(kind, "v1").custom!.endOfService.aborted, false);
  assert.equal(servedDefinition(kind, "v1").custom!.epoch.retired, false);
});
