/** Heads by themselves: what is taken, and what two readers could read differently is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chunked, HeadReader, type RequestHead } from "./request-head.ts";

const badRequest = "400 Bad Request";
const badName = "400 Bad Request: invalid header name";
const noCoding = "501 Not Implemented";

/** A head of a request line and of lines of fields, with a host unless told otherwise. It is the same when it comes again. */
function parse(lines: readonly string[], line = "GET / HTTP/1.1", host = ["Host: a"]): RequestHead | string {
  const text = [line, ...host, ...lines].join("\r\n");
  const reader = new HeadReader(20);
  const head = reader.read(text);
  assert.deepEqual(reader.read(text), head);
  return head;
}

function accepted(lines: readonly string[], line?: string, host?: string[]): RequestHead {
  const head = parse(lines, line, host);
  assert.ok(typeof head === "object", JSON.stringify(lines));
  return head;
}

test("method, target and version come out of the request line as they were sent", () => {
  for (const [method, target, minor] of [
    ["GET", "/", 1],
    ["GET", "/api/v1/pods?watch=1&fieldSelector=a%3Db", 0],
    ["DELETE", "*", 1],
    ["M-SEARCH", "/\xc3\xa9", 1],
    ["get", "http://a/b", 1],
    ["POST", "HTTPS://a", 1],
  ] as const) {
    const head = accepted([], `${method} ${target} HTTP/1.${minor}`);
    assert.deepEqual([head.method, head.target, head.minor], [method, target, minor]);
  }
});

test("a request line of any other form is refused", () => {
  for (const line of [
    "",
    "GET",
    "GET /",
    "GET / ",
    " GET / HTTP/1.1",
    "GET  / HTTP/1.1",
    "GET /  HTTP/1.1",
    "GET / HTTP/1.1 ",
    "GET / HTTP/1.1\t",
    "GET\t/ HTTP/1.1",
    "GET /\ta HTTP/1.1",
    "GET /a b HTTP/1.1",
    "GET a HTTP/1.1",
    "CONNECT / HTTP/1.1",
    "CONNECT a:443 HTTP/1.1",
    "GET a:443 HTTP/1.1",
    "GET ftp://a/ HTTP/1.1",
    "GET http:/a HTTP/1.1",
    "GET http:///a HTTP/1.1",
    "GET http://a{b/ HTTP/1.1",
    "GET http://a#b HTTP/1.1",
    "GET / http/1.1",
    "GET / HTTP/1.10",
    "GET / XHTTP/1.1",
    "G(T / HTTP/1.1",
    "G\xc9T / HTTP/1.1",
    "GET:a / HTTP/1.1",
    "\nGET / HTTP/1.1",
  ]) {
    assert.equal(parse([], line), badRequest, JSON.stringify(line));
  }
  for (const version of ["0.9", "1.2", "2.0", "9.9"]) {
    const refusal = "505 HTTP Version Not Supported: unsupported protocol version";
    assert.equal(parse([], `GET / HTTP/${version}`), refusal);
  }
});

test("a field that is no name, colon and clean value is refused", () => {
  const clean = (line: string): boolean => !/[\0-\x08\n-\x1f\x7f]/.test(line);
  for (const line of [
    "",
    "a",
    ": a",
    "a : b",
    "a\t: b",
    " a: b",
    "\ta: b",
    "a b: c",
    "a\x00: b",
    "a: \x00",
    "a: \x01",
    "a: \x0b",
    "a: \x7f",
    "a\xe9: b",
    "a(b): c",
    "a: b\nc: d",
    "a: b\rc: d",
    "a: b\n",
    "\na: b",
    "\ra: b",
    "a: b\r",
    "a: \r",
    "a: b\r\r\nc: d",
  ]) {
    const refusal = clean(line) && line.includes(":") ? badName : badRequest;
    assert.equal(parse([line]), refusal, `${JSON.stringify(line)} at the end`);
    assert.equal(
      parse([line, "b: c"]),
      clean(line) && line !== "" && line !== "a" ? badName : badRequest,
      `${JSON.stringify(line)} in the middle`,
    );
  }
});

test("values lose the blanks around them and keep every other byte", () => {
  const { headers, rawHeaders } = accepted(["A:b", "B: \t c \td\t ", "C:", "D:  ", "E: \xe9: \x80"]);
  assert.deepEqual(headers, { host: "a", a: "b", b: "c \td", c: "", d: "", e: "\xe9: \x80" });
  assert.deepEqual(rawHeaders, ["Host", "a", "A", "b", "B", "c \td", "C", "", "D", "", "E", "\xe9: \x80"]);
});

