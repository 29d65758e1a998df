/** Blocks of header fields that are read, right and wrong. The examples are those of RFC 7541, appendix C. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BlockReader, HeaderBlockError } from "./hpack-reader.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

const readerOf = (options: Partial<ConstructorParameters<typeof BlockReader>[0]> = {}): BlockReader =>
  new BlockReader({ tableBytesMax: 4096, listBytesMax: 16_384, fieldsMax: 100, ...options });

/** Reads blocks one after another, and compares their fields, written as `name: value`. */
function check(reader: BlockReader, blocks: readonly (readonly [hex: string, fields: readonly string[]])[]): void {
  for (const [hex, expected] of blocks) {
    const fields = reader.read(bytes(hex)) ?? [];
    const lines = fields.flatMap((text, at) => (at % 2 === 0 ? [`${text}: ${fields[at + 1]}`] : []));
    assert.deepEqual(lines, expected);
  }
}

test("literal fields and fields of the static table are read (C.2)", () => {
  check(readerOf(), [
    ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", ["custom-key: custom-header"]],
  ]);
  check(readerOf(), [["040c 2f73 616d 706c 652f 7061 7468", [":path: /sample/path"]]]);
  check(readerOf(), [["1008 7061 7373 776f 7264 0673 6563 7265 74", ["password: secret"]]]);
  check(readerOf(), [["82", [":method: GET"]]]);
  check(readerOf(), [["", []]]);
});

const requests = [
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"],
  [":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"],
] as const;

test("requests name fields of requests before them (C.3)", () => {
  check(readerOf(), [
    ["8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", requests[0]],
    ["8286 84be 5808 6e6f 2d63 6163 6865", requests[1]],
    ["8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", requests[2]],
  ]);
});

test("requests with coded texts are read (C.4)", () => {
  check(readerOf(), [
    ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", requests[0]],
    ["8286 84be 5886 a8eb 1064 9cbf", requests[1]],
    ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", requests[2]],
  ]);
});

const responses = [
  [
    ":status: 302",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:21 GMT",
    "location: https://www.example.com",
  ],
  [
    ":status: 307",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:21 GMT",
    "location: https://www.example.com",
  ],
  [
    ":status: 200",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:22 GMT",
    "location: https://www.example.com",
    "content-encoding: gzip",
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
  ],
] as const;
/** The table of 256 bytes that the responses of the examples use. */
const smallTable = "3f e1 01";

test("responses make the table drop its oldest fields (C.5)", () => {
  check(readerOf(), [
    [
      `${smallTable} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      responses[0],
    ],
    ["4803 3330 37c1 c0bf", responses[1]],
    [
      "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
      responses[2],
    ],
  ]);
});

test("responses with coded texts make the table drop its oldest fields (C.6)", () => {
  const reader = readerOf();
  check(reader, [
    [
      `${smallTable} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      responses[0],
    ],
    ["4883 640e ffc1 c0bf", responses[1]],
    [
      "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
      responses[2],
    ],
  ]);
  assert.throws(() => reader.read(bytes("c1")), HeaderBlockError, "three fields are left");
});

/** Writes a text as it is. */
const text = (value: string): string => {
  assert.ok(value.length < 0x7f);
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value, "latin1")]).toString("hex");
};

test("texts are bytes, whatever they mean", () => {
  check(readerOf(), [
    [`40 ${text("x")} ${text("\u0000\u00fc\u00ff")} be`, ["x: \u0000\u00fc\u00ff", "x: \u0000\u00fc\u00ff"]],
  ]);
});

test("long texts are read, coded and as they are", () => {
  // 10000 times "0", whose code is five zeros.
  const coded = `00 ${text("x")} ff eb 2f ${"00".repeat(6250)}`;
  const plain = `00 ${text("x")} 7f 91 4d ${"30".repeat(10_000)}`;
  for (const block of [coded, plain, coded]) check(readerOf(), [[block, [`x: ${"0".repeat(10_000)}`]]]);
});

test("a field that is larger than the table empties it", () => {
  const reader = readerOf({ tableBytesMax: 64 });
  check(reader, [
    [`3f 21 40 ${text("a")} ${text("1")} be`, ["a: 1", "a: 1"]],
    [`40 ${text("b")} ${text("2".repeat(40))}`, [`b: ${"2".repeat(40)}`]],
  ]);
  assert.throws(() => reader.read(bytes("be")), HeaderBlockError);
});

test("a field may have the name of the field that it makes the table drop", () => {
  check(readerOf(), [
    [`3f 04 40 ${text("a")} ${text("1")}`, ["a: 1"]],
    [`7e ${text("2")} be`, ["a: 2", "a: 2"]],
  ]);
});

