/**
 * The contract of every encoding. The test of each encoding calls `encodingContract` with functions that read its
 * output.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "#schema/schema.ts";
import type { LongBody } from "#std/byte-pieces.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { EncodableList, Encoding } from "./encoding.ts";
import { jsonEncoding } from "./json-encoding.ts";

interface EncodingSubject {
  readonly name: string;
  readonly encoding: Encoding;
  /** Reads a list. Left out: a list is a value with the items among its members. */
  listOf?(bytes: Buffer, itemsKey: string): ReadList;
  /** Reads frames that follow each other. Left out: frames are lines of JSON. */
  framesOf?(bytes: Buffer): unknown[];
}

interface ReadList {
  readonly members: unknown;
  /** The items; `undefined` if the format does not distinguish an empty list from `null`. */
  readonly items: readonly unknown[] | null | undefined;
}

const any: Schema = { type: "any" };

const object = {
  kind: "Thing",
  apiVersion: "example.com/v1",
  metadata: { name: "a", labels: { "k/ü": "ß\n\u2028", empty: "" }, creationTimestamp: null },
  spec: { count: 3, isOn: true, list: [1, "1", [], {}], ratio: 0.5, texts: ["yes", "1e3", "0x1", "- a: b", "null"] },
};

/** Returns the value in plain JSON, since numbers of decoders may have kept their text. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const bytesOf = async (body: LongBody): Promise<Buffer> =>
  Buffer.concat("chunks" in body ? await Array.fromAsync(body.chunks) : [...body.pieces]);

/** Defines the tests of the contract for one encoding. */
export function encodingContract({ name, encoding, ...subject }: EncodingSubject): void {
  const decodePlain = (bytes: Uint8Array): unknown => plain(encoding.decode(bytes, any).value);
  const wholeList = (bytes: Buffer, key: string): ReadList => {
    const { [key]: items, ...members } = decodePlain(bytes) as Record<string, readonly unknown[] | null>;
    return { members, items };
  };
  const listOf = subject.listOf ?? wholeList;
  const framesOf =
    subject.framesOf ??
    ((bytes) =>
      bytes
        .toString()
        .trimEnd()
        .split("\n")
        .map((line): unknown => JSON.parse(line)));
  const json = Buffer.from(`${JSON.stringify(object)}\n`);

  test(`${name}: an object is read as it was written, with or without its stored bytes`, () => {
    for (const value of [object, {}, { a: "" }, { list: [null, { a: [] }] }]) {
      assert.deepEqual(decodePlain(encoding.object({ json: undefined, value })), value);
    }
    assert.deepEqual(decodePlain(encoding.object({ json, value: object })), object);
    assert.ok(encoding.objects(encoding.object({ json, value: object })) >= 1);
  });

  test(`${name}: a list has its members and its items, however long it is`, async () => {
    const clock = new FakeClock();
    const members = { kind: "ThingList", apiVersion: "v1", metadata: { resourceVersion: "7" } };
    for (const itemsKey of ["items", "rows"]) {
      for (const count of [0, 1, 2, 1000]) {
        const items = Array.from({ length: count }, (_, at) => ({ ...object, at }));
        for (const emptyIsNull of [false, true]) {
          const list: EncodableList = {
            members,
            itemsKey,
            emptyIsNull,
            count,
            item: (at) => items[at],
            weight: () => json.length,
          };
          const bytes = await bytesOf(await encoding.list(list, { clock }));
          const read = listOf(bytes, itemsKey);
          assert.deepEqual(read.members, members);
          if (count > 0 || read.items !== undefined) {
            assert.deepEqual(read.items, count === 0 && emptyIsNull ? null : items, `${count} items`);
          }
          const itemJson = (at: number): string => JSON.stringify(items[at]);
          assert.deepEqual(await bytesOf(await encoding.list({ ...list, itemJson }, { clock })), bytes);
          const large = {
            weight: 0,
            // An encoding that calls `encode` has `item`.
            encode: (one: Encoding, value: unknown) => Promise.resolve(one.item!(value)),
          };
          assert.deepEqual(await bytesOf(await encoding.list(list, { clock, large })), bytes);
        }
      }
    }
  });

  if (encoding.stream === "") return;

  test(`${name}: frames follow each other, with or without stored bytes`, () => {
    const made = ["ADDED", "BOOKMARK", "ERROR"].map((type) => ({ type, object }));
    const frames = made.map(({ type, object: value }) => encoding.frame(type, { json: undefined, value }));
    assert.deepEqual(framesOf(Buffer.concat(frames)), made);
    const stored = ["ADDED", "MODIFIED", "DELETED"].map((type) => encoding.frame(type, { json, value: object }));
    assert.deepEqual(
      framesOf(Buffer.concat(stored)),
      ["ADDED", "MODIFIED", "DELETED"].map((type) => ({ type, object })),
    );
    assert.deepEqual(stored[0], frames[0]);
    if (encoding.isText) for (const frame of frames) assert.equal(frame.indexOf("\n"), frame.length - 1);
    if (encoding.hasJsonFrames) assert.deepEqual(frames[0], jsonEncoding.frame("ADDED", { json, value: object }));
  });
}
