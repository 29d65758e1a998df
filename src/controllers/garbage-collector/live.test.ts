/** Tests which answers prove that an object does not exist. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RestClient } from "#client/rest-client.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { notFound, resourceNotFound } from "#meta/status-error.ts";
import { LiveObjects } from "./live.ts";

const widgets = {
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
  verbs: ["get"],
  isLocal: false,
};

function askWith(answer: string) {
  const client = new RestClient({
    request: () => Promise.resolve({ code: 404, body: Buffer.from(answer) }),
    stream: () => Promise.reject(new Error("no watches")),
  });
  return new LiveObjects(client, kubernetesDomain).get(widgets, "shop", "a");
}

test("an owner is absent when its server says so by name [DELOPT-06]", async () => {
  assert.equal(await askWith(JSON.stringify(notFound(widgets, "a").status)), undefined);
});

test("an owner is not absent because nothing answers for its kind [DELOPT-06]", async () => {
  await assert.rejects(askWith(JSON.stringify(resourceNotFound().status)));
  await assert.rejects(askWith("404 page not found\n"));
});
