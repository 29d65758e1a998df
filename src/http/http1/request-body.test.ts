/** Bodies by themselves: both forms, cut anywhere, with what is wrong in them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Input } from "./input.ts";
import { RequestBody } from "./request-body.ts";
import { chunked } from "./request-head.ts";

interface Read {
  readonly body: string;
  readonly ended: boolean;
  readonly refusal: string | undefined;
  /** What was not taken. */
  readonly left: string;
}

/** Gives a body its bytes piece by piece, as a connection does. */
function read(length: number, pieces: readonly string[]): Read {
  const input = new Input();
  const body = new RequestBody(input, length, () => {});
  let taken = "";
  let ends = 0;
  body.read({
    take(piece) {
      assert.equal(ends, 0, "bytes after the end");
      taken += piece.toString("latin1");
    },
    end: () => void ends++,
    lost: () => assert.fail("it was not lost"),
  });
  let refusal: string | undefined;
  for (const piece of pieces) {
    input.append(Buffer.from(piece, "latin1"));
    if (refusal === undefined && !body.complete) refusal = body.advance();
  }
  assert.equal(body.complete, ends === 1);
  assert.ok(ends <= 1);
  return { body: taken, ended: ends === 1, refusal, left: input.text(input.length) };
}

/** The same whole, byte by byte, and in pieces of three. */
function readCut(length: number, text: string): Read {
  const whole = read(length, [text]);
  for (const size of [1, 3]) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    assert.deepEqual(read(length, pieces), whole, `${JSON.stringify(text)} in pieces of ${size}`);
  }
  return whole;
}

test("a body of known length ends there, and what follows is left alone", () => {
  const fine = { ended: true, refusal: undefined };
  assert.deepEqual(readCut(5, "abcdeGET"), { ...fine, body: "abcde", left: "GET" });
  assert.deepEqual(readCut(1, "\r\n"), { ...fine, body: "\r", left: "\n" });
  assert.deepEqual(readCut(5, "abcd"), { body: "abcd", ended: false, refusal: undefined, left: "" });
});

test("chunks are put together, extensions and trailers are passed over, and what follows is left alone", () => {
  for (const [text, body] of [
    ["0\r\n\r\n", ""],
    ["3\r\nabc\r\n0\r\n\r\n", "abc"],
    ["3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"],
    ["2\r\n\r\n\r\n0\r\n\r\n", "\r\n"],
    ["A\r\n0123456789\r\na\r\n0123456789\r\n00\r\n\r\n", "01234567890123456789"],
    ['1;a\r\nx\r\n1;a=b;c="d\xe9"\r\ny\r\n1;a=" \\"; ";b\r\nz\r\n0;end\r\n\r\n', "xyz"],
    ["0000000000001\r\nx\r\n0\r\n\r\n", "x"],
    ["1\r\nx\r\n0\r\nA: b\r\nC:\td\xe9\r\n\r\n", "x"],
  ] as const) {
    assert.deepEqual(readCut(chunked, `${text}GET`), { body, ended: true, refusal: undefined, left: "GET" }, text);
  }
  assert.deepEqual(read(chunked, ["5\r\nab"]), { body: "ab", ended: false, refusal: undefined, left: "" });
});

test("what is no chunk is refused", () => {
  for (const text of [
    "\r\n",
    "\n",
    " 1\r\nx\r\n",
    "1 \r\nx\r\n",
    "1\t\r\nx\r\n",
    "1 a\r\nx\r\n",
    "-1\r\nx\r\n",
    "+1\r\nx\r\n",
    "0x1\r\nx\r\n",
    "1_0\r\nx\r\n",
    "g\r\nx\r\n",
    "1\nx\r\n",
    "1\rx\r\n",
    "1\r\r\nx\r\n",
    "1;a\nx\r\n",
    "1;a\rb\r\nx\r\n",
    "1;a\0\r\nx\r\n",
    "00000000000001\r\nx\r\n",
    "ffffffffffffff\r\nx\r\n",
    ";a\r\n",
    "1 ;a\r\nx\r\n",
    "1; a\r\nx\r\n",
    "1;\r\nx\r\n",
    "1;a;\r\nx\r\n",
    "1;a=\r\nx\r\n",
    "1;=a\r\nx\r\n",
    "1;a b\r\nx\r\n",
    "1;\xe9\r\nx\r\n",
    '1;a="b\r\nx\r\n',
    '1;a="\\"\r\nx\r\n',
    '1;a="b"c\r\nx\r\n',
    "1\r\nxy\r\n",
    "1\r\nx\n",
    "1\r\nx\n\r\n",
    "1\r\nx0\r\n\r\n",
    "1\r\nx\r\n\r\n",
    "0\r\n\n",
    "0\r\nA\r\n\r\n",
    "0\r\nA : b\r\n\r\n",
    "0\r\nA: b\n\r\n",
    "0\r\nA: \0\r\n\r\n",
    "0\r\n A: b\r\n\r\n",
    "0\r\nA: b\r\n c\r\n\r\n",
    "0\r\n: b\r\n\r\n",
    "0\r\nGET / HTTP/1.1\r\n\r\n",
    "0\r\nContent-Length: 5\r\n\r\n",
    "0\r\nConnection: close\r\n\r\n",
    "0\r\nA: b\r\ntransfer-encoding: chunked\r\n\r\n",
  ]) {
    const { ended, refusal } = read(chunked, [text]);
    assert.deepEqual([ended, refusal], [false, "400 Bad Request"], JSON.stringify(text));
    assert.equal(read(chunked, [...text]).refusal, "400 Bad Request", `${JSON.stringify(text)} byte by byte`);
  }
});

