/** Random `Accept` and `Content-Type` headers: no crash, and well-formed ones agree with a naive parser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Encoding } from "#codec/encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { protobufEncoding } from "#codec/protobuf-encoding.ts";
import type { Schema } from "#schema/schema.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { StatusError } from "#meta/status-error.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { bodyMediaType, negotiator, parseAccept, resourceTransforms } from "./negotiation.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 20_000);

const any: Schema = { type: "object" };
const offered: readonly Encoding[] = [
  jsonEncoding,
  yamlEncoding,
  protobufEncoding({ Status: any, ListMeta: any, PartialObjectMetadata: any }),
];
const types = negotiator(offered);
const transforms = resourceTransforms(kubernetesDomain);

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random.next() * list.length)]!;
}

test(`no header crashes, whatever is in it, seed ${seed}`, (context) => {
  context.diagnostic(`seed ${seed}, ${runs} runs`);
  const random = seededRandom(seed);
  const pieces = [
    "application",
    "json",
    "yaml",
    "text",
    "*",
    "/",
    ";",
    ",",
    "=",
    " ",
    '"',
    "\\",
    "q",
    "0.5",
    "1e9",
    "-1",
    "as",
    "Table",
    "g",
    "meta.k8s.io",
    "v",
    "v1",
    "stream",
    "watch",
    "__proto__",
    "constructor",
    "charset",
    "\t",
    "ä",
  ];
  for (let run = 0; run < runs; run++) {
    const header = Array.from({ length: Math.floor(random.next() * 20) }, () => pick(random, pieces)).join("");
    const request = { headers: { accept: header }, url: "/", query: new URLSearchParams() };
    for (const act of [
      () => types.answer(request, transforms),
      () => types.stream(request, transforms),
      () => types.checkProducible(request, true),
      () => types.body(header),
    ]) {
      try {
        act();
      } catch (error) {
        assert.ok(error instanceof StatusError, `${JSON.stringify(header)}: ${String(error)}`);
      }
    }
    const status = types.status(request);
    assert.ok(offered.some(({ mediaType }) => mediaType === status.mediaType));
    assert.match(bodyMediaType(header), /^[^\s;,]*$/);
  }
});

test(`clauses without wildcards are sorted by quality, equal ones stay in order, seed ${seed} [MEDIA-15]`, () => {
  const random = seededRandom(seed);
  const names = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", "a/b"];
  for (let run = 0; run < runs; run++) {
    const clauses = Array.from({ length: 1 + Math.floor(random.next() * 6) }, () => ({
      name: pick(random, names),
      quality: Math.floor(random.next() * 4) / 4,
    }));
    const space = (): string => (random.next() < 0.3 ? " " : "");
    const header = clauses
      .map(({ name, quality }) => `${space()}${name}${space()};${space()}q=${quality};${space()}x=${space()}y`)
      .join(",");
    const sorted = clauses.toSorted((a, b) => b.quality - a.quality);
    assert.deepEqual(
      parseAccept(header).map(({ type, subtype, quality }) => ({ name: `${type}/${subtype}`, quality })),
      sorted,
      header,
    );
    const first = sorted.find(({ name }) => offered.some(({ mediaType }) => mediaType === name));
    const request = { headers: { accept: header }, url: "/", query: new URLSearchParams() };
    if (first === undefined) assert.throws(() => types.answer(request, transforms), StatusError);
    else assert.equal(types.answer(request, transforms).encoding.mediaType, first.name);
  }
});
