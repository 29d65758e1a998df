/** The findings of kube-apiserver 1.32.1 about attachments; specs are shown as JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dns1123Subdomain } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const attachments = kindUnderTest({ group: "storage.k8s.io", version: "v1", kind: "VolumeAttachment" });
const spec = { attacher: "a.b", source: { persistentVolumeName: "p" }, nodeName: "n" };
const volumeAttachment = (more: object = {}, status?: object): Unstructured => ({
  metadata: { name: "v" },
  spec: { ...spec, ...more },
  ...(status && { status }),
});
const refuses = (more: object, ...expected: readonly string[]): void =>
  assert.deepEqual(attachments.refuseCreate(volumeAttachment(more)), expected);
const csi = { driver: "d", volumeHandle: "h" };
const inline = (more: object) => ({ source: { inlineVolumeSpec: { accessModes: ["ReadWriteOnce"], csi, ...more } } });
const at = "spec.source.inlineVolumeSpec";
const badName = (name: string): string => `Invalid value: "${name}": ${dns1123Subdomain(name)[0]}`;

test("an attachment has a driver and a node", () => {
  refuses({ attacher: "A.b" });
  refuses(
    { attacher: "", nodeName: "A_" },
    "spec.attacher: Required value",
    `spec.nodeName: ${badName("A_")}`,
    "spec.attacher: Required value",
    `spec.attacher: ${badName("")}`,
  );
  refuses({ attacher: "x".repeat(64) }, "spec.attacher: Too long: may not be more than 63 bytes");
});

test("the source has the name of a volume, or an inline spec", () => {
  const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  refuses({ source: {} }, `spec.source: Required value: ${one}`);
  refuses({ source: { persistentVolumeName: "p", inlineVolumeSpec: {} } }, `spec.source: Forbidden: ${one}`);
  refuses(
    { source: { persistentVolumeName: "" } },
    "spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
    `spec.source.persistentVolumeName: ${badName("")}`,
  );
});

test("an inline volume has a CSI driver, and none of the fields that are for binding", () => {
  const outside = "Forbidden: may not be specified in the context of inline volumes";
  refuses(inline({ persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem", mountOptions: ["ro"] }));
  refuses(
    inline({
      claimRef: {},
      capacity: { storage: "-1" },
      csi: undefined,
      accessModes: [],
      persistentVolumeReclaimPolicy: "Delete",
      nodeAffinity: {},
      storageClassName: "A_",
      volumeMode: "",
      volumeAttributesClassName: "A_",
    }),
    `${at}.claimRef: ${outside}`,
    `${at}.capacity: ${outside}`,
    `${at}.csi: Required value: has to be specified in the context of inline volumes`,
    `${at}.accessModes: Required value`,
    `${at}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes`,
    `${at}.nodeAffinity: ${outside}`,
    `${at}: Required value: must specify a volume type`,
    `${at}.storageClassName: ${outside}`,
    `${at}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes`,
  );
});

test("a new attachment has no status, and an inline volume the defaults of its source", () => {
  assert.deepEqual(attachments.create(volumeAttachment({}, { attached: true }))["status"], { attached: false });
  const created = attachments.create(volumeAttachment(inline({ hostPath: { path: "/d" } })));
  assert.deepEqual(created["spec"], {
    ...spec,
    source: { inlineVolumeSpec: { accessModes: ["ReadWriteOnce"], csi, hostPath: { path: "/d", type: "" } } },
  });
});

test("the spec is immutable and checked, but for its names", () => {
  const refuse = (more: object): string[] =>
    attachments.refuseUpdate(volumeAttachment(more), attachments.create(volumeAttachment()));
  const stays = (more: object): string =>
    `spec: Invalid value: ${JSON.stringify({ ...spec, ...more })}: field is immutable`;
  assert.deepEqual(refuse({ attacher: "A_" }), [stays({ attacher: "A_" })]);
  assert.deepEqual(refuse({ attacher: "" }), ["spec.attacher: Required value", stays({ attacher: "" })]);
});

test("messages of failures and the metadata of an attachment have a largest size", () => {
  const old = attachments.create(volumeAttachment());
  const refusesStatus = (status: object, ...expected: readonly string[]): void =>
    assert.deepEqual(
      attachments.refuseUpdate({ ...old, status: { attached: true, ...status } }, old, "status"),
      expected,
    );
  const failure = (bytes: number) => ({ time: null, message: "x".repeat(bytes) });
  const long = "Too long: may not be more than 262144 bytes";
  refusesStatus({ attachError: failure(1024), detachError: failure(1024) });
  refusesStatus(
    { attachError: failure(1025), detachError: failure(1025) },
    `status.attachError.message: ${long}`,
    `status.detachError.message: ${long}`,
  );
  refusesStatus({ attachmentMetadata: { "": "", k: "x".repeat(262_143) } });
  refusesStatus({ attachmentMetadata: { k: "x".repeat(262_144) } }, `status.attachmentMetadata: ${long}`);
});
