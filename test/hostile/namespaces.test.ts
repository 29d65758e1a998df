/** Namespaces of large objects that stay: to see what is left takes no more than the metadata of a few objects at a time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../harness.ts";
import { configMap, namespace, namespaces } from "../objects.ts";
import { openAudited } from "./audited-server.ts";

test("a namespace that is being deleted costs no more than the metadata of the objects in it", async (t) => {
  const { api, requests } = await openAudited(t, "RequestResponse");
  (await api.post(namespaces, namespace("left"))).expect(201);
  const objects = `${namespaces}/left/configmaps`;
  const text = "content".repeat(100_000);
  for (let at = 0; at < 20; at++) {
    const { metadata, ...rest } = configMap(`c${at}`, { text }) as { readonly metadata: object };
    const held = { ...rest, metadata: { ...metadata, finalizers: ["example.com/hold"] } };
    (await api.post(objects, held)).expect(201);
  }
  (await api.delete(`${namespaces}/left`)).expect(200);
  await eventually(async () => {
    const { status } = (await api.get(`${namespaces}/left`)).expect(200).value as {
      readonly status: { readonly conditions?: readonly { readonly type: string; readonly message: string }[] };
    };
    const told = new Map(status.conditions?.map(({ type, message }) => [type, message]));
    const remaining = "Some resources are remaining: configmaps. has 20 resource instances";
    assert.equal(told.get("NamespaceContentRemaining"), remaining);
    const finalizers =
      "Some content in the namespace has finalizers remaining: example.com/hold in 20 resource instances";
    assert.equal(told.get("NamespaceFinalizersRemaining"), finalizers);
  });
  const ofController = requests().filter(
    ({ request: { user, objectRef } }) =>
      user.username?.endsWith(":namespace-controller") === true && objectRef?.resource === "configmaps",
  );
  assert.deepEqual(new Set(ofController.map(({ request }) => request.verb)), new Set(["list", "deletecollection"]));
  for (const { line, request } of ofController)
    assert.ok(line.length < text.length, `${request.requestURI} was answered with ${line.length} bytes`);
});
