/** The findings of kube-apiserver 1.32.1 about runtime classes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dns1123Label, qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest, writeAttributes } from "../kind-for-tests.ts";

const classes = kindUnderTest({ group: "node.k8s.io", version: "v1", kind: "RuntimeClass" });
const runtimeClass = (more: object = {}): Unstructured => ({ metadata: { name: "r" }, handler: "runc", ...more });
const refuses = (more: object, ...expected: readonly string[]): void =>
  assert.deepEqual(classes.refuseCreate(runtimeClass(more)), expected);

test("the handler is a DNS label, and immutable", () => {
  for (const handler of ["", "A_", "a.b"]) {
    const finding = `handler: Invalid value: "${handler}": ${dns1123Label(handler)[0]}`;
    refuses({ handler }, finding);
    assert.deepEqual(classes.refuseUpdate(runtimeClass({ handler }), runtimeClass()), [
      finding,
      `handler: Invalid value: "${handler}": field is immutable`,
    ]);
  }
});

test("overhead has amounts as limits of containers have", () => {
  refuses({ overhead: {} });
  refuses({ overhead: { podFixed: { cpu: "0", "example.com/x": "1" } } });
  refuses(
    { overhead: { podFixed: { cpu: "-1", x: "1" } } },
    'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    "overhead.limits[x]: Invalid value: x: must be a standard resource type or fully qualified",
    "overhead.limits[x]: Invalid value: x: must be a standard resource for containers",
  );
});

test("scheduling has labels and tolerations as pods have, each once whatever its seconds", () => {
  const at = "scheduling.tolerations";
  refuses({ scheduling: {} });
  refuses(
    { scheduling: { nodeSelector: { "a b": "c" }, tolerations: [{ key: "k", operator: "X" }] } },
    `scheduling.nodeSelector: Invalid value: "a b": ${qualifiedName("a b")[0]}`,
    `${at}.tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"`,
  );
  const tolerations = [
    { key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 },
    { key: "k", operator: "Exists", effect: "NoExecute" },
    { key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 2 },
    { key: "k", operator: "Exists" },
  ];
  refuses(
    { scheduling: { tolerations } },
    `${at}[1]: Duplicate value: {"key":"k","operator":"Exists","effect":"NoExecute"}`,
    `${at}[2]: Duplicate value: {"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":2}`,
  );
});

test("labels that have newer names give warnings", () => {
  const { warningsOnCreate, warningsOnUpdate } = classes.definition.strategy;
  const object = runtimeClass({ scheduling: { nodeSelector: { a: "b", "beta.kubernetes.io/arch": "c" } } });
  const expected = ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead'];
  assert.deepEqual(warningsOnCreate!(object, writeAttributes()), expected);
  assert.deepEqual(warningsOnUpdate!(object, object, writeAttributes()), expected);
});
