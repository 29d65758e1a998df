/** Tests of addresses: any name comes back from the fragment, and broken fragments are no failure. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { asPart, hrefOf, ofPart, readRoute } from "./routes.ts";

test("any names and parameters come back from an address", () => {
  const part = fc.string({ unit: "grapheme" });
  const query = fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }));
  fc.assert(
    fc.property(fc.array(part, { minLength: 1 }), query, (parts, given) => {
      const route = readRoute(hrefOf("object", parts, given));
      assert.deepEqual([route.page, route.parts], ["object", parts]);
      assert.deepEqual(new Map(route.query), new Map(Object.entries(given)));
    }),
    { numRuns: 300 },
  );
});

test("an empty part has a stand-in, and fragments that nobody made are read as they are", () => {
  assert.strictEqual(ofPart(asPart("")), "");
  assert.strictEqual(ofPart(asPart("apps")), "apps");
  assert.strictEqual(ofPart(undefined), "");
  for (const hash of ["", "#", "#/", "#/%", "#/a/%zz?%zz=%", "#?", "#a/b/../c"]) readRoute(hash);
  assert.deepEqual(readRoute("#/%/%zz").parts, ["%zz"]);
});
