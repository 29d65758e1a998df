/** The findings of kube-apiserver 1.32.1 about storage classes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest, writeAttributes } from "../kind-for-tests.ts";

const classes = kindUnderTest({ group: "storage.k8s.io", version: "v1", kind: "StorageClass" });
const storageClass = (more: object = {}): Unstructured => ({ metadata: { name: "s" }, provisioner: "a.b/c", ...more });
const refuses = (more: object, ...expected: readonly string[]): void =>
  assert.deepEqual(classes.refuseCreate(storageClass(more)), expected);

test("the provisioner has a name, which is shown in lower case", () => {
  refuses({ provisioner: "A.b/C" });
  refuses({ provisioner: "" }, "provisioner: Required value");
  refuses({ provisioner: "A_" }, `provisioner: Invalid value: "a_": ${qualifiedName("a_")[0]}`);
});

test("parameters have keys, and a size", () => {
  const count = (entries: number) => Object.fromEntries(Array.from({ length: entries }, (_, i) => [`k${i}`, ""]));
  const parametersOfSize = (bytes: number) => ({ k: "x".repeat(bytes - 1) });
  refuses({ parameters: count(512) });
  refuses({ parameters: count(513) }, "parameters: Too long: may not be more than 512 bytes");
  refuses({ parameters: parametersOfSize(262_144) });
  refuses({ parameters: parametersOfSize(262_145) }, "parameters: Too long: may not be more than 262144 bytes");
  refuses({ parameters: { "": "x" } }, 'parameters: Invalid value: "": field can not be empty.');
});

test("policy and mode are known ones", () => {
  refuses({ reclaimPolicy: "" });
  refuses(
    { reclaimPolicy: "Recycle", volumeBindingMode: "" },
    'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    'volumeBindingMode: Unsupported value: "": supported values: "Immediate", "WaitForFirstConsumer"',
  );
});

test("topologies have keys and values, each once, and differ", () => {
  const term = (...pairs: readonly (readonly [key: string, ...values: string[]])[]) => ({
    matchLabelExpressions: pairs.map(([key, ...values]) => ({ key, values })),
  });
  refuses({ allowedTopologies: [term(["a", "x", "y"], ["b", "not ok"]), term(["a", "x", "y"]), term(["a", "x"])] });
  const at = "allowedTopologies[0].matchLabelExpressions";
  refuses(
    { allowedTopologies: [term(["a b"], ["c", "x", "y", "x"], ["c", "z"])] },
    `${at}[0].values: Required value`,
    `${at}[0].key: Invalid value: "a b": ${qualifiedName("a b")[0]}`,
    `${at}[1].values[2]: Duplicate value: "x"`,
    `${at}[2].key: Duplicate value: "c"`,
  );
  refuses({ allowedTopologies: [{}] }, `${at}: Duplicate value: ""`);
  refuses(
    { allowedTopologies: [term(["a", "x", "y"], ["b", "z"]), term(["b", "z"], ["a", "y", "x"])] },
    'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
  );
});

test("provisioner, parameters, policy and mode are immutable, and checked again", () => {
  const old = storageClass({ parameters: { a: "b" } });
  const refuse = (more: object): string[] =>
    classes.refuseUpdate({ ...classes.defaults(old), ...more }, classes.defaults(old));
  assert.deepEqual(refuse({ allowVolumeExpansion: true, mountOptions: ["ro"], allowedTopologies: [] }), []);
  const stays = (name: string): string => `${name}: Forbidden: updates to ${name} are forbidden.`;
  assert.deepEqual(refuse({ provisioner: "", parameters: { c: "d" }, reclaimPolicy: "Retain" }), [
    "provisioner: Required value",
    stays("parameters"),
    stays("provisioner"),
    stays("reclaimPolicy"),
  ]);
  assert.deepEqual(refuse({ volumeBindingMode: "WaitForFirstConsumer" }), [
    'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
  ]);
});

test("labels that have newer names give warnings, in the server's domain", () => {
  const warn = (domain: string): readonly string[] => {
    const { strategy } = kindUnderTest(
      { group: "storage.k8s.io", version: "v1", kind: "StorageClass" },
      { domain },
    ).definition;
    const keys = [`failure-domain.beta.${domain}/zone`, "zone"];
    const allowedTopologies = [{ matchLabelExpressions: keys.map((key) => ({ key, values: ["a"] })) }];
    const object = storageClass({ allowedTopologies });
    assert.deepEqual(
      strategy.warningsOnUpdate!(object, object, writeAttributes()),
      strategy.warningsOnCreate!(object, writeAttributes()),
    );
    return strategy.warningsOnCreate!(object, writeAttributes());
  };
  const at = "allowedTopologies[0].matchLabelExpressions[0].key";
  assert.deepEqual(warn("kubernetes.io"), [`${at}: deprecated since v1.17; use "topology.kubernetes.io/zone" instead`]);
  assert.deepEqual(warn("platform.io"), [`${at}: deprecated since v1.17; use "topology.platform.io/zone" instead`]);
});