test("values that repeat are joined, and the first counts where one only makes sense", () => {
  const { headers, rawHeaders } = accepted([
    "Accept: a",
    "accept: b",
    "ACCEPT: c",
    "Cookie: a=1",
    "cookie: b=2",
    "Authorization: Bearer one",
    "authorization: Bearer two",
    "User-Agent: x",
    "user-agent: y",
  ]);
  assert.equal(headers["accept"], "a, b, c");
  assert.equal(headers["cookie"], "a=1; b=2");
  assert.equal(headers["authorization"], "Bearer one");
  assert.equal(headers["user-agent"], "x");
  assert.equal(rawHeaders.length, 2 * 10);
  assert.deepEqual(rawHeaders.slice(12, 16), ["Authorization", "Bearer one", "authorization", "Bearer two"]);
});

test("names that every object has are names like others, and nothing reaches the prototype", () => {
  const { headers } = accepted(["constructor: a", "Constructor: b", "__proto__: c", "__PROTO__: d", "toString: e"]);
  assert.equal(headers["constructor"], "a, b");
  assert.equal(headers["tostring"], "e");
  assert.equal(Object.getPrototypeOf(headers), Object.prototype);
  assert.deepEqual(Object.keys(headers), ["host", "constructor", "tostring"]);
});

test("a name means the same whether it was seen before or not, in any case", () => {
  for (let i = 0; i < 600; i++) {
    for (const name of [`X-Name-${i}`, `x-NAME-${i}`, `x-name-${i}`]) {
      assert.equal(accepted([`${name}: v`]).headers[`x-name-${i}`], "v");
    }
  }
  assert.equal(parse(["X-Name-1 : v"]), badName);
});

test("HTTP/1.1 needs one host, HTTP/1.0 none", () => {
  assert.equal(parse([], "GET / HTTP/1.1", []), "400 Bad Request: missing required Host header");
  assert.equal(parse([], "GET / HTTP/1.1", ["Host: a", "Host: b"]), badRequest);
  assert.equal(parse([], "GET / HTTP/1.1", ["Host: a", "hOST: a"]), badRequest);
  assert.equal(parse([], "GET / HTTP/1.0", ["Host: a", "Host: b"]), badRequest);
  assert.equal(accepted([], "GET / HTTP/1.1", ["Host:"]).headers["host"], "");
  assert.equal(accepted([], "GET / HTTP/1.0", []).headers["host"], undefined);
});

