/** Blocks of header fields, right and wrong. The examples are those of RFC 7541, appendix C. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFields, FieldsReader } from "./kept-fields.ts";

const read = (hex: string): Record<string, string> =>
  Object.fromEntries(new FieldsReader().read(Buffer.from(hex.replaceAll(" ", ""), "hex")));

test("fields of the table, literal ones and coded texts are read", () => {
  assert.deepEqual(read("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572"), {
    "custom-key": "custom-header",
  });
  assert.deepEqual(read("040c 2f73 616d 706c 652f 7061 7468"), { ":path": "/sample/path" });
  assert.deepEqual(read("1008 7061 7373 776f 7264 0673 6563 7265 74"), { password: "secret" });
  assert.deepEqual(read("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"), {
    ":method": "GET",
    ":scheme": "http",
    ":path": "/",
    ":authority": "www.example.com",
  });
  const response =
    "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3";
  assert.deepEqual(read(response), {
    ":status": "302",
    "cache-control": "private",
    date: "Mon, 21 Oct 2013 20:13:21 GMT",
    location: "https://www.example.com",
  });
  assert.deepEqual(read("20 88"), { ":status": "200" }, "a table of no bytes is allowed");
});

test("what is written is read", () => {
  const fields = [
    [":path", "/a"],
    ["short", "x".repeat(126)],
    ["limit", "x".repeat(127)],
    ["long", "x".repeat(10_000)],
  ] as const;
  const block = encodeFields(fields);
  const reader = new FieldsReader();
  for (let time = 0; time < 2; time++) assert.deepEqual([...reader.read(block)], fields);
});

test("blocks that come again are read as before, also after many others", () => {
  const reader = new FieldsReader();
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 100; at++) {
      assert.equal(reader.read(encodeFields([["grpc-message", `${at}`]])).get("grpc-message"), `${at}`);
    }
  }
});

const wrong: Readonly<Record<string, string>> = {
  "index 0": "80",
  "an index beyond the table": "be",
  "a name beyond the table": "7e01 61",
  "a table that is not allowed": "3f e1 1f",
  "a number that is too long": "ff ff ff ff ff ff ff ff",
  "a number that is cut off": "ff ff",
  "a text that is cut off": "00 05 61",
  "a name without a value": "00 01 61",
  "a text that is filled with zeros": "04 81 18",
  "a text that is filled with a whole byte": "04 82 1f ff",
  "the end of a text in its middle": "04 84 ff ff ff ff",
};
for (const [what, hex] of Object.entries(wrong)) {
  test(`a block with ${what} is refused`, () => {
    assert.throws(() => read(hex), /headers/);
  });
}
