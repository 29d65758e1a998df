/**
 * Tests that the size and the cost of warnings for clients are bounded. Lengths are those of the answers of
 * kube-apiserver 1.32.1.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { Api, openServer } from "../harness.ts";

let server: Awaited<ReturnType<typeof openServer>>;
let api: Api;
before(async () => {
  server = await openServer("k8s.io");
  api = new Api(server);
});
after(async () => {
  api.close();
  await server.close();
});

/** Returns the lengths of the warnings about unknown fields, which were made to have the given lengths. */
async function measureWarnings(...lengths: readonly number[]): Promise<number[]> {
  const fields = lengths.map((length, at): [string, number] => [
    `f${String(at).padStart(3, "0")}`.padEnd(length - 'unknown field ""'.length, "x"),
    1,
  ]);
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, ...Object.fromEntries(fields) };
  const answer = await api.post("/api/v1/namespaces/default/configmaps?dryRun=All", body);
  assert.equal(answer.status, 201);
  return answer.warnings.map(({ length }) => length);
}

const times = (count: number, length: number): number[] => Array.from({ length: count }, () => length);

test("warnings are shown up to 4096 characters, with the one that goes beyond", async () => {
  assert.deepEqual(await measureWarnings(...times(16, 256)), times(16, 256));
  assert.deepEqual(await measureWarnings(...times(18, 256)), times(17, 256));
  assert.deepEqual(await measureWarnings(...times(45, 100)), times(41, 100));
  assert.deepEqual(await measureWarnings(...times(40, 100), ...times(10, 20)), [...times(40, 100), ...times(5, 20)]);
});

test("beyond 4096 characters each warning is cut to 256", async () => {
  assert.deepEqual(await measureWarnings(5000), [256]);
  assert.deepEqual(await measureWarnings(...times(20, 300)), times(16, 256));
  assert.deepEqual(await measureWarnings(4080, 30, 40), [256, 30, 40]);
});

test("a pod of two thousand equal ports, each pair of which is worth a warning, costs twice what one of a thousand does", async () => {
  await growsInProportion(1000, async (length) => {
    const ports = Array.from({ length }, () => ({ containerPort: 80 }));
    const spec = { automountServiceAccountToken: false, containers: [{ name: "a", image: "a:1", ports }] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec };
    const answer = await api.post("/api/v1/namespaces/default/pods?dryRun=All", pod);
    assert.equal(answer.status, 201);
    assert.equal(answer.warnings.length, 48);
  });
});
