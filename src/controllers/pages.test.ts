/** Collections that controllers read in pages, whose length depends on the objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RestClient } from "#client/rest-client.ts";
import { inPages } from "./pages.ts";

/** Reads a collection of this many objects, each with this many bytes. Returns the lengths of the pages. */
async function lengthsOf(count: number, bytes: number): Promise<number[]> {
  const lengths: number[] = [];
  const text = "x".repeat(bytes);
  const client = new RestClient({
    request({ path }) {
      const query = new URLSearchParams(path.slice(path.indexOf("?")));
      const from = Number(query.get("continue") ?? 0);
      const end = Math.min(count, from + Number(query.get("limit")));
      lengths.push(end - from);
      const items = Array.from({ length: end - from }, (_, at) => ({ metadata: { name: `${from + at}` }, text }));
      const metadata = { resourceVersion: "1", ...(end < count ? { continue: String(end) } : {}) };
      return Promise.resolve({ code: 200, body: Buffer.from(JSON.stringify({ metadata, items })) });
    },
    stream: () => Promise.reject(new Error("nothing is watched")),
  });
  const objects = await Array.fromAsync(inPages(client, "/api/v1/things"));
  assert.deepEqual(
    objects.map(({ metadata }) => metadata.name),
    Array.from({ length: count }, (_, at) => String(at)),
  );
  return lengths;
}

test("pages of small objects grow, those of large ones stay short", async () => {
  assert.deepEqual(await lengthsOf(1500, 10), [16, 64, 256, 500, 500, 164]);
  assert.deepEqual(await lengthsOf(30, 1024 * 1024), [16, 3, 3, 3, 3, 2]);
  assert.deepEqual(await lengthsOf(18, 5 * 1024 * 1024), [16, 1, 1]);
});
