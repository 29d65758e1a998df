/** The template generation of daemon sets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const counter = "deprecated.daemonset.template.generation";
const { create, update } = kindUnderTest({ group: "apps", version: "v1", kind: "DaemonSet" });

const daemonSet = (image: string, annotations?: Readonly<Record<string, string>>): Unstructured => ({
  metadata: { name: "d", ...(annotations === undefined ? {} : { annotations }) },
  spec: { template: { spec: { containers: [{ name: "c", image }] } } },
});
const countOf = ({ metadata }: Unstructured): string | undefined => metadata.annotations?.[counter];

test("the number of template changes is in an annotation that clients cannot write", () => {
  const first = create(daemonSet("a"));
  assert.equal(countOf(first), "1");
  assert.equal(countOf(update(daemonSet("a", { [counter]: "9" }), first)), "1");
  const second = update(daemonSet("b"), first);
  assert.equal(countOf(second), "2");
  assert.equal(countOf(update(daemonSet("a"), second, "status")), "2");
});

test("a first count may be given, and must be a number", () => {
  assert.equal(countOf(create(daemonSet("a", { [counter]: "5" }))), "5");
  assert.equal(countOf(create(daemonSet("a", { [counter]: "-5" }))), "1");
  assert.throws(
    () => create(daemonSet("a", { [counter]: "x" })),
    /cannot be handled as a DaemonSet: strconv\.ParseInt: parsing "x": invalid syntax/,
  );
});
