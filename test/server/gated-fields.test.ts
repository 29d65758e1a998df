/**
 * Feature gates that decide what objects may have: each field and value of `gated-objects.ts` with its gate on, off, and
 * off in an object that had the field before.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Answer, patchTypes } from "../client.ts";
import { Api, openServer, startsServers, temporaryFolder, usingServer } from "../harness.ts";
import { gatedFields, gatedValues, type GatedField } from "./gated-objects.ts";

const skip = startsServers ? false : "starts its own servers";
const allOn = ["AllAlpha=true", "AllBeta=true"];
const allOff = ["AllAlpha=false", "AllBeta=false"];

/** Returns the value at a JSON pointer of an answer's object. */
function valueAt(answer: Answer, pointer: string): unknown {
  let value: unknown = JSON.parse(answer.bytes.toString());
  for (const key of pointer.split("/").slice(1))
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[key];
  return value;
}

function assertField(answer: Answer, status: number, { gate, pointer }: GatedField, value: unknown): void {
  answer.expect(status);
  assert.deepEqual(valueAt(answer, pointer), value, `${gate}: ${pointer} in ${answer.bytes.toString()}`);
}

const withName = (object: object, name: string): object => ({ ...object, metadata: { name } });

/** Checks what updates keep and drop of an object that got the field while the gate was on. */
async function checkUpdates(api: Api, row: GatedField, name: string): Promise<void> {
  const { collection, pointer, value, off, isImmutable } = row;
  const patch = (...steps: readonly object[]) => api.patch(`${collection}/${name}`, steps, patchTypes.json);
  assertField(await patch({ op: "add", path: "/metadata/labels", value: { a: "b" } }), 200, row, value);
  if (isImmutable === true) return;
  (await patch({ op: "remove", path: pointer })).expect(200);
  assertField(await patch({ op: "add", path: pointer, value }), 200, row, off);
}

test("fields exist while their gate is on, and stay in objects that have them [GATE-01] [GATE-02] [GATE-03] [GATE-04]", {
  skip,
}, async () => {
  const base = { storage: "disk", dataDir: join(temporaryFolder(), "data") } as const;
  const start = async (featureGates: string[]) => new Api(await openServer("k8s.io", { ...base, featureGates }));
  const on = await start([...allOn, "UnknownVersionInteroperabilityProxy=false"]);
  (await on.post("/api/v1/namespaces", { metadata: { name: "n1" } })).expect(201);
  for (const [i, row] of gatedFields.entries()) {
    assertField(await on.post(row.collection, withName(row.object, `on-${i}`)), 201, row, row.value);
  }
  await on.server.close();

  const off = await start(allOff);
  for (const [i, row] of gatedFields.entries()) {
    await checkUpdates(off, row, `on-${i}`);
    assertField(await off.post(row.collection, withName(row.object, `off-${i}`)), 201, row, row.off);
  }
  await off.server.close();
});

for (const state of ["on", "off"] as const) {
  test(`values are taken as their gates say, with all of them ${state} [GATE-02] [GATE-04]`, { skip }, async () => {
    const featureGates = state === "on" ? [...allOn, "UnknownVersionInteroperabilityProxy=false"] : allOff;
    await usingServer("k8s.io", { featureGates }, async (api) => {
      (await api.post("/api/v1/namespaces", { metadata: { name: "n1" } })).expect(201);
      for (const [i, { gate, collection, object, takenWhile, refusal }] of gatedValues.entries()) {
        const answer = await api.post(collection, withName(object, `v-${i}`));
        if (takenWhile === state) answer.expect(201);
        else assert.match(answer.expect(422).string("message"), refusal, gate);
      }
    });
  });
}
