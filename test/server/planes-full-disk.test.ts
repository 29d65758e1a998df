/** Planes on a disk that fills up: a small tmpfs, if it can be mounted. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Api, eventually, openServer, temporaryFolder } from "../harness.ts";
import { configMap } from "../objects.ts";
import { configMaps, makePlane, planes, removedPlane } from "./planes-for-tests.ts";

const disk = join(temporaryFolder(), "disk");
mkdirSync(disk);
const isMounted =
  process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", disk]).status === 0;
const skip = isMounted ? false : "a tmpfs cannot be mounted here";

after(() => {
  if (isMounted) spawnSync("umount", [disk]);
});

test("a plane that fills the disk is refused, the root goes on, and its deletion gives the others room", {
  skip,
}, async (t) => {
  const server = await openServer("k8s.io", { storage: "disk", planes: disk });
  t.after(() => server.close());
  const api = new Api(server);
  const [greedy, modest] = [await makePlane(api, "greedy"), await makePlane(api, "modest")];
  (await api.post(`${modest.prefix}${configMaps}`, configMap("before"), modest)).expect(201);
  const filler = { filler: "x".repeat(500_000) };
  let count = 0;
  let refused = await api.post(`${greedy.prefix}${configMaps}`, configMap("first", filler), greedy);
  for (; refused.status === 201 && count < 100; count++) {
    refused = await api.post(`${greedy.prefix}${configMaps}`, configMap(`map-${count}`, filler), greedy);
  }
  refused.expectFailure(500, "InternalError");
  assert.ok(!refused.text.includes(disk), "clients are told no path");
  // Reads go on in all planes, and all goes on in the root, whose disk is another.
  (await api.get(`${greedy.prefix}${configMaps}/map-0`, greedy)).expect(200);
  (await api.get(`${modest.prefix}${configMaps}/before`, modest)).expect(200);
  (await api.post(configMaps, configMap("of-the-root"))).expect(201);
  (await api.delete(`${planes}/greedy`)).expect([200, 202]);
  await removedPlane(api, "greedy");
  await eventually(async () =>
    (await api.post(`${modest.prefix}${configMaps}`, configMap("after"), modest)).expect([201, 409]),
  );
  (await api.get(`${modest.prefix}${configMaps}/after`, modest)).expect(200);
  const next = await makePlane(api, "next");
  (await api.post(`${next.prefix}${configMaps}`, configMap("a"), next)).expect(201);
});
