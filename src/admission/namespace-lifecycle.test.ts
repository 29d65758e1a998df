/** Writes in missing and terminating namespaces, and namespaces that cannot be deleted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { Namespace } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { attributesOf, firstRound } from "./attributes-for-tests.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import type { AdmissionAttributes } from "./plugin.ts";

const namespaces = new Map<string, Namespace>([
  ["n", { metadata: { name: "n" }, spec: {}, status: { phase: "Active" } }],
  ["ending", { metadata: { name: "ending" }, spec: {}, status: { phase: "Terminating" } }],
]);
const refresh = (): void => undefined;
const plugin = namespaceLifecycle({ domain: kubernetesDomain, getNamespace: (name) => namespaces.get(name), refresh });
const object: ApiObject = { metadata: { name: "c" } };

function refuse(more: Partial<AdmissionAttributes>, by = plugin): StatusError["status"] | undefined {
  try {
    const answer = by.admit!(attributesOf(object, more), firstRound);
    assert.equal(answer, undefined);
    return undefined;
  } catch (error) {
    assert(error instanceof StatusError);
    return error.status;
  }
}

test("nothing is written in a namespace that does not exist [NAME-10]", () => {
  assert.equal(refuse({}), undefined);
  const status = refuse({ namespace: "nope" });
  assert.equal(status?.code, 404);
  assert.equal(status?.message, 'namespaces "nope" not found');
  assert.deepEqual(status?.details, { name: "nope", kind: "namespaces" });
  assert.equal(refuse({ namespace: "nope", operation: "UPDATE" })?.code, 404);
  assert.equal(refuse({ namespace: "nope", operation: "DELETE" }), undefined);
});

test("nothing is created in a namespace that is being deleted, and the old may change [DELST-01] [META-14]", () => {
  const status = refuse({ namespace: "ending" });
  assert.equal(status?.code, 403);
  assert.equal(
    status?.message,
    'configmaps "c" is forbidden: unable to create new content in namespace ending because it is being terminated',
  );
  assert.deepEqual(status?.details, {
    name: "c",
    kind: "configmaps",
    causes: [
      { reason: "NamespaceTerminating", message: "namespace ending is being terminated", field: "metadata.namespace" },
    ],
  });
  assert.equal(refuse({ namespace: "ending", operation: "UPDATE" }), undefined);
  assert.equal(refuse({ namespace: "ending", operation: "DELETE" }), undefined);
});

test("the system's namespaces are not deleted, by their names in the domain [DELOPT-02]", () => {
  const remove = (name: string, by = plugin) =>
    refuse(
      {
        operation: "DELETE",
        name,
        namespace: "",
        resource: { group: "", version: "v1", resource: "namespaces" },
        kind: { group: "", version: "v1", kind: "Namespace" },
      },
      by,
    );
  for (const name of ["default", "kube-system", "kube-public"]) {
    const status = remove(name);
    assert.equal(status?.code, 403);
    assert.equal(status?.message, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
  }
  assert.equal(remove("other"), undefined);
  const platform = namespaceLifecycle({ domain: apiDomain("platform.io"), getNamespace: () => undefined, refresh });
  assert.equal(remove("platform-system", platform)?.code, 403);
  assert.equal(remove("kube-system", platform), undefined);
});

test("cluster-scoped objects and access reviews do not need a namespace", () => {
  assert.equal(refuse({ namespace: "" }), undefined);
  const review = {
    namespace: "nope",
    resource: { group: "authorization.k8s.io", version: "v1", resource: "localsubjectaccessreviews" },
  };
  assert.equal(refuse(review), undefined);
});
