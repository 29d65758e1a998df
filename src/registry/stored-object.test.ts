/**
 * Stored custom resources in their served versions: spliced when only the `apiVersion` differs, otherwise encoded
 * again.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { DetachedEntry, type Entry } from "#storage/watch-cache.ts";
import { customFacts } from "./definition-for-tests.ts";
import type { SchemaEpoch, ResourceDefinition } from "./resource-definition.ts";
import { parseObject, StoredObjects } from "./stored-object.ts";

const newEpoch = (name: string): SchemaEpoch => ({ name, retired: false });

/**
 * Makes a version `name` of things that are stored as v1; `change` is the change that its schemas make to stored
 * objects.
 */
function version(name: string, epoch: SchemaEpoch, change: (object: Unstructured) => Unstructured): ResourceDefinition {
  return {
    group: "example.com",
    version: name,
    kind: "Thing",
    storage: { group: "example.com", version: "v1", kind: "Thing", resource: "things" },
    conversion: { toHub: (object: Unstructured) => object, fromHub: change },
    custom: customFacts({ epoch }),
  } as unknown as ResourceDefinition; // the parts that encodings look at
}

const entryOf = (text: string): Entry =>
  new DetachedEntry({
    key: "/registry/example.com/things/x",
    value: Buffer.from(`${text}\n`),
    revision: 1,
    created: 1,
  });

const bytes = (apiVersion: string): string =>
  `{"kind":"Thing","apiVersion":"${apiVersion}","metadata":{"name":"x"},"a":1}`;

test("bytes of the served version are served as they are, others with another type in front", () => {
  const objects = new StoredObjects();
  let asked = 0;
  const same = (object: Unstructured): Unstructured => {
    asked++;
    return object;
  };
  const one = version("v1", newEpoch("1"), same);
  const two = version("v2", newEpoch("2"), same);
  const entry = entryOf(bytes("example.com/v1"));
  assert.equal(objects.servedBytes(one, entry), entry.value);
  assert.equal(objects.servedBytes(two, entry).toString(), `${bytes("example.com/v2")}\n`);
  assert.equal(
    objects.servedBytes(two, entryOf(bytes("example.com/v1beta1"))).toString(),
    `${bytes("example.com/v2")}\n`,
  );
  assert.equal(asked, 3);
  for (let i = 0; i < 5; i++) for (const definition of [one, two]) objects.servedBytes(definition, entry);
  assert.equal(asked, 3, "an entry is looked at once for each epoch");
});

test("other epochs look again, and what they change is encoded anew", () => {
  const objects = new StoredObjects();
  const entry = entryOf(bytes("example.com/v1"));
  const epoch = newEpoch("3");
  objects.servedBytes(
    version("v1", epoch, (object) => object),
    entry,
  );
  epoch.retired = true;
  const changed = version("v1", newEpoch("4"), (object) => ({ ...object, b: "<2>" }));
  const text = `{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"x"},"a":1,"b":"\\u003c2\\u003e"}\n`;
  assert.equal(objects.servedBytes(changed, entry).toString(), text);
  assert.equal(objects.object(changed, entry)["b"], "<2>");
});

test("whole numbers beyond 2^53 survive being decoded", () => {
  const objects = new StoredObjects();
  const entry = entryOf(
    '{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"x"},"a":9223372036854775807}',
  );
  const changed = version("v1", newEpoch("5"), (object) => ({ ...object }));
  assert.match(objects.servedBytes(changed, entry).toString(), /"a":9223372036854775807\}/);
});

test("metadata as text is cut from the stored bytes wherever they begin as usual", () => {
  const objects = new StoredObjects();
  const { conversion: _conversion, custom: _custom, ...thing } = version("v1", newEpoch("6"), (object) => object);
  const all = [
    { name: "x" },
    { name: "ü", annotations: { a: '}"{\\', "\\": '\\"}', "<": "line\n" }, labels: {} },
    { name: "y", managedFields: [{ fieldsV1: { "f:spec": { 'k:{"a":"}"}': { ".": {} } } } }] },
  ];
  const heads = [
    { kind: "Thing", apiVersion: "example.com/v1" },
    { 7: "keys like this come first", kind: "Thing" },
  ];
  for (const metadata of all) {
    for (const head of heads) {
      const entry = entryOf(JSON.stringify({ ...head, metadata, spec: { metadata: { name: "z" } } }));
      // The second call uses the cached end of the metadata.
      for (let i = 0; i < 2; i++) assert.equal(objects.metadataText(thing, entry), JSON.stringify(metadata));
    }
  }
});

test("fields are those of the served version, whether what was decoded is kept or not", () => {
  const objects = new StoredObjects();
  const text = '{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{"size":1}}';
  const grow = (object: Unstructured): Unstructured => ({ ...object, spec: { size: 2 } });
  for (const change of [(object: Unstructured) => object, grow]) {
    const fields = ({ apiVersion, spec }: Unstructured) => ({
      apiVersion: String(apiVersion),
      spec: JSON.stringify(spec),
    });
    const served = { ...version("v2", newEpoch("a"), change), strategy: { fields } };
    const entry = entryOf(text);
    const peeked = objects.peekFields(served, entry);
    assert.equal(entry.decoded, undefined);
    assert.deepEqual(peeked, objects.fields(served, entry));
    assert.equal(peeked["apiVersion"], "example.com/v2");
    assert.deepEqual(objects.peekFields(served, entry), peeked);
  }
});

test("of large objects fewer stay decoded than of small ones", () => {
  const objects = new StoredObjects();
  const measureDecoding = (length: number, count = 40): number => {
    const entries = Array.from({ length: count }, () =>
      entryOf(JSON.stringify({ kind: "Thing", metadata: { name: "x" }, a: "x".repeat(length) })),
    );
    for (const entry of entries) objects.stored(entry);
    return entries.filter((entry) => objects.isDecoded(entry)).length;
  };
  assert.equal(measureDecoding(1024), 40);
  assert.equal(measureDecoding(1024 * 1024), 15);
  assert.equal(measureDecoding(20 * 1024 * 1024, 2), 1, "the latest one stays");
  assert.equal(measureDecoding(1024), 40);
});

test("where no more than one object is to stay decoded, that is so for created ones, too", () => {
  const objects = new StoredObjects(1);
  const { conversion: _conversion, custom: _custom, ...thing } = version("v1", newEpoch("7"), (object) => object);
  const views = [1, 2, 3].map((revision) => {
    const { decode: view } = objects.encode(thing, { metadata: { name: "x" } } as Unstructured, true);
    return view?.(revision) as { object: Unstructured | undefined };
  });
  assert.deepEqual(
    views.map(({ object }) => object !== undefined),
    [false, false, true],
  );
});

test("the failure of a damaged object quotes nothing of it", () => {
  const objects = new StoredObjects();
  for (const damage of ['"data":{"password":hunter2hunter2}', '"data":"hunter2']) {
    const text = `{"kind":"Thing","metadata":{"name":"x"},${damage}}`;
    assert.throws(
      () => parseObject(text),
      ({ message }: Error) => !message.includes("hunter2"),
    );
    assert.throws(
      () => objects.stored(entryOf(text)),
      (error: Error) => {
        assert.match(String(error.cause), /Unexpected token|Bad control character/);
        assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /hunter2/);
        return true;
      },
    );
  }
});
