/** Namespaces of large objects that stay: to see what is left takes no more than the metadata of a few objects at a time. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Api, eventually, file, openServer, temporaryFolder } from "../harness.ts";
import { configMap, namespace, namespaces } from "../objects.ts";

interface Event {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string };
}

test("a namespace that is being deleted costs no more than the metadata of the objects in it", async (t) => {
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived", "ResponseStarted"],
    rules: [{ level: "RequestResponse" }],
  };
  const auditLogPath = join(temporaryFolder(), "audit.log");
  const server = await openServer("k8s.io", {
    auditPolicyFile: file("policy.json", JSON.stringify(policy)),
    auditLogPath,
  });
  t.after(() => server.close());
  const api = new Api(server);
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
  const lines = readFileSync(auditLogPath, "utf8").split("\n");
  const ofController = lines.filter((line) => {
    if (line === "") return false;
    const { user, objectRef } = JSON.parse(line) as Event;
    return user.username?.endsWith(":namespace-controller") === true && objectRef?.resource === "configmaps";
  });
  assert.deepEqual(
    new Set(ofController.map((line) => (JSON.parse(line) as Event).verb)),
    new Set(["list", "deletecollection"]),
  );
  for (const line of ofController) {
    assert.ok(
      line.length < text.length,
      `${(JSON.parse(line) as Event).requestURI} was answered with ${line.length} bytes`,
    );
  }
});
