/**
 * Planes that are gone leave nothing. CYCLES sets how many are made and deleted, under load and with open
 * watches.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Api, eventually, openServer, temporaryFolder } from "../harness.ts";
import { configMap } from "../objects.ts";
import { configMaps, makePlane, planes, removedPlane } from "./planes-for-tests.ts";

const cycles = Number(process.env["CYCLES"] ?? 16);
const warmupCycles = 8;
/** The memory that a cycle may leave, of the root's history and of the test: a plane that is used has twenty times as much. */
const bytesMax = 200_000;

/** Returns the memory in use after a full garbage collection, in bytes. */
function memoryInUse(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Returns the open files of the process, if the system shows them. */
const openFiles = (): number => (process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0);
const timers = (): number => process.getActiveResourcesInfo().length;

test("planes that were made, used and deleted leave no memory, files or timers", async (t) => {
  const folder = temporaryFolder();
  const server = await openServer("k8s.io", { storage: "disk", planes: folder });
  t.after(() => server.close());
  const api = new Api(server);
  const cycle = async (at: number): Promise<void> => {
    const name = `plane-${at}`;
    const { prefix, as } = await makePlane(api, name);
    const stream = await api.watch(`${prefix}${configMaps}`, { as });
    await Promise.all(
      Array.from({ length: 4 }, (_, one) => api.post(`${prefix}${configMaps}`, configMap(`map-${one}`), { as })),
    );
    const load = api.get(`${prefix}${configMaps}`, { as });
    (await api.delete(`${planes}/${name}`)).expect([200, 202]);
    await load;
    await stream.until((event) => event.type === "ERROR");
    await removedPlane(api, name);
  };
  for (let at = 0; at < warmupCycles; at++) await cycle(at);
  const [files, waiting] = [openFiles(), timers()];
  const before = memoryInUse();
  for (let at = 0; at < cycles; at++) await cycle(warmupCycles + at);
  await eventually(async () => {
    assert.ok(openFiles() <= files + 4, `${openFiles()} files, before ${files}`);
    assert.ok(timers() <= waiting + 4, `${timers()} timers and handles, before ${waiting}`);
    const left = Math.round((memoryInUse() - before) / cycles);
    t.diagnostic(`${left} bytes are left of each plane`);
    assert.ok(left < bytesMax, `${left} bytes are left of each plane`);
  });
  assert.deepEqual(readdirSync(folder), []);
});