test("lines of chunks and trailers have their bounds, whether their end has come or not", () => {
  const line = 4 * 1024;
  const trailer = 64 * 1024;
  const fine = `1;${"a".repeat(line - 3)}\r\nx\r\n0\r\n\r\n`;
  assert.deepEqual(read(chunked, [fine]), { body: "x", ended: true, refusal: undefined, left: "" });
  for (const text of [
    `1;${"a".repeat(line)}\r\nx\r\n`,
    `1;${"a".repeat(line)}`,
    `1\r\nx\r\n${"0".repeat(line + 1)}`,
    `1\r\nx${"y".repeat(line + 1)}`,
    `0\r\nA: ${"b".repeat(trailer)}\r\n\r\n`,
    `0\r\nA: ${"b".repeat(trailer)}`,
    `0\r\n${`A: ${"b".repeat(1000)}\r\n`.repeat(66)}`,
    `0\r\n${"A:\r\n".repeat(trailer / 4 + 1)}`,
  ]) {
    assert.equal(read(chunked, [text]).refusal, "413 Content Too Large", `${text.slice(0, 20)} of ${text.length}`);
  }
  const trailers = `0\r\n${`A: ${"b".repeat(1000)}\r\n`.repeat(60)}\r\n`;
  assert.equal(read(chunked, [trailers]).ended, true);
});

test("nothing is taken until somebody reads, nor after he stopped", () => {
  for (const [length, text] of [
    [4, "abcd"],
    [chunked, "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"],
  ] as const) {
    const input = new Input();
    let asked = 0;
    const body = new RequestBody(input, length, () => void asked++);
    input.append(Buffer.from(text));
    body.advance();
    assert.deepEqual([input.length, body.isTaking, asked], [text.length, false, 0]);
    let taken = "";
    body.read({
      take(piece) {
        taken += piece.toString();
        body.stop();
      },
      end: () => assert.fail("it was stopped"),
      lost: () => assert.fail("it was not lost"),
    });
    assert.equal(asked, 1, "the connection is asked to go on");
    body.advance();
    body.advance();
    assert.equal(taken, length === chunked ? "ab" : "abcd");
    if (length === chunked) assert.equal(input.length, text.length - "2\r\nab".length);
  }
});

test("a body that is thrown away ends like one that is read, or is too much", () => {
  for (const [length, text, bytesMax, complete, isTooMuch] of [
    [4, "abcd", 4, true, false],
    [4, "abcd", 3, true, true],
    [9, "abcd", 4, false, false],
    [9, "abcd", 3, false, true],
    [chunked, "4\r\nabcd\r\n0\r\n\r\n", 4, true, false],
    [chunked, "4\r\nabcd\r\n4\r\nabcd\r\n", 7, false, true],
  ] as const) {
    const input = new Input();
    const body = new RequestBody(input, length, () => {});
    input.append(Buffer.from(text));
    body.discard(bytesMax);
    assert.equal(body.advance(), undefined);
    assert.deepEqual([body.complete, body.isTooMuch], [complete, isTooMuch], `${text} of ${bytesMax}`);
  }
});

test("pieces handed over stay as they are when more comes", () => {
  const input = new Input();
  const body = new RequestBody(input, 400, () => {});
  const pieces: Buffer[] = [];
  body.read({ take: (piece) => void pieces.push(piece), end() {}, lost() {} });
  const sent: string[] = [];
  for (let i = 0; i < 100; i++) {
    const text = String(1000 + i);
    sent.push(text);
    input.append(Buffer.from(text.slice(0, 1)));
    input.append(Buffer.from(text.slice(1)));
    body.advance();
  }
  assert.equal(Buffer.concat(pieces).toString(), sent.join(""));
  assert.ok(body.complete);
});
