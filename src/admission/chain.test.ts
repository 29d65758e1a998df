/** The order of admission plugins, synchronous and asynchronous. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "#meta/object-meta.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import { admissionChain } from "./chain.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import { refusal } from "./plugin.ts";

const object: ApiObject = { metadata: { name: "a" } };

function marker(name: string, later: boolean): AdmissionPlugin {
  const mark = (of: ApiObject | undefined): ApiObject => ({ ...of, metadata: of!.metadata, [name]: true });
  return {
    name,
    operations: ["CREATE"],
    admit: ({ object }) => (later ? Promise.resolve(mark(object)) : mark(object)),
  };
}

test("each plugin sees what the one before it made, whether it answers at once or later", async () => {
  const chain = admissionChain([marker("one", false), marker("two", true), marker("three", false)]);
  assert.deepEqual(await chain.admit(attributesOf(object)), { ...object, one: true, two: true, three: true });
  assert.deepEqual(chain.names, ["one", "two", "three"]);
});

test("a chain whose plugins answer at once answers at once", () => {
  const chain = admissionChain([marker("one", false)]);
  assert.deepEqual(chain.admit(attributesOf(object)), { ...object, one: true });
  assert.equal(chain.validate(attributesOf(object)), undefined);
});

test("plugins run once more, with what the first round left, when one of them asks for it", async () => {
  for (const later of [false, true]) {
    const objects: unknown[] = [];
    const chain = admissionChain([
      {
        name: "counts",
        operations: ["CREATE"],
        admit({ object }, { isSecond, notes }) {
          const { count = 0 } = object as ApiObject & { readonly count?: number };
          objects.push([isSecond, count, notes.get("counts")]);
          notes.set("counts", "noted");
          return { ...object!, count: count + 1 } as ApiObject;
        },
      },
      {
        name: "repeats",
        operations: ["CREATE"],
        admit(_attributes, round) {
          round.repeat();
          return later ? Promise.resolve(undefined) : undefined;
        },
      },
    ]);
    assert.deepEqual(await chain.admit(attributesOf(object)), { ...object, count: 2 });
    assert.deepEqual(objects, [
      [false, 0, undefined],
      [true, 1, "noted"],
    ]);
  }
});

test("plugins are asked only about their operations", () => {
  const chain = admissionChain([marker("one", false)]);
  assert.equal(chain.handles("CREATE"), true);
  assert.equal(chain.handles("DELETE"), false);
  assert.equal(chain.admit(attributesOf(object, { operation: "UPDATE" })), undefined);
});

test("the first plugin that refuses ends the chain", async () => {
  const plugins: string[] = [];
  const plugin = (name: string, refuses: boolean): AdmissionPlugin => ({
    name,
    operations: ["CREATE"],
    async validate(attributes) {
      plugins.push(name);
      await Promise.resolve();
      if (refuses) throw refusal(attributes, "no");
    },
  });
  const chain = admissionChain([plugin("a", false), plugin("b", true), plugin("c", false)]);
  await assert.rejects(async () => chain.validate(attributesOf(object)), /configmaps "a" is forbidden: no/);
  assert.deepEqual(plugins, ["a", "b"]);
});

test("a request that was given up while a plugin thought goes no further", async () => {
  for (const method of ["admit", "validate"] as const) {
    const given = new AbortController();
    const thought = Promise.withResolvers<undefined>();
    const plugins: string[] = [];
    const plugin = (name: string): AdmissionPlugin => ({
      name,
      operations: ["CREATE"],
      [method]: () => {
        plugins.push(name);
        return thought.promise;
      },
    });
    const chain = admissionChain([plugin("slow"), plugin("next")]);
    const attributes = attributesOf(object);
    const context = { ...attributes.context, signal: given.signal };
    const answer = chain[method]({ ...attributes, context });
    given.abort(new Error("too late"));
    thought.resolve(undefined);
    await assert.rejects(async () => answer, /too late/);
    assert.deepEqual(plugins, ["slow"]);
  }
});

test("a refusal names the object as far as it has a name", () => {
  const message = (object: ApiObject) => refusal(attributesOf(object), "no").message;
  assert.equal(message({ metadata: { generateName: "p-" } }), 'configmaps "p-" is forbidden: no');
  assert.equal(message({ metadata: {} }), 'configmaps "Unknown" is forbidden: no');
});
