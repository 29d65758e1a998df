/** The treatment of old annotations that confine containers, as in kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const pods = kindUnderTest({ group: "", version: "v1", kind: "Pod" });
const appArmor = "container.apparmor.security.beta.kubernetes.io/";
const seccompOfPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccomp = "container.seccomp.security.alpha.kubernetes.io/";
const mirror = "kubernetes.io/config.mirror";

type Annotations = Readonly<Record<string, string>>;

const pod = (annotations: Annotations, securityContext: object = {}, spec: object = {}): Unstructured => ({
  metadata: { name: "p", annotations },
  spec: { containers: [{ name: "a", image: "x", securityContext }], ...spec },
});
const profile = (type: string, localhostProfile?: string): object => ({
  appArmorProfile: { type, ...(localhostProfile === undefined ? {} : { localhostProfile }) },
});
const securityFieldsOf = (object: Unstructured): unknown => {
  const { metadata, spec } = pods.create(object) as unknown as {
    metadata: { annotations?: Annotations };
    spec: { containers: [{ securityContext?: { appArmorProfile?: object } }] };
  };
  return [metadata.annotations ?? {}, spec.containers[0].securityContext?.appArmorProfile];
};

test("a new pod says by annotation and by field how AppArmor confines its containers", () => {
  for (const [text, said] of [
    ["unconfined", { type: "Unconfined" }],
    ["runtime/default", { type: "RuntimeDefault" }],
    ["localhost/x", { type: "Localhost", localhostProfile: "x" }],
  ] as const) {
    const annotations = { [appArmor + "a"]: text };
    assert.deepEqual(securityFieldsOf(pod(annotations)), [annotations, said]);
    assert.deepEqual(securityFieldsOf(pod({}, { appArmorProfile: said })), [annotations, said]);
  }
  const ofPod = { securityContext: profile("RuntimeDefault") };
  assert.deepEqual(securityFieldsOf(pod({}, {}, ofPod)), [{ [appArmor + "a"]: "runtime/default" }, undefined]);
  const other = { [appArmor + "a"]: "unconfined" };
  assert.deepEqual(securityFieldsOf(pod(other, {}, ofPod)), [other, { type: "Unconfined" }]);
});

test("an annotation that becomes no field, and a field that becomes no annotation, stays as it is", () => {
  for (const text of ["x", "localhost/", "localhost/ x", `localhost/${"x".repeat(4096)}`]) {
    const annotations = { [appArmor + "a"]: text };
    assert.deepEqual(securityFieldsOf(pod(annotations)), [annotations, undefined]);
  }
  assert.deepEqual(securityFieldsOf(pod({}, profile("RuntimeDefault"), { os: { name: "windows" } })), [
    {},
    { type: "RuntimeDefault" },
  ]);
  assert.deepEqual(pods.refuseCreate(pod({}, profile("Localhost"))), [
    "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost",
  ]);
});

test("annotations name a profile, and a container that there is", () => {
  assert.deepEqual(pods.refuseCreate(pod({ [appArmor + "a"]: "x", [appArmor + "b"]: "unconfined" })), [
    `metadata.annotations[${appArmor}a]: Invalid value: "x": invalid AppArmor profile name: "x"`,
    `metadata.annotations[${appArmor}b]: Invalid value: "b": container not found`,
  ]);
  assert.deepEqual(pods.refuseCreate(pod({ [appArmor + "a"]: "\x01\u2028" })), [
    String.raw`metadata.annotations[${appArmor}a]: Invalid value: "\x01\u2028": invalid AppArmor profile name: "\x01\u2028"`,
  ]);
  assert.deepEqual(pods.refuseCreate(pod({ [seccompOfPod]: "x", [seccomp + "b"]: "localhost/../x" })), [
    `metadata.annotations.${seccompOfPod}: Invalid value: "x": must be a valid seccomp profile`,
    `metadata.annotations.${seccomp}b: Invalid value: "../x": must not contain '..'`,
  ]);
  for (const text of ["docker/default", "runtime/default", "unconfined", "localhost/x"]) {
    assert.deepEqual(pods.refuseCreate(pod({ [seccompOfPod]: text, [seccomp + "a"]: text })), []);
  }
});

test("an annotation and the field beside it do not differ", () => {
  const at = "spec.containers[0].securityContext";
  assert.deepEqual(pods.refuseCreate(pod({ [appArmor + "a"]: "unconfined" }, profile("RuntimeDefault"))), [
    `${at}.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match`,
  ]);
  assert.deepEqual(pods.refuseCreate(pod({ [appArmor + "a"]: "localhost/x" }, profile("Localhost", "y"))), [
    `${at}.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation and field must match`,
  ]);
  assert.deepEqual(pods.refuseCreate(pod({ [appArmor + "a"]: "unconfined" }, profile("Unconfined", "y"))), [
    `${at}.appArmorProfile.localhostProfile: Invalid value: "y": can only be set when AppArmor type is Localhost`,
  ]);
  const runtime = { seccompProfile: { type: "RuntimeDefault" } };
  assert.deepEqual(pods.refuseCreate(pod({ [seccomp + "a"]: "docker/default" }, runtime)), []);
  assert.deepEqual(pods.refuseCreate(pod({ [seccompOfPod]: "unconfined" }, {}, { securityContext: runtime })), [
    "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
  ]);
});

test("annotations of AppArmor and of mirror pods stay as they are, also in writes of the status", () => {
  const old = pods.create(pod({ [appArmor + "a"]: "unconfined", other: "x" }));
  const plain = pods.create(pod({}));
  for (const subresource of ["", "status"]) {
    const refuse = (annotations: Annotations, before = old): string[] =>
      pods.refuseUpdate({ ...before, metadata: { name: "p", annotations } }, before, subresource);
    assert.deepEqual(refuse({ [appArmor + "a"]: "unconfined" }), []);
    assert.deepEqual(refuse({ [appArmor + "a"]: "runtime/default" }), [
      `metadata.annotations[${appArmor}a]: Forbidden: may not remove or update AppArmor annotations`,
    ]);
    assert.deepEqual(refuse({}), [
      `metadata.annotations[${appArmor}a]: Forbidden: may not remove or update AppArmor annotations`,
    ]);
    assert.deepEqual(refuse({ [appArmor + "a"]: "unconfined" }, plain), [
      `metadata.annotations[${appArmor}a]: Forbidden: may not add AppArmor annotations`,
    ]);
    const assigned = pods.create(pod({}, {}, { nodeName: "n" }));
    const added = { ...assigned, metadata: { name: "p", annotations: { [mirror]: "m" } } };
    assert.deepEqual(pods.refuseUpdate(added, assigned, subresource), [
      `metadata.annotations[${mirror}]: Forbidden: may not add mirror pod annotation`,
    ]);
    assert.deepEqual(pods.refuseUpdate(assigned, added, subresource), [
      `metadata.annotations[${mirror}]: Forbidden: may not remove or update mirror pod annotation`,
    ]);
  }
});

test("a profile that is refused is not copied into annotations", () => {
  const long = profile("Localhost", "x".repeat(100_000));
  const containers = Array.from({ length: 1000 }, (_, i) => ({ name: `c${i}`, image: "x", securityContext: long }));
  const { metadata } = pods.create({ metadata: { name: "p" }, spec: { containers } });
  assert.equal(metadata.annotations, undefined);
});
