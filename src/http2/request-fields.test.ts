/** The header fields that make a request, and the values that are found in them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { areTrailers, headersOf } from "./request-fields.ts";

const get = [":method", "GET", ":scheme", "https", ":authority", "shop:6443", ":path", "/api"];

/** The fields of a request with others in place of some, or at the end. */
const withFields = (...changes: readonly string[]): string[] => {
  const fields = [...get];
  for (let at = 0; at < changes.length; at += 2) {
    const before = fields.indexOf(changes[at]!);
    if (before < 0) fields.push(changes[at]!, changes[at + 1]!);
    else fields[before + 1] = changes[at + 1]!;
  }
  return fields;
};
const withoutFields = (...names: readonly string[]): string[] =>
  get.filter((_, at) => !names.includes(get[at - (at % 2)]!));

function checkRefused(...requests: readonly (readonly string[])[]): void {
  for (const fields of requests) assert.equal(headersOf(fields), undefined, JSON.stringify(fields));
}

function checkTaken(...requests: readonly (readonly string[])[]): void {
  for (const fields of requests) assert.notEqual(headersOf(fields), undefined, JSON.stringify(fields));
}

test("values are found by name", () => {
  assert.deepEqual(
    {
      ...headersOf([
        ...get,
        "accept",
        "a",
        "x-y",
        "1",
        "accept",
        "b",
        "cookie",
        "c=1",
        "cookie",
        "d=2",
        "__proto__",
        "z",
      ]),
    },
    {
      ":method": "GET",
      ":scheme": "https",
      ":authority": "shop:6443",
      ":path": "/api",
      accept: "a, b",
      "x-y": "1",
      cookie: "c=1; d=2",
      ["__proto__"]: "z",
    },
  );
});

test("of fields that have one value the first counts", () => {
  const headers = headersOf([...get, "authorization", "Bearer a", "authorization", "Bearer b"]);
  assert.equal(headers?.["authorization"], "Bearer a");
});

test("a request has a method, a scheme and a path, each once and before other fields", () => {
  checkRefused([], withoutFields(":method"), withoutFields(":scheme"), withoutFields(":path"));
  for (const name of [":method", ":scheme", ":authority", ":path"]) {
    const value = get[get.indexOf(name) + 1]!;
    checkRefused([...get, name, value], [...withoutFields(name), "accept", "a", name, value]);
  }
  checkRefused([...get, ":status", "200"], [...get, ":protocol", "websocket"], [...get, ":", "x"]);
  checkTaken(get, withoutFields(":authority"));
});

test("methods, schemes, hosts and paths have only characters that cannot end them in HTTP/1", () => {
  for (const method of ["", "GET /x", "G:", "GÉT"]) checkRefused(withFields(":method", method));
  for (const scheme of ["", "https://x/", "1"]) checkRefused(withFields(":scheme", scheme));
  for (const path of ["", "api", "*", "http://x/", "/a b", "/a\tb", "/a\r\nx: y", "/a\0", "/a HTTP/1.1", "/a\x7f"])
    checkRefused(withFields(":path", path));
  for (const host of ["a b", "a/b", "a\\b", "a?b", "a#b", "a\tb", "é"])
    checkRefused(withFields(":authority", host), [...withoutFields(":authority"), "host", host]);
  checkTaken(withFields(":path", "/a?b=%20&c=\xe9#"), withFields(":authority", "[::1]:6443"));
  checkTaken(withFields(":authority", ""), withFields(":method", "OPTIONS", ":path", "*"));
});

test("a tunnel has a host, and neither a scheme nor a path", () => {
  const connect = [":method", "CONNECT", ":authority", "shop:443"];
  checkTaken(connect);
  checkRefused(connect.slice(0, 2), [...connect, ":path", "/"], [...connect, ":scheme", "https"]);
});

test("names are tokens in lower case", () => {
  for (const name of ["", "Accept", "a b", "a:", "a\r", "a\0", "é", "a(", "a\x7f"]) {
    checkRefused([...get, name, "x"]);
    assert.ok(!areTrailers([name, "x"]));
  }
  checkTaken([...get, "a!#$%&'*+-.^_`|~09z", "x"]);
});

test("values have no control characters, and no space around them", () => {
  for (const value of ["a\r", "a\nb", "\0", "a\x01", "a\x7f", " a", "a ", "\ta", "a\t"]) {
    checkRefused([...get, "x", value], [...get, "x", "a", "x", value]);
    assert.ok(!areTrailers(["x", value]));
  }
  checkTaken([...get, "x", ""], [...get, "x", "a b\tc \xe9\xff"]);
});

test("fields of a connection are no part of a request", () => {
  for (const name of ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]) {
    checkRefused([...get, name, "chunked"]);
    assert.ok(!areTrailers([name, "x"]));
  }
  checkRefused([...get, "te", "gzip"], [...get, "te", "trailers", "te", "gzip"]);
  checkTaken([...get, "te", "trailers"], [...get, "te", "Trailers"]);
});

test("the length of a body is one number", () => {
  for (const length of ["", "-1", "+1", "1.5", "0x1", "1, 1", "1".repeat(16)])
    checkRefused([...get, "content-length", length]);
  checkRefused([...get, "content-length", "1", "content-length", "1"]);
  checkTaken([...get, "content-length", "0"], [...get, "content-length", "007"]);
});

test("the host is the authority, if a request has both", () => {
  assert.equal(headersOf([...get, "host", "other"])?.["host"], "shop:6443");
  assert.equal(headersOf([...withFields(":authority", ""), "host", "other"])?.["host"], "other");
  assert.equal(headersOf([...withoutFields(":authority"), "host", "other"])?.["host"], "other");
  assert.equal(headersOf(get)?.["host"], undefined);
});

test("trailers have no pseudo-header fields", () => {
  assert.ok(areTrailers([]));
  assert.ok(areTrailers(["grpc-status", "0", "x", ""]));
  assert.ok(!areTrailers([":path", "/"]));
});
