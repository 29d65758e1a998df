/** Admission of claims: protection, default classes, growth. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { attributesOf, claimAttributes, firstRound } from "./attributes-for-tests.ts";
import { claimResize, defaultStorageClass, defaultVolumeAttributesClass, storageProtection } from "./storage.ts";

const claim = (spec: Record<string, unknown> = {}): Unstructured => ({ metadata: { name: "c" }, spec });
const creationOf = (object: Unstructured) => attributesOf(object, claimAttributes);
const classMarked = (name: string, annotation: string, creationTimestamp = "2026-01-01T00:00:00Z"): Unstructured => ({
  metadata: { name, creationTimestamp, annotations: { [annotation]: "true" } },
});

test("a claim is protected from the start [DELST-05]", () => {
  const plugin = storageProtection({ domain: kubernetesDomain });
  const protectedClaim = plugin.admit!(creationOf(claim()), firstRound) as Unstructured;
  assert.deepEqual(protectedClaim.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
  assert.equal(plugin.admit!(creationOf(protectedClaim), firstRound), undefined);
  assert.equal(plugin.admit!(attributesOf(claim()), firstRound), undefined);
  const platform = storageProtection({ domain: apiDomain("platform.io") });
  const renamed = platform.admit!(creationOf(claim()), firstRound) as Unstructured;
  assert.deepEqual(renamed.metadata.finalizers, ["platform.io/pvc-protection"]);
});

test("a claim without a storage class gets the newest default", () => {
  const annotation = "storageclass.kubernetes.io/is-default-class";
  const classes = [
    { metadata: { name: "none" } },
    classMarked("old", annotation, "2025-01-01T00:00:00Z"),
    classMarked("z", annotation),
    classMarked("new", "storageclass.beta.kubernetes.io/is-default-class"),
  ];
  const plugin = defaultStorageClass({ domain: kubernetesDomain, listClasses: () => classes });
  assert.deepEqual((plugin.admit!(creationOf(claim()), firstRound) as Unstructured)["spec"], {
    storageClassName: "new",
  });
  for (const object of [claim({ storageClassName: "" }), claim({ storageClassName: "x" })]) {
    assert.equal(plugin.admit!(creationOf(object), firstRound), undefined);
  }
  const annotated = { ...claim(), metadata: { annotations: { "volume.beta.kubernetes.io/storage-class": "x" } } };
  assert.equal(plugin.admit!(creationOf(annotated), firstRound), undefined);
});

test("a claim without a volume attributes class gets the default one [PVC-38]", () => {
  const classes = [classMarked("gold", "volumeattributesclass.kubernetes.io/is-default-class")];
  const plugin = defaultVolumeAttributesClass({ domain: kubernetesDomain, listClasses: () => classes });
  assert.deepEqual((plugin.admit!(creationOf(claim()), firstRound) as Unstructured)["spec"], {
    volumeAttributesClassName: "gold",
  });
  const named = claim({ volumeAttributesClassName: "x" });
  assert.equal(plugin.admit!(creationOf(named), firstRound), undefined);
  const none = defaultVolumeAttributesClass({ domain: kubernetesDomain, listClasses: () => [] });
  assert.equal(none.admit!(creationOf(claim()), firstRound), undefined);
});

test("objects that are no claims are not read, which large ones would have to be", () => {
  const plugins = [
    storageProtection({ domain: kubernetesDomain }),
    defaultStorageClass({ domain: kubernetesDomain, listClasses: () => [] }),
    defaultVolumeAttributesClass({ domain: kubernetesDomain, listClasses: () => [] }),
    claimResize({ getStorageClass: () => undefined, classAnnotation: "" }),
  ];
  const unread = { get: () => assert.fail("reads the object") };
  const attributes = Object.defineProperties(attributesOf(undefined), { object: unread, oldObject: unread });
  for (const { admit, validate } of plugins) {
    assert.equal(admit?.(attributes, firstRound), undefined);
    assert.equal(validate?.(attributes), undefined);
  }
});

test("a claim grows only when it is bound and its class allows it [PVC-16]", () => {
  const claimOfSize = (storage: string, phase: string, storageClassName = "grows"): Unstructured => ({
    metadata: { name: "c" },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  });
  const plugin = claimResize({
    classAnnotation: "volume.beta.kubernetes.io/storage-class",
    getStorageClass: (name) => ({
      metadata: { name },
      provisioner: "p",
      ...(name === "grows" ? { allowVolumeExpansion: true } : {}),
    }),
  });
  const check = (object: Unstructured, oldObject: Unstructured): string => {
    try {
      void plugin.validate!(attributesOf(object, { ...claimAttributes, operation: "UPDATE", name: "c", oldObject }));
      return "";
    } catch (error) {
      assert(error instanceof StatusError);
      assert.equal(error.status.code, 403);
      return error.message;
    }
  };
  assert.equal(check(claimOfSize("3Gi", "Bound"), claimOfSize("1Gi", "Bound")), "");
  assert.equal(check(claimOfSize("1Gi", "Bound"), claimOfSize("1024Mi", "Pending")), "");
  assert.equal(
    check(claimOfSize("3Gi", "Pending"), claimOfSize("1Gi", "Pending")),
    'persistentvolumeclaims "c" is forbidden: Only bound persistent volume claims can be expanded',
  );
  assert.equal(
    check(claimOfSize("3Gi", "Bound", "fixed"), claimOfSize("1Gi", "Bound", "fixed")),
    'persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
  );
});
