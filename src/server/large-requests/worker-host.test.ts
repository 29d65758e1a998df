/** Resources held for a large request, and their release. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Scope } from "#http/scope.ts";
import type { Allocated } from "#registry/resource-definition.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { CacheReader, CacheWriter, Entry, WriteResult } from "#storage/watch-cache.ts";
import { type WorkerHostOptions, WorkerHost } from "./worker-host.ts";

const json = (object: object): Uint8Array => Buffer.from(JSON.stringify(object));
const service = { metadata: { name: "s" } };
const turn = { name: "services", seen: 4 };

/** Returns the host of a request for a service, whose allocation and write resolve when the test says so. */
function serviceHost() {
  const allocated = Promise.withResolvers<Allocated>();
  const written = Promise.withResolvers<WriteResult>();
  const released: string[] = [];
  const definition = { group: "", resource: "services", strategy: { allocate: () => allocated.promise } };
  const store = { creationIn: () => undefined, inForce: () => undefined };
  const scope = { definition, context: {}, namespace: "n", store } as unknown as Scope; // all that these calls look at
  const turns: unknown[] = [];
  const put = (...[, , , options]: Parameters<CacheWriter["put"]>) => {
    turns.push(options?.turn);
    return written.promise;
  };
  const cache = { put } as unknown as CacheReader & CacheWriter; // the same
  const options = { clock: new FakeClock(), cache, definitionOf: () => undefined } as unknown as WorkerHostOptions; // the same
  const host = new WorkerHost(scope, Buffer.alloc(0), options);
  const parameters = { object: json(service), old: undefined, subresource: "", dryRun: false };
  return {
    host,
    released,
    turns,
    allocate: () => host.answer({ name: "allocate", parameters }),
    allocated: () => allocated.resolve({ object: service, turn, release: () => released.push("address") }),
    write: () =>
      host.answer({
        name: "write",
        parameters: {
          key: "/registry/core/services/n/s",
          expected: 0,
          object: { bytes: json(service), revisionOffset: -1, labels: undefined },
          ttlSeconds: 0,
          isForDeletion: false,
          note: undefined,
        },
      }),
    lost: () => written.resolve({ ok: false, current: undefined, failed: "turn" }),
    written: () => written.resolve({ ok: true, entry: { revision: 5, created: 5 } as Entry }), // what is looked at
  };
}

void test("an address stays taken until the write that stores it has ended, even after its client has left", async () => {
  const on = serviceHost();
  const asked = on.allocate();
  on.allocated();
  await asked;
  const writing = on.write();
  const ended = on.host.end();
  await Promise.resolve();
  assert.deepEqual(on.released, []);
  on.written();
  await Promise.all([writing, ended]);
  assert.deepEqual(on.released, ["address"]);
});

void test("an address that is given when the request has ended is given back", async () => {
  const on = serviceHost();
  const asked = on.allocate();
  const ended = on.host.end();
  on.allocated();
  await Promise.all([asked, ended]);
  assert.deepEqual(on.released, ["address"]);
});

void test("a write has the turn of what was allocated for it, and its thread learns that it is lost", async () => {
  const on = serviceHost();
  const asked = on.allocate();
  on.allocated();
  await asked;
  const writing = on.write();
  on.lost();
  assert.deepEqual(await writing, { ok: false, current: undefined, failed: "turn" });
  assert.deepEqual(on.turns, [turn]);
  await on.host.end();
});
