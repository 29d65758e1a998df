/** Tests that CBOR is read as kube-apiserver 1.32.1 reads it: each expectation was its answer to the same bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Field, Schema } from "#schema/schema.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { readCbor, readCborObject } from "./cbor-reader.ts";

const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(" ", ""), "hex");

/** Returns the error for a body that is no well-formed item or no object, or of an item that is not accepted. */
const refusal = (digits: string, schema: Schema = any): string | undefined => {
  try {
    return readCbor(hex(digits), schema).refusal?.message;
  } catch (error) {
    return `unreadable: ${(error as Error).message}`;
  }
};

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Returns the value of key `a` of an object, as plain JSON. */
const valueOf = (digits: string): unknown =>
  plain((readCborObject(hex(`a1 6161 ${digits}`)) as { readonly a: unknown }).a);

const any: Schema = { type: "any" };
const text: Schema = { type: "string" };

const struct = (name: string, fields: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  name,
  fields: new Map(Object.entries(fields).map(([field, schema]): [string, Field] => [field, { schema }])),
});

const inner = struct("io.k8s.api.core.v1.Inner", {
  n: { type: "integer", format: "int32" },
  l: { type: "integer", format: "int64" },
  b: { type: "boolean" },
  f: { type: "number" },
});
const fields = {
  s: text,
  y: { type: "string", format: "byte" },
  t: { type: "array", items: text },
  m: { type: "map", items: text },
  i: inner,
  x: { type: "any", special: "rawExtension" },
  p: { type: "string", special: "intOrString" },
  q: { type: "string", special: "quantity" },
} as const satisfies Readonly<Record<string, Schema>>;
const plainThing = struct("io.k8s.api.core.v1.Thing", fields);
const thing: Schema = {
  ...plainThing,
  fields: new Map([...plainThing.fields!, ["o", { schema: { type: "boolean" }, ptr: true }]]),
};

/** Returns the object for one field of a thing. */
const thingOf = (field: string, digits: string): unknown => {
  const { value, refusal: error } = readCbor(hex(`a1 61${Buffer.from(field).toString("hex")} ${digits}`), thing);
  return error === undefined ? plain((value as Record<string, unknown>)[field]) : error.message;
};

test("texts are text strings or byte strings, of one piece or several", () => {
  for (const digits of ["62 6162", "42 6162", "7802 6162", "7f 6161 6162 ff", "5f 4161 4162 ff"]) {
    assert.equal(valueOf(digits), "ab", digits);
  }
  assert.deepEqual(plain(readCborObject(hex("a2 4161 01 6162 02"))), { a: 1, b: 2 });
  assert.deepEqual(plain(readCborObject(hex("bf 6161 01 ff"))), { a: 1 });
  assert.equal(refusal("a1 6161 61ff"), "cbor: invalid UTF-8 string");
  assert.equal(valueOf("41ff"), "\ufffd");
});

