/** Permissions to set owner references and `blockOwnerDeletion`. Messages are kube-apiserver 1.32.1's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attributes, Authorizer } from "#authz/authorizer.ts";
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import { ownerReferencesPermission } from "./owner-references-permission.ts";
import type { AdmissionAttributes } from "./plugin.ts";

const summary = ({ verb, group, resource, subresource, namespace, name }: Attributes): string =>
  `${verb} ${group}/${resource}/${subresource} ${namespace}/${name}`;

/** Makes a write by a user with these rights. Returns the questions to the authorizer, and the refusal. */
async function ask(more: Partial<AdmissionAttributes>, ...rights: readonly string[]) {
  const questions: string[] = [];
  const authorizer: Authorizer = {
    authorize(attributes) {
      const about = summary(attributes);
      questions.push(about);
      return { decision: rights.includes(about) ? "allow" : "noOpinion", reason: "" };
    },
  };
  const plugin = ownerReferencesPermission({
    authorizer,
    resourcesOf: (apiVersion, kind) =>
      apiVersion === "apps/v1" && kind === "Deployment"
        ? [{ group: "apps", version: "v1", resource: "deployments", namespaced: true }]
        : [],
  });
  try {
    await plugin.validate!(attributesOf(undefined, { name: "m", ...more }));
    return { asked: questions, refusal: "" };
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return { asked: questions, refusal: error.status.message };
  }
}

const owner = (more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  name: "d",
  uid: "u",
  ...more,
});
const object = (...ownerReferences: readonly OwnerReference[]): ApiObject => ({
  metadata: { name: "m", ...(ownerReferences.length === 0 ? {} : { ownerReferences }) },
});
const blocking = owner({ blockOwnerDeletion: true });
const mayDelete = "delete /configmaps/ n/m";
const mayFinalize = "update apps/deployments/finalizers n/d";
const mayFinalizeAll = "update */*/finalizers /*";

test("a write that does not change owner references needs no permission", async () => {
  assert.deepEqual(await ask({ object: object() }), { asked: [], refusal: "" });
  const same = { operation: "UPDATE", object: object(owner()), oldObject: object(owner()) } as const;
  assert.deepEqual(await ask(same), { asked: [], refusal: "" });
});

test("changing owner references needs permission to delete the object, unless it is new", async () => {
  const cannot = `configmaps "m" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>`;
  assert.deepEqual(await ask({ object: object(owner()) }), { asked: [], refusal: "" });
  for (const [now, before] of [
    [object(owner()), object()],
    [object(), object(owner())],
    [object(owner({ controller: true })), object(owner())],
  ]) {
    const write = { operation: "UPDATE", object: now, oldObject: before } as const;
    assert.deepEqual(await ask(write), { asked: [mayDelete], refusal: cannot });
    assert.deepEqual(await ask(write, mayDelete), { asked: [mayDelete], refusal: "" });
  }
});

test("a blocking owner reference needs permission to set that owner's finalizers", async () => {
  const cannot =
    `configmaps "m" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set ` +
    `finalizers on: , <nil>`;
  const write = { object: object(blocking) };
  const questions = [mayFinalizeAll, mayFinalize];
  assert.deepEqual(await ask(write), { asked: questions, refusal: cannot });
  assert.deepEqual(await ask(write, mayFinalize), { asked: questions, refusal: "" });
  assert.deepEqual(await ask(write, mayFinalizeAll), { asked: [mayFinalizeAll], refusal: "" });
  const again = {
    operation: "UPDATE",
    object: object(blocking, owner({ uid: "v" })),
    oldObject: write.object,
  } as const;
  assert.deepEqual(await ask(again, mayDelete), { asked: [mayDelete], refusal: "" });
  const unknown = await ask({ object: object({ ...blocking, kind: "Nothing" }) }, mayDelete);
  assert.equal(
    unknown.refusal,
    `configmaps "m" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Nothing: no matches for kind "Nothing" in version "apps/v1"`,
  );
});

test("the status of pods is left alone", async () => {
  const pods = { resource: { group: "", version: "v1", resource: "pods" }, subresource: "status" };
  assert.deepEqual(await ask({ ...pods, object: object(owner()) }), { asked: [], refusal: "" });
});
