/**
 * Cases of `npm run differ -- --pairs`: the same seed gives the same pair, first objects are valid, and so are the
 * patches of clients.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyJsonPatch } from "#apply/json-patch.ts";
import { applyMergePatch } from "#apply/merge-patch.ts";
import { applyStrategicMergePatch } from "#apply/strategic-merge-patch.ts";
import { kindUnderTest } from "#kinds/kind-for-tests.ts";
import { clientPatch, jsonPatch, mergePatch } from "./client-apply.ts";
import { asReceived } from "./compared-kind.ts";
import { isExcused } from "./excused.ts";
import { pairedKinds, pairOf } from "./pairs.ts";
import type { Json } from "./servers.ts";

const seeds = Array.from({ length: 4 }, (_, seed) => seed);

void test("a seed gives the same pair each time", () => {
  for (const kind of pairedKinds) {
    assert.deepEqual(pairOf(kind, 7, "a"), pairOf(kind, 7, "a"));
  }
});

void test("the first object of a pair is right", async () => {
  for (const kind of pairedKinds) {
    // Services become valid with the ports that a server assigns.
    if (kind.resource === "services") continue;
    for (const seed of seeds) {
      const [first] = pairOf(kind, seed, "a").objects;
      const { apiVersion = "", kind: name } = first as Record<string, string>; // each object has both
      const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
      const kindRules = kindUnderTest({ group: group!, version: version!, kind: name! });
      await kindRules.loadRules(asReceived(first));
      assert.deepEqual(kindRules.refuseCreate(asReceived(first)), [], `${name} ${seed}`);
    }
  }
});

void test("patches of what changed give the other object", () => {
  for (const kind of pairedKinds) {
    for (const seed of seeds) {
      const [first, second] = pairOf(kind, seed, "a").objects;
      // Merge patches cannot set null.
      const target = withoutNulls(second) as Json; // still an object
      assert.deepEqual(applyMergePatch(first, mergePatch(first, target)), target, `${kind.resource} ${seed}`);
      assert.deepEqual(applyJsonPatch(first, jsonPatch(first, second)), second, `${kind.resource} ${seed}`);
    }
  }
});

void test("kubectl's patch removes what was applied and is no longer wanted, and leaves what others wrote", () => {
  const deployments = pairedKinds.find(({ resource }) => resource === "deployments")!;
  const pod = (containers: readonly Json[], finalizers: readonly string[]): Json => ({
    metadata: { finalizers },
    spec: { template: { spec: { containers } } },
  });
  const applied = pod([{ name: "a", image: "1" }, { name: "b" }], ["x", "y"]);
  const current = pod([{ name: "a", image: "1", tty: true }, { name: "b" }, { name: "injected" }], ["x", "y", "z"]);
  const target = pod([{ name: "a", image: "2" }], ["x"]);
  const patch = clientPatch(applied, target, current, deployments.schema);
  assert.deepEqual(
    applyStrategicMergePatch(current, patch, deployments.schema),
    pod([{ name: "a", image: "2", tty: true }, { name: "injected" }], ["x", "z"]),
  );
});

void test("differences are excused where they are documented only", () => {
  const versions = ["200 \nresourceVersion: as before", "200 \nresourceVersion: another"];
  assert.ok(isExcused("deployments", versions, { spec: { paused: false, template: { spec: { volumes: [] } } } }));
  assert.ok(!isExcused("deployments", versions, { spec: { paused: false } }));
  assert.ok(!isExcused("deployments", versions.toReversed(), { spec: {} }));
  const owners = versions.map(
    (text, at) => `${text}${at === 0 ? "\n.owners.creator Update .fieldsV1.f:data = {}" : ""}`,
  );
  assert.ok(!isExcused("configmaps", owners, { data: {} }));
  const finding = "422 Invalid\nFieldValueForbidden spec: Forbidden: spec is immutable after creation";
  assert.ok(isExcused("persistentvolumeclaims", ["200 ", finding], {}));
  assert.ok(!isExcused("persistentvolumes", ["200 ", finding], {}));
  assert.ok(!isExcused("persistentvolumeclaims", ["200 \n.spec = 1", finding], {}));
  const type = (value: string): string =>
    `422 Invalid\nFieldValueInvalid type: Invalid value: ${value}field is immutable`;
  assert.ok(isExcused("secrets", [type(""), type('"a: \\"b\\"": ')], {}));
  assert.ok(!isExcused("configmaps", [type(""), type('"a": ')], {}));
  assert.ok(!isExcused("secrets", [type('"b": '), type('"a": ')], {}));
  assert.ok(!isExcused("secrets", [type("").replace("422", "400"), type('"a": ')], {}));
  const frozen = `${type('"a": ')}\nFieldValueForbidden data: Forbidden: field is immutable when \`immutable\` is set`;
  assert.ok(isExcused("secrets", [type(""), frozen], { data: {} }));
  assert.ok(isExcused("secrets", [type(""), frozen], [{ op: "add", path: "/data", value: {} }]));
  assert.ok(!isExcused("secrets", [type(""), frozen], { data: { a: "" } }));
  const moveFinding = (manager: string, field = "limits"): string =>
    `200 \n.owners.${manager} Update .fieldsV1.f:spec.f:${field} = {}`;
  const above = (shown: string): string =>
    `422 Invalid\nFieldValueInvalid spec.limits[0].default[a.b/c]: Invalid value: "${shown}": default value 2 is greater than max value 1`;
  assert.ok(isExcused("limitranges", [above("2"), above("1")], {}));
  assert.ok(!isExcused("limitranges", [above("2"), above("1").replace("422", "400")], {}));
  assert.ok(isExcused("limitranges", [moveFinding("a"), moveFinding("b")], { spec: { limits: [{ max: {} }] } }));
  assert.ok(
    !isExcused("limitranges", [moveFinding("a"), moveFinding("b")], { spec: { limits: [{ max: { cpu: "1" } }] } }),
  );
  assert.ok(
    !isExcused("limitranges", [moveFinding("a"), moveFinding("b", "other")], { spec: { limits: [{ max: {} }] } }),
  );
  const mount = '422 Invalid\nFieldValueNotFound spec.containers[0].volumeMounts[0].name: Not found: "v"';
  const limit = "must be less than or equal to storage limit of 1Gi";
  const claim = `FieldValueInvalid spec.volumes[0].resources.requests[storage]: Invalid value: "2Gi": ${limit}`;
  assert.ok(isExcused("cronjobs", [`${mount}\n${claim}`, "201 "], {}));
  assert.ok(!isExcused("cronjobs", [mount, "201 "], {}));
});

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => (member === null ? [] : [[name, withoutNulls(member)]])),
  );
}
