/** Reviews of many objects let other work run in between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { seededRandom } from "#std/random.ts";
import { conversionByReview } from "./conversion-review.ts";

interface Review {
  readonly apiVersion: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly object[] };
}

test("others have a turn while many objects are sent to a webhook and read from its answer, all in one call", async () => {
  let rounds = 0;
  const count = (): void => {
    rounds++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  let calls = 0;
  const convert = conversionByReview(kubernetesDomain, seededRandom(1), (_webhook, body) => {
    calls++;
    const { apiVersion, request } = JSON.parse(body.toString()) as Review;
    const { uid, desiredAPIVersion, objects } = request;
    const convertedObjects = objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
    const response = { uid, result: { status: "Success" }, convertedObjects };
    return Promise.resolve({ kind: "ConversionReview", apiVersion, response });
  });
  const objects = Array.from(
    { length: 1000 },
    (_, at): Unstructured => ({
      apiVersion: "example.com/v1",
      kind: "Port",
      metadata: { name: `p${at}` },
    }),
  );
  const converted = await convert({ conversionReviewVersions: ["v1"] }, objects, "example.com/v2");
  clearImmediate(counting);
  assert.equal(calls, 1);
  assert.deepEqual(converted[999], { ...objects[999], apiVersion: "example.com/v2" });
  assert.ok(rounds >= 20, `${rounds} rounds`);
});
