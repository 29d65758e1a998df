/** Tests which requests leave the event loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { protobufBodies } from "#codec/protobuf-encoding.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { largeBytes, eventLoopLimits, MustRunInWorker, weightOf } from "./large-requests.ts";

const sizes = eventLoopLimits(largeBytes);
const list = (item: string, count: number): Buffer => Buffer.from(`[${`${item},`.repeat(count - 1)}${item}]`);

test("bodies of many objects are handled elsewhere, however short these are", () => {
  assert.throws(() => sizes.check(weightOf(list("{}", 4000))), MustRunInWorker);
  assert.throws(() => sizes.check(weightOf(list("{}", 20_000))), MustRunInWorker);
  assert.throws(() => sizes.check(weightOf(Buffer.from("- a:\n".repeat(3000)), yamlEncoding)), MustRunInWorker);
});

test("a short protobuf body of many objects is handled elsewhere, one of texts is not", () => {
  const body = (field: Buffer, count: number): Buffer =>
    Buffer.concat([Buffer.from("k8s\0"), nestField(2, Buffer.concat(Array.from({ length: count }, () => field)))]);
  const nestField = (number: number, inner: Buffer): Buffer => {
    const length = Buffer.from([(inner.length & 0x7f) | 0x80, ((inner.length >> 7) & 0x7f) | 0x80, inner.length >> 14]);
    return Buffer.concat([Buffer.from([number * 8 + 2]), length, inner]);
  };
  const empty = Buffer.from([0x0a, 0]);
  assert.throws(() => sizes.check(weightOf(body(empty, 2100), protobufBodies)), MustRunInWorker);
  assert.throws(() => sizes.check(weightOf(body(nestField(3, empty), 2000), protobufBodies)), MustRunInWorker);
  const broken = Buffer.concat([body(empty, 2100), Buffer.from([0xff])]);
  assert.throws(() => sizes.check(weightOf(broken, protobufBodies)), MustRunInWorker);
  const text = nestField(1, Buffer.from("a name of some words"));
  sizes.check(weightOf(body(text, 600), protobufBodies));
  sizes.check(weightOf(body(nestField(1, Buffer.concat([text, text])), 280), protobufBodies));
});

test("ordinary bodies up to 64 KiB of JSON, or 16 KiB of other forms, are handled on the event loop", () => {
  const ordinary = list(`{"name":"value","more":"${"x".repeat(80)}"}`, 600);
  assert.ok(ordinary.length > 60_000);
  sizes.check(weightOf(ordinary));
  sizes.check(weightOf(ordinary.subarray(0, 16_000), yamlEncoding));
  assert.throws(() => sizes.check(weightOf(ordinary, yamlEncoding)), MustRunInWorker);
});
