/**
 * Lists in pieces and in chunks have the same bytes, also when entries are added, changed and removed between two
 * lists.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { StoredObjects } from "#registry/stored-object.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { DetachedEntry, type Entry } from "#storage/watch-cache.ts";
import type { BytePieces } from "#std/byte-pieces.ts";
import { Gzip } from "#transport/gzip.ts";
import { joinChunks, ChunkCache } from "#http/chunk-cache.ts";
import { listPieces } from "#http/list-body.ts";

const storage = { group: "", version: "v1", kind: "ConfigMap", resource: "configmaps" };
// The definition has only the members that a list body reads.
const definition = {
  ...storage,
  listKind: "ConfigMapList",
  storage,
} as unknown as ResourceDefinition;
const random = seededRandom(1);
let revision = 0;

function entry(name: string, created = ++revision): Entry {
  const text = "x".repeat(Math.floor(random.next() ** 3 * 20_000));
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name, resourceVersion: String(revision) }, text };
  const value = Buffer.from(`${JSON.stringify(object)}\n`);
  return new DetachedEntry({ key: `/registry//configmaps/x/${name}`, value, revision, created });
}

function body(entries: readonly Entry[]): BytePieces {
  const members = { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: String(revision) } };
  const pieces = listPieces(definition, new StoredObjects(), members, entries, new FakeClock());
  assert.ok(!(pieces instanceof Promise));
  return pieces;
}

test("pieces, chunks kept and unpacked chunks are the list in JSON, without kind and version of the items", async () => {
  const gzip = new Gzip(1e7);
  const cache = new ChunkCache<Buffer>(1e7);
  const entries = Array.from({ length: 120 }, (_, i) => entry(`c${i}`));
  for (let round = 0; round < 40; round++) {
    const shown = round % 4 === 3 ? entries.slice(round, round + 60) : entries;
    const pieces = body(shown);
    const plain = Buffer.concat([...pieces]);
    assert.equal(plain.length, pieces.length);
    const packed: Buffer[] = [];
    for await (const piece of gzip.compress(pieces.chunks!(), 64 * 1024)) packed.push(piece);
    assert.ok(gunzipSync(Buffer.concat(packed)).equals(plain), `round ${round}`);
    assert.ok(Buffer.concat([...joinChunks(pieces.chunks!(), cache)]).equals(plain), `round ${round}`);
    const list = JSON.parse(plain.toString()) as {
      kind: string;
      items: { kind?: string; metadata: { name: string } }[];
    };
    assert.equal(list.kind, "ConfigMapList");
    assert.deepEqual(
      list.items.map(({ kind, metadata }) => `${kind ?? ""}${metadata.name}`),
      shown.map(({ key }) => key.split("/").at(-1)),
    );

    const at = Math.floor(random.next() * entries.length);
    const old = entries[at]!;
    if (round % 3 === 0) entries.splice(at, 1);
    else if (round % 3 === 1) entries.splice(at, 0, entry(`n${round}`));
    else {
      revision++;
      entries[at] = entry(old.key.split("/").at(-1)!, old.created);
    }
  }
});

test("after one change, most chunks of a list are those of the list before", () => {
  const entries = Array.from({ length: 1_000 }, (_, i) => entry(`c${i}`));
  const marks = (): Set<string> => new Set([...body(entries).chunks!()].map(({ mark }) => mark.join()));
  const before = marks();
  entries.splice(100, 1);
  entries.splice(500, 0, entry("new"));
  const after = marks();
  const same = [...after].filter((mark) => before.has(mark)).length;
  assert.ok(same > after.size * 0.7, `${same} of ${after.size}`);
});

test("an empty list is complete", async () => {
  const pieces = body([]);
  const text = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"${revision}"},"items":[]}\n`;
  assert.equal(Buffer.concat([...pieces]).toString(), text);
  const packed: Buffer[] = [];
  for await (const piece of new Gzip(1).compress(pieces.chunks!(), 10)) packed.push(piece);
  assert.equal(gunzipSync(Buffer.concat(packed)).toString(), text);
});
