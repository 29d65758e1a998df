/** Permissions of an apply: patch, which the chain checks, and create for a new object. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { admissionChain } from "#admission/chain.ts";
import type { Attributes } from "#authz/authorizer.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { testContext } from "#meta/context-for-tests.ts";
import { StatusError } from "#meta/status-error.ts";
import { Timestamps } from "#meta/time.ts";
import { thingDefinition } from "#registry/definition-for-tests.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { Stores } from "#registry/stores.ts";
import type { Schema } from "#schema/schema.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { largeBytes, eventLoopLimits } from "../large-requests.ts";
import { openMemoryStore } from "#storage/memory.ts";
import type { ApiRequest, RequestInfo } from "../api-request.ts";
import { negotiator, resourceTransforms } from "../negotiation.ts";
import { plainOptions } from "../options.ts";
import type { HandlerParts, Scope } from "../scope.ts";
import { applyObject } from "./apply.ts";

const text: Schema = { type: "string" };
const object = (fields: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  fields: new Map(Object.entries(fields).map(([name, schema]) => [name, { schema, omitempty: true }])),
});
const metadata = object({ name: text, namespace: text, uid: text, resourceVersion: text, creationTimestamp: text });

const schema = object({ apiVersion: text, kind: text, metadata, color: text });
const definition = thingDefinition(schema);

test("with permission to patch but not to create, an apply changes existing objects and creates none [SSA-26]", async () => {
  const clock = new FakeClock();
  const cache = await openMemoryStore({ clock });
  const objects = new StoredObjects(4);
  const stores = new Stores({ cache, objects, clock, random: seededRandom(1), objectBytesMax: 2 ** 20 });
  const questions: Attributes[] = [];
  let mayCreate = false;
  const parts = {
    sizes: eventLoopLimits(largeBytes),
    domain: kubernetesDomain,
    clock,
    timestamps: new Timestamps(clock),
    objects,
    admission: admissionChain([]),
    authorizer: {
      authorize(attributes: Attributes) {
        questions.push(attributes);
        return { decision: mayCreate ? "allow" : "noOpinion", reason: "no rule" } as const;
      },
    },
    negotiator: negotiator([jsonEncoding]),
    transforms: resourceTransforms(kubernetesDomain),
    bodyLimitBytes: 1000,
    plainOptions: plainOptions(kubernetesDomain),
    definitionOfVersion: () => undefined,
  } as unknown as HandlerParts; // the parts that an apply uses
  const send = (color: string): ReturnType<typeof applyObject> => {
    const body = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "one" }, color };
    const path = "/apis/example.com/v1/namespaces/ns/things/one";
    const info: RequestInfo = {
      isResourceRequest: true,
      path,
      verb: "patch",
      apiPrefix: "apis",
      group: "example.com",
      version: "v1",
      namespace: "ns",
      resource: "things",
      subresource: "",
      name: "one",
      parts: ["things", "one"],
    };
    const request = {
      url: `${path}?fieldManager=m&force=true`,
      query: new URLSearchParams("fieldManager=m&force=true"),
      headers: {},
      headerValues: () => [],
      body: () => Promise.resolve(Buffer.from(JSON.stringify(body))),
      info,
      user: { name: "pat", groups: [] },
    } as unknown as ApiRequest; // what an apply reads of it
    const context = testContext({ user: request.user });
    const where = { namespace: "ns", name: "one", subresource: "", updates: {} };
    const scope: Scope = { parts, request, context, definition, store: stores.of(definition), ...where };
    return applyObject(scope, "YAML");
  };
  await assert.rejects(send("red"), (error) => {
    assert.ok(error instanceof StatusError, String(error instanceof Error ? error.stack : error));
    assert.equal(error.status.code, 403);
    assert.match(
      error.status.message ?? "",
      /^things\.example\.com "one" is forbidden: User "pat" cannot create resource "things" in API group "example\.com" in the namespace "ns": no rule$/,
    );
    return true;
  });
  assert.equal(stores.of(definition).count(), 0);
  assert.deepEqual(
    questions.map(({ verb, name }) => [verb, name]),
    [["create", "one"]],
  );
  mayCreate = true;
  assert.equal((await send("red")).code, 201);
  mayCreate = false;
  assert.equal((await send("blue")).code, 200);
  assert.equal(questions.length, 2);
});
