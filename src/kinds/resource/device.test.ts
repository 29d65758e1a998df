/** Device classes, and resource slices in both versions: findings and conversion, as in kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const slices = kindUnderTest({ group: "resource.k8s.io", version: "v1alpha3", kind: "ResourceSlice" });

test("capacities are quantities in the older version and objects in the stored one", () => {
  const slice = (...devices: readonly object[]) => ({
    metadata: { name: "s" },
    spec: { driver: "d", pool: { name: "p", generation: 1, resourceSliceCount: 1 }, devices },
  });
  const others = [{ name: "b", basic: { attributes: { a: { int: 1 } } } }, { name: "c" }];
  const object = slices.create(slice({ name: "a", basic: { capacity: { memory: "1Gi" } } }, ...others));
  const { toHub, fromHub } = slices.definition.conversion!;
  const stored = slice({ name: "a", basic: { capacity: { memory: { value: "1Gi" } } } }, ...others);
  assert.deepEqual(toHub(object)["spec"], stored.spec);
  assert.deepEqual(fromHub(toHub(object)), object);
});

const sliceV1Beta1 = kindUnderTest({ group: "resource.k8s.io", version: "v1beta1", kind: "ResourceSlice" });
const pool = { name: "a/b", generation: 0, resourceSliceCount: 1 };
const spec = { driver: "gpu.example.com", pool, allNodes: true };
const refuseSlice = (more: object): string[] =>
  sliceV1Beta1.refuseCreate({ metadata: { name: "s" }, spec: { ...spec, ...more } });

test("a slice is on one node, on selected ones, or on all", () => {
  const oneOf = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required";
  assert.deepEqual(refuseSlice({}), []);
  assert.deepEqual(refuseSlice({ allNodes: false }), [`spec: Required value: ${oneOf}`]);
  assert.deepEqual(refuseSlice({ nodeName: "n" }), [`spec: Invalid value: "null": ${oneOf}`]);
  const [finding] = refuseSlice({ allNodes: false, nodeSelector: { nodeSelectorTerms: [{}, {}] } });
  assert.match(finding!, /^spec\.nodeSelector\.nodeSelectorTerms: .*: must have exactly one node selector term$/);
});

test("the driver, the pool and the node of a slice stay, and changes count as generations", () => {
  const old = sliceV1Beta1.create({ metadata: { name: "s", generation: 1 }, spec });
  const moved = { ...spec, driver: "other.example.com", pool: { ...pool, name: "c" }, allNodes: false, nodeName: "n" };
  assert.deepEqual(sliceV1Beta1.refuseUpdate({ metadata: old.metadata, spec: moved }, old), [
    'spec.pool.name: Invalid value: "c": field is immutable',
    'spec.driver: Invalid value: "other.example.com": field is immutable',
    'spec.nodeName: Invalid value: "n": field is immutable',
  ]);
  const grown = { ...spec, pool: { ...pool, generation: 1 } };
  assert.equal(sliceV1Beta1.update({ metadata: old.metadata, spec: grown }, old).metadata.generation, 2);
});

test("attributes of a device have one value each, and names that may have a domain", () => {
  const refuse = (attributes: object): string[] => refuseSlice({ devices: [{ name: "d", basic: { attributes } }] });
  const at = "spec.devices[0].basic.attributes";
  assert.deepEqual(refuse({ a: { int: 1 }, "example.com/b": { version: "1.2.3-rc.1+b" } }), []);
  assert.deepEqual(refuse({ a: {} }), [`${at}[a]: Required value: exactly one value must be specified`]);
  assert.match(refuse({ a: { int: 1, bool: true } })[0]!, /exactly one value must be specified$/);
  assert.match(refuse({ a: { version: "v1" } })[0]!, /must be a string compatible with semver.org spec 2.0.0$/);
  assert.deepEqual(refuse({ a: { string: "x".repeat(65) } }), [
    `${at}[a].string: Too long: may not be more than 64 bytes`,
  ]);
  assert.deepEqual(refuse({ "/a": { int: 1 } }), [`${at}[/a]: Required value: the domain must not be empty`]);
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`a${i}`, { int: i }]));
  assert.match(
    refuse(many)[0]!,
    /: Invalid value: 33: the total number of attributes and capacities must not exceed 32$/,
  );
});

test("devices have different names and 128 at most", () => {
  const device = (name: string) => ({ name, basic: {} });
  assert.deepEqual(refuseSlice({ devices: [device("d"), device("d")] }), [
    'spec.devices[1].name: Duplicate value: "d"',
  ]);
  assert.deepEqual(refuseSlice({ devices: [{ name: "d" }] }), ["spec.devices[0].basic: Required value"]);
  assert.deepEqual(refuseSlice({ devices: Array.from({ length: 129 }, (_, i) => device(`d${i}`)) }), [
    "spec.devices: Too many: 129: must have at most 128 items",
  ]);
});

const classes = kindUnderTest({ group: "resource.k8s.io", version: "v1beta1", kind: "DeviceClass" });
const deviceClass = (...expressions: readonly string[]) => ({
  metadata: { name: "c" },
  spec: { selectors: expressions.map((expression) => ({ cel: { expression } })) },
});

test("expressions of selectors are compiled", async () => {
  await classes.loadRules(deviceClass("true"));
  const at = "spec.selectors[0].cel.expression";
  const refuse = (expression: string): string[] => classes.refuseCreate(deviceClass(expression));
  for (const right of [
    'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].ready',
    'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.2.3"))',
    'cel.bind(gpu, device.capacity["gpu.example.com"], gpu.memory.isGreaterThan(quantity("1Gi")))',
    'device.attributes["a"]["b"]',
  ]) {
    assert.deepEqual(refuse(right), [], right);
  }
  const must = "must evaluate to bool or the unknown type, not";
  for (const [wrong, type] of [
    ["device", "kubernetes.DRADevice"],
    ["1 + 1", "int"],
    ['device.attributes["a"]', "map(string, google.protobuf.Any)"],
    ['device.attributes["a"]["b"].c', "dyn"],
  ] as const) {
    assert.deepEqual(refuse(wrong), [`${at}: Invalid value: ${JSON.stringify(wrong)}: ${must} ${type}`]);
  }
  assert.match(refuse("device.none")[0]!, /compilation failed: ERROR: <input>:1:7: undefined field 'none'/);
  assert.match(refuse("")[0]!, /compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>'/);
  assert.deepEqual(refuse("device.driver.matches('a+')"), [`${at}: Forbidden: too complex, exceeds cost limit`]);
  assert.match(refuse("int('a') == 1")[0]!, /: Internal error: program instantiation failed: type conversion error/);
  assert.deepEqual(refuse("x".repeat(10_241)), [`${at}: Too long: may not be more than 10240 bytes`]);
});

test("a class without expressions needs no compiler", () => {
  const refuse = (more: object) => classes.refuseCreate({ metadata: { name: "c" }, spec: more });
  assert.deepEqual(refuse({}), []);
  assert.deepEqual(refuse({ selectors: [{}] }), ["spec.selectors[0].cel: Required value"]);
  assert.deepEqual(refuse({ config: [{}] }), ["spec.config[0].opaque: Required value"]);
});