test("numbers are integers of 64 bits, or floats", () => {
  assert.equal(valueOf("1800"), 0);
  assert.equal(valueOf("3b 7fffffffffffffff"), -9223372036854776000);
  assert.equal(
    JSON.stringify(readCborObject(hex("a1 6161 1b 0020000000000001"))),
    '{"a":9007199254740993}',
    "integers are exact",
  );
  assert.equal(JSON.stringify(readCborObject(hex("a1 6161 f93c00"))), '{"a":1.0}', "a float is no integer");
  assert.deepEqual(["f93e00", "fa3fc00000", "fb3ff8000000000000", "f90001"].map(valueOf), [1.5, 1.5, 1.5, 2 ** -24]);
  assert.match(
    refusal("a1 6161 1b 8000000000000000")!,
    /positive integer into Go value of type int64 \(9223372036854775808 overflows Go's int64\)$/,
  );
  const notAccepted = "unreadable: cbor: data item of cbor type primitives is not accepted by protocol: floating-point";
  assert.equal(refusal("a1 6161 f97e00"), `${notAccepted} NaN`);
  assert.equal(refusal("a1 6161 fbfff0000000000000"), `${notAccepted} infinity`);
});

test("tags say what bytes and times are, and others are read as what they contain", () => {
  assert.deepEqual(["d5 43 3e3e3f", "d6 43 3e3e3f", "d7 43 3e3e3f"].map(valueOf), ["Pj4_", "Pj4/", "3e3e3f"]);
  assert.deepEqual(valueOf("d6 82 4161 6161"), ["YQ==", "a"], "the form holds for what is within");
  assert.deepEqual(["d8 64 6178", "d9d9f7 6178", "d818 4178", "d864 d6 4161"].map(valueOf), ["x", "x", "x", "YQ=="]);
  assert.equal(valueOf("c1 05"), "1970-01-01T00:00:05Z");
  assert.equal(valueOf("c1 24"), "1969-12-31T23:59:55Z");
  assert.equal(valueOf("c1 f94580"), "1970-01-01T00:00:05.5Z");
  const time = "323032302d30312d30315430303a30303a30305a";
  assert.equal(valueOf(`c0 74 ${time}`), "2020-01-01T00:00:00Z");
  assert.match(refusal("a1 6161 c0 6178")!, /^cbor: cannot set x for time\.Time: parsing time "x" as /);
  assert.equal(refusal("a1 6161 c0 01"), "cbor: tag number 0 must be followed by text string, got positive integer");
  assert.match(refusal("a1 6161 c1 6178")!, /^cbor: tag number 1 must be followed by integer or floating-point number/);
  assert.match(refusal("a1 6161 c1 1b 00ffffffffffffff")!, /year out of range$/);
  assert.match(refusal("a1 6161 c2 4101")!, /^unreadable: .* cbor type tag is not accepted by protocol: bignum$/);
});

test("keys are texts, each once", () => {
  const twice = (key: string, index: number): string =>
    `cbor: found duplicate map key "${key}" at map element index ${index}`;
  assert.equal(refusal("a2 6161 01 6161 02"), `unreadable: ${twice("a", 1)}`);
  assert.equal(refusal("a1 6161 a3 6162 01 6161 01 4162 02"), twice("b", 2), "in either form");
  assert.deepEqual(valueOf("a1 f6 01"), { "": 1 });
  for (const [digits, name] of [
    ["01", "positive integer"],
    ["20", "negative integer"],
    ["f5", "primitives"],
    ["80", "array"],
  ] as const) {
    assert.equal(refusal(`a1 6161 a1 ${digits} 01`), `cbor: cannot unmarshal ${name} into Go value of type string`);
  }
  assert.ok(Object.hasOwn(readCborObject(hex("a1 69 5f5f70726f746f5f5f a0")) as object, "__proto__"));
});

test("bytes that are not one well-formed item within the limits are refused", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["", "EOF"],
    ["d9d9f7", "unexpected EOF"],
    ["a1 6161", "unexpected EOF"],
    ["a0 00", "cbor: 1 bytes of extraneous data starting at index 1"],
    ["1c", "cbor: invalid additional information 28 for type positive integer"],
    ["1f", "cbor: invalid additional information 31 for type positive integer"],
    ["df 00", "cbor: invalid additional information 31 for type tag"],
    ["f810", "cbor: invalid simple value 16 for type primitives"],
    ["ff", 'cbor: unexpected "break" code'],
    ["bf 6161 ff", 'cbor: unexpected "break" code'],
    ["7f 4161 ff", "cbor: wrong element type byte string for indefinite-length UTF-8 text string"],
    ["7f 7f6161ff ff", "cbor: indefinite-length UTF-8 text string chunk is not definite-length"],
    [
      "7b ffffffffffffffff",
      "cbor: UTF-8 text string length 18446744073709551615 is too large, causing integer overflow",
    ],
    ["9b ffffffffffffffff", "cbor: array length 18446744073709551615 is too large, it would cause integer overflow"],
    ["5b 7fffffffffffffff", "unexpected EOF"],
    ["9a 00000401", "cbor: exceeded max number of elements 1024 for CBOR array"],
    [`9f ${"f6".repeat(1025)} ff`, "cbor: exceeded max number of elements 1024 for CBOR array"],
    ["b9 0401", "cbor: exceeded max number of key-value pairs 1024 for CBOR map"],
    [`bf ${"00f6".repeat(1025)} ff`, "cbor: exceeded max number of key-value pairs 1024 for CBOR map"],
    [`${"81".repeat(65)} 00`, "cbor: exceeded max nested level 64"],
    [`${"c9".repeat(67)} 00`, "cbor: exceeded max nested level 64"],
    [
      "80",
      "cbor: cannot unmarshal array into Go value of type v1.TypeMeta (cannot decode CBOR array to struct without toarray option)",
    ],
    ["01", "cbor: cannot unmarshal positive integer into Go value of type v1.TypeMeta"],
    [
      "a2 646b696e64 6141 c06161 01",
      "cbor: cannot unmarshal tag into Go value of type string (map key is of type tag and cannot be used to match struct field name)",
    ],
    ["f5", "cbor: cannot unmarshal primitives into Go value of type v1.TypeMeta"],
    [
      "a1 646b696e64 01",
      "cbor: cannot unmarshal positive integer into Go struct field v1.TypeMeta.kind of type string",
    ],
    ["f7", "cbor: data item of cbor type primitives is not accepted by protocol: simple value 23 is not recognized"],
  ];
  for (const [digits, message] of cases) assert.equal(refusal(digits), `unreadable: ${message}`, digits.slice(0, 60));
  assert.equal(refusal(`a1 6161 ${"81".repeat(63)} 00`), undefined, "64 levels are read");
  assert.deepEqual(readCbor(hex("f6"), any).value, null);
});