test("the length of a body is said once and clearly", () => {
  const bodyLength = (...lines: string[]): number | string => {
    const head = parse(lines);
    return typeof head === "string" ? head : head.bodyLength;
  };
  for (const [lines, expected] of [
    [[], 0],
    [["Content-Length: 0"], 0],
    [["Content-Length: 7"], 7],
    [["content-length:\t007 "], 7],
    [["Content-Length: 999999999999999"], 999_999_999_999_999],
    [["Transfer-Encoding: chunked"], chunked],
    [["transfer-encoding: CHUNKED "], chunked],
    [["Content-Length: 7", "Content-Length: 7"], badRequest],
    [["Content-Length: 7", "Content-Length: 8"], badRequest],
    [["Content-Length: 7, 7"], badRequest],
    [["Content-Length:"], badRequest],
    [["Content-Length: +7"], badRequest],
    [["Content-Length: -7"], badRequest],
    [["Content-Length: 0x7"], badRequest],
    [["Content-Length: 7.0"], badRequest],
    [["Content-Length: 7 7"], badRequest],
    [["Content-Length: 7;a"], badRequest],
    [["Content-Length: 1e3"], badRequest],
    [["Content-Length: \xb2"], badRequest],
    [["Content-Length: 1000000000000000"], badRequest],
    [["Transfer-Encoding: chunked", "Content-Length: 7"], badRequest],
    [["Content-Length: 7", "Transfer-Encoding: chunked"], badRequest],
    [["Content-Length: 0", "Transfer-Encoding: chunked"], badRequest],
    [["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], badRequest],
    [["Transfer-Encoding: gzip", "Transfer-Encoding: chunked"], badRequest],
    [["Transfer-Encoding: gzip, chunked"], noCoding],
    [["Transfer-Encoding: chunked, chunked"], noCoding],
    [["Transfer-Encoding: chunked,"], noCoding],
    [["Transfer-Encoding: chunked;a=b"], noCoding],
    [["Transfer-Encoding: identity"], noCoding],
    [["Transfer-Encoding: xchunked"], noCoding],
    [["Transfer-Encoding: \x85chunked"], noCoding],
    [["Transfer-Encoding:"], noCoding],
  ] as const) {
    assert.equal(bodyLength(...lines), expected, lines.join(", "));
  }
  const old = ["Transfer-Encoding: chunked", "Connection: keep-alive"];
  assert.equal(parse(old, "POST / HTTP/1.0"), badRequest, "HTTP/1.0 knows no chunks");
});

test("the connection is kept as the version and the client's wish say", () => {
  for (const [minor, connection, expected] of [
    [1, undefined, true],
    [0, undefined, false],
    [1, "close", false],
    [1, "Close", false],
    [1, "upgrade", true],
    [1, "keep-alive, close", false],
    [1, "closed", true],
    [0, "keep-alive", true],
    [0, "Keep-Alive", true],
    [0, "x ,\tkeep-alive", true],
    [0, "close, keep-alive", false],
  ] as const) {
    const lines = connection === undefined ? [] : [`Connection: ${connection}`];
    assert.equal(accepted(lines, `GET / HTTP/1.${minor}`).keepAlive, expected, `1.${minor} ${connection}`);
  }
  assert.equal(accepted(["Connection: keep-alive", "Connection: close"]).keepAlive, false);
});

test("a client may wait for 100 where there is a body, and for nothing else", () => {
  const body = "Content-Length: 3";
  assert.equal(accepted([body]).expectsContinue, false);
  assert.equal(accepted([body, "Expect: 100-continue"]).expectsContinue, true);
  assert.equal(accepted([body, "expect: 100-Continue"]).expectsContinue, true);
  assert.equal(accepted(["Transfer-Encoding: chunked", "Expect: 100-continue"]).expectsContinue, true);
  assert.equal(accepted(["Expect: 100-continue"]).expectsContinue, false);
  assert.equal(accepted(["Content-Length: 0", "Expect: 100-continue"]).expectsContinue, false);
  assert.equal(accepted([body, "Expect: 100-continue"], "POST / HTTP/1.0").expectsContinue, false);
  assert.equal(accepted([body, "Expect: a"], "POST / HTTP/1.0").expectsContinue, false);
  for (const other of ["", "a", "100-continue, a", "101-continue"]) {
    assert.equal(parse([body, `Expect: ${other}`]), "417 Expectation Failed", other);
  }
});

test("more fields than allowed are refused, each one of a name that repeats counts", () => {
  const fields = (count: number): string[] => Array.from({ length: count }, () => "a: b");
  assert.equal(accepted(fields(19)).rawHeaders.length, 40);
  assert.equal(parse(fields(20)), "431 Request Header Fields Too Large");
});

test("what was kept of the head before changes nothing of what a head means", () => {
  const fields = "HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t";
  const reader = new HeadReader(20);
  for (const text of [
    `GET /a ${fields}`,
    `PUT http://a/b ${fields}`,
    `CONNECT /a ${fields}`,
    `GET a ${fields}`,
    `GET  ${fields}`,
    ` ${fields}`,
    fields,
    `GET /a b ${fields}`,
    `GET /a\tb ${fields}`,
    `GET /a\r\nX: ${fields}`,
    `GET /a\nX: ${fields}`,
    `GET /a HTTP/1.1\r\nX: ${fields}`,
    `G\0T /a ${fields}`,
    `GET /a\x7f ${fields}`,
    `GET /c ${fields}\r\nB: c`,
    `GET /c ${fields.replace("1.1", "1.0")}`,
    `GET /c ${fields.replace("1.1", "1.2")}`,
    `GET /c ${fields.slice(0, -1)}`,
    `GET /c ${fields}\r\nB: ${"c".repeat(4096)}`,
    `GET /d ${fields}`,
  ]) {
    assert.deepEqual(reader.read(text), new HeadReader(20).read(text), JSON.stringify(text.slice(0, 100)));
    assert.equal(typeof reader.read(`GET /a ${fields}`), "object");
  }
});

test("who forgets headers of one head leaves those of the next alone", () => {
  const reader = new HeadReader(20);
  for (let i = 0; i < 3; i++) {
    const head = reader.read("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: b");
    assert.ok(typeof head === "object");
    assert.equal(head.headers["authorization"], "b");
    head.headers["authorization"] = undefined;
  }
});