test("a table holds as many fields as it has bytes for, also when they come round", () => {
  const reader = readerOf();
  for (let at = 0; at < 300; at++) check(reader, [[`40 ${text("")} ${text("")}`, [": "]]]);
  check(reader, [[`40 ${text("a")} ${text("b")}`, ["a: b"]]]);
  // 126 fields of 32 bytes and one of 34 are there.
  check(reader, [["ff 3d", [": "]]]);
  assert.throws(() => reader.read(bytes("ff 3e")), HeaderBlockError);
});

test("changes of the size of the table apply at the beginning of a block", () => {
  const reader = readerOf();
  check(reader, [
    [`40 ${text("a")} ${text("1")} 40 ${text("b")} ${text("2")}`, ["a: 1", "b: 2"]],
    ["3f 05 be", ["b: 2"]],
    ["20 3f e1 1f", []],
    [`40 ${text("c")} ${text("3")} 40 ${text("d")} ${text("4")} bf`, ["c: 3", "d: 4", "c: 3"]],
  ]);
  assert.throws(() => reader.read(bytes("c0")), HeaderBlockError);
});

test("a table that is announced to be larger is used when the writer says so", () => {
  const reader = readerOf({ tableBytesMax: 65_536 });
  const fields = (count: number): string => `40 ${text("a")} ${text("1".repeat(95))}`.repeat(count);
  reader.read(bytes(fields(600)));
  assert.throws(() => reader.read(bytes("de")), HeaderBlockError, "32 fields of 128 bytes are there");
  reader.read(bytes(`3f e1 ff 03 ${fields(600)}`));
  check(reader, [["ff be 03", [`a: ${"1".repeat(95)}`]]]);
  assert.throws(() => reader.read(bytes("ff bf 03")), HeaderBlockError, "512 fields are there");
});

test("fields beyond the limits are not returned, and the table is right after them", () => {
  const block = `40 ${text("a")} ${text("1")} 00 ${text("b")} ${text("2")} 40 ${text("c")} ${text("3")}`;
  for (const limits of [{ fieldsMax: 2 }, { listBytesMax: 101 }]) {
    const reader = readerOf(limits);
    assert.equal(reader.read(bytes(block)), undefined);
    check(reader, [["be bf", ["c: 3", "a: 1"]]]);
  }
  for (const limits of [{ fieldsMax: 3 }, { listBytesMax: 102 }])
    assert.equal(readerOf(limits).read(bytes(block))?.length, 6);
});

test("a long field that is named very often is not returned", () => {
  const reader = readerOf({ fieldsMax: 1_000_000 });
  reader.read(bytes(`00 ${text("x")} ${text("y")} 40 ${text("a")} 7f 81 1e ${"31".repeat(3968)}`));
  assert.equal(reader.read(Buffer.alloc(100_000, 0xbe)), undefined);
  assert.equal(reader.read(Buffer.alloc(3, 0xbe))?.length, 6);
});

const wrong: Readonly<Record<string, string>> = {
  "index 0": "80",
  "an index beyond the table": "be",
  "an index beyond the fields that are kept": `40 ${text("a")} ${text("1")} bf`,
  "a name beyond the table": "7e01 61",
  "a name of an unkept field beyond the table": "0f2f 01 61",
  "a table that is larger than announced": "3f e2 1f",
  "a table that changes after a field": "88 20",
  "a table that changes three times": "20 20 20",
  "a number that is too long": "ff ff ff ff ff ff ff ff",
  "a number that is too long because of zeros": "ff 80 80 80 80 00",
  "a number that is cut off": "ff ff",
  "a change of the table that is cut off": "3f",
  "a text that is cut off": "00 05 61",
  "a length that is cut off": "00 7f",
  "a length beyond everything": "00 7f ff ff ff 7f",
  "a name without a value": "00 01 61",
  "a name of the table without a value": "41",
  "a literal without a name": "40",
  "a coded text that is filled with zeros": "04 81 18",
  "a coded text that is filled with a whole byte": "04 82 1f ff",
  "a coded text that is only filling of a byte": "04 81 ff",
  "a coded text that ends in a code": "04 82 ff fe",
  "a coded text with the end of a text": "04 84 ff ff ff ff",
  "a coded text with the end of a text in its middle": "04 85 ff ff ff fc 07",
};
for (const [what, hex] of Object.entries(wrong)) {
  test(`a block with ${what} is refused`, () => {
    assert.throws(() => readerOf().read(bytes(hex)), HeaderBlockError);
  });
}

test("a coded text may be empty", () => {
  check(readerOf(), [["04 80", [":path: "]]]);
});