test("values are read by their type", () => {
  assert.equal(thingOf("y", "d6 43 616263"), "YWJj");
  assert.equal(thingOf("y", "44 59574a6a"), "YWJj", "untagged bytes are base64 themselves");
  assert.deepEqual(thingOf("y", "82 01 02"), [1, 2]);
  assert.match(String(thingOf("y", "4161")), /^cbor: failed to decode base64 from byte string: illegal base64 data at/);
  assert.equal(thingOf("p", "18 50"), 80);
  assert.equal(thingOf("p", "43 776562"), "web");
  assert.deepEqual(thingOf("i", "a3 616e 01 6162 f5 6166 02"), { n: 1, b: true, f: 2 });
  assert.deepEqual(thingOf("x", "a1 6161 82 f93e00 d6 4161"), { a: [1.5, "YQ=="] });
  const into = (field: string, type: string): string => `into Go struct field v1.Thing.${field} of type ${type}`;
  const cases: readonly (readonly [string, string, string])[] = [
    ["s", "01", `positive integer ${into("s", "string")}`],
    ["y", "6161", `UTF-8 text string ${into("y", "[]uint8")}`],
    ["t", "a0", `map ${into("t", "[]string")}`],
    ["t", "81 f5", `primitives ${into("t", "string")}`],
    ["m", "80", `array ${into("m", "map[string]string")}`],
    ["i", "80", `array ${into("i", "v1.Inner")} (cannot decode CBOR array to struct without toarray option)`],
    ["i", "4161", `byte string ${into("i", "v1.Inner")}`],
    ["i", "a1 616e 1b 0000010000000000", `positive integer ${into("i", "int32")} (1099511627776 overflows int32)`],
    ["i", "a1 616e 3b 0000010000000000", `negative integer ${into("i", "int32")} (-1099511627777 overflows int32)`],
    [
      "i",
      "a1 616c 1b 8000000000000000",
      `positive integer ${into("i", "int64")} (9223372036854775808 overflows int64)`,
    ],
    [
      "i",
      "a1 616e 3b ffffffffffffffff",
      `negative integer ${into("i", "int32")} (-18446744073709551616 overflows Go's int64)`,
    ],
    ["i", "a1 616c f93c00", `primitives ${into("i", "int64")}`],
    ["i", "a1 6162 01", `positive integer ${into("i", "bool")}`],
    ["i", "a1 6166 f5", `primitives ${into("i", "float64")}`],
    [
      "i",
      "a1 f6 01",
      `primitives ${into("i", "string")} (map key is of type primitives and cannot be used to match struct field name)`,
    ],
    [
      "i",
      "a1 d864 616e 01",
      `tag ${into("i", "string")} (map key is of type tag and cannot be used to match struct field name)`,
    ],
    ["p", "f93e00", `primitives ${into("p", "int32")}`],
    ["q", "01", `positive integer ${into("q", "string")}`],
    ["y", "82 01 190100", `positive integer ${into("y", "uint8")} (256 overflows uint8)`],
  ];
  for (const [field, digits, message] of cases) {
    assert.equal(thingOf(field, digits), `cbor: cannot unmarshal ${message}`, `${field} ${digits}`);
  }
  assert.equal(
    thingOf("x", "a1 01 01"),
    "failed to transcode RawExtension to JSON: failed to parse RawExtension bytes as CBOR: " +
      "cbor: cannot unmarshal positive integer into Go value of type string",
  );
});

test("undefined is nothing where Go has a pointer or reads a text by a method, and refused elsewhere", () => {
  const notKnown = /simple value 23 is not recognized$/;
  for (const field of ["s", "t", "m", "i", "p", "y"]) assert.match(String(thingOf(field, "f7")), notKnown, field);
  assert.match(String(thingOf("x", "f7")), /^failed to transcode RawExtension to JSON: .* is not recognized$/);
  assert.equal(thingOf("q", "f7"), null);
  assert.equal(thingOf("o", "f7"), null);
  assert.match(String(thingOf("o", "e5")), /simple value 5 is not recognized$/);
});

test("a body whose fields do not fit still tells its type", () => {
  const { value, refusal: error } = readCbor(hex("a3 646b696e64 6141 6a61706956657273696f6e 627631 6173 01"), thing);
  assert.deepEqual(plain(value), { kind: "A", apiVersion: "v1" });
  assert.match(error!.message, /of type string$/);
});

test("unknown fields are left out, and the outermost is told", () => {
  const unknown = (digits: string): string | undefined => readCbor(hex(digits), thing).unknown;
  const at = (index: number): string => `cbor: found unknown field at map element index ${index}`;
  assert.equal(unknown("a1 6173 6161"), undefined);
  assert.equal(unknown("a3 6173 6161 617a f7 617b 01"), at(1), "its value is not looked at");
  assert.equal(unknown("a2 6169 a2 616e 01 617a 01 617a 02"), at(1));
  assert.equal(unknown("a2 6169 a1 617a 01 6173 6161"), at(0));
  assert.equal(unknown("a1 01 01"), at(0));
  assert.deepEqual(plain(readCbor(hex("a2 617a 01 6173 6161"), thing).value), { s: "a" });
});

test("the time to read grows with the bytes, also of a text in many pieces", async () => {
  await growsInProportion(100_000, (length) => readCborObject(hex(`a1 6161 7f ${"6161".repeat(length)} ff`)));
});
