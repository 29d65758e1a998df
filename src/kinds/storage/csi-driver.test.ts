/** The findings of kube-apiserver 1.32.1 about storage drivers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const drivers = kindUnderTest({ group: "storage.k8s.io", version: "v1", kind: "CSIDriver" });
const csiDriver = (spec: object): Unstructured => ({ metadata: { name: "d.example.com" }, spec });
const refuses = (spec: object, ...expected: readonly string[]): void =>
  assert.deepEqual(drivers.refuseCreate(csiDriver(spec)), expected);

test("policies and modes are known ones", () => {
  refuses({});
  refuses({ fsGroupPolicy: "None", volumeLifecycleModes: ["Persistent", "Ephemeral", "Ephemeral"] });
  refuses(
    { fsGroupPolicy: "", volumeLifecycleModes: ["X", "Persistent"] },
    'spec.fsGroupPolicy: Unsupported value: "": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    'spec.volumeLifecycleModes: Unsupported value: "X": supported values: "Persistent", "Ephemeral"',
  );
});

test("each audience gets one token, of ten minutes to 2^32 seconds", () => {
  refuses({
    tokenRequests: [
      { audience: "", expirationSeconds: 600 },
      { audience: "a", expirationSeconds: 4294967296 },
    ],
  });
  const at = "spec.tokenRequests";
  refuses(
    {
      tokenRequests: [
        { audience: "a", expirationSeconds: 599 },
        { audience: "b", expirationSeconds: 4294967297 },
        { audience: "a", expirationSeconds: 1 },
      ],
    },
    `${at}[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`,
    `${at}[1].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds`,
    `${at}[2].audience: Duplicate value: "a"`,
  );
});

test("attachRequired and the modes are immutable", () => {
  const old = drivers.create(csiDriver({}));
  const refuse = (spec: object): string[] => drivers.refuseUpdate(csiDriver(spec), old);
  const more = { podInfoOnMount: true, storageCapacity: true, fsGroupPolicy: "File", requiresRepublish: true };
  assert.deepEqual(refuse({ ...more, tokenRequests: [{ audience: "a" }], volumeLifecycleModes: [] }), []);
  assert.deepEqual(refuse({ attachRequired: false, volumeLifecycleModes: ["Ephemeral"] }), [
    "spec.attachedRequired: Invalid value: false: field is immutable",
    'spec.volumeLifecycleModes: Invalid value: []storage.VolumeLifecycleMode{"Ephemeral"}: field is immutable',
  ]);
});

test("the generation begins with the first change", () => {
  const old = drivers.create(csiDriver({}));
  const generation = (object: Unstructured, before: Unstructured) => drivers.update(object, before).metadata.generation;
  assert.equal(drivers.definition.generation, false);
  assert.equal(old.metadata.generation, undefined);
  assert.equal(generation({ ...old, metadata: { ...old.metadata, labels: { a: "b" } } }, old), undefined);
  const next = drivers.update(csiDriver({ podInfoOnMount: true }), old);
  assert.equal(next.metadata.generation, 1);
  assert.equal(generation({ ...next, spec: { storageCapacity: true } }, next), 2);
});
