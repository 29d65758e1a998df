/** A Protobuf writer for tests: message fields and the API's envelope. */

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

/** Encodes a field with a length: a text, bytes, or a message. */
export function field(number: number, ...parts: readonly (string | Buffer)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content]);
}

/** Encodes an entry of a map from texts to texts. */
export const entry = (number: number, key: string, value: string): Buffer =>
  field(number, field(1, key), field(2, value));

const prefix = Buffer.from("k8s\u0000", "latin1");

/** Encodes prefix, type and object, as clients send them. */
export const envelope = (apiVersion: string, kind: string, ...fields: readonly Buffer[]): Buffer =>
  Buffer.concat([
    prefix,
    field(1, field(1, apiVersion), field(2, kind)),
    field(2, ...fields),
    field(3, ""),
    field(4, ""),
  ]);

/** Encodes a field with an integer that is not negative. */
export const integer = (number: number, value: number): Buffer => Buffer.concat([varint(number * 8), varint(value)]);

/** Encodes a field with a floating-point number. */
export function double(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(number * 8 + 1), bytes]);
}
