/** Random request targets: no crash, no name that leaves its path segment, and names come out as they went in. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "#meta/status-error.ts";
import { type Random, seededRandom } from "#std/random.ts";
import type { RequestInfo } from "./api-request.ts";
import { checkNames, parseQuery, parseRequestInfo, splitTarget } from "./request-info.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 20_000);

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", "__proto__", ""];
const segments = [
  "api",
  "apis",
  "v1",
  "apps",
  "namespaces",
  "configmaps",
  "pods",
  "status",
  "finalize",
  "watch",
  "proxy",
  "log",
  "one",
  "",
  ".",
  "..",
  "%2e",
  "%2e%2e",
  "%2f",
  "a%2fb",
  "%25",
  "%252e",
  "%00",
  "%ff",
  "%zz",
  "%",
  "a b",
  "\u00c3\u00a9",
  "constructor",
  "__proto__",
  ";a=b",
  "*",
  "\\",
  "..%2f..",
  "%5c..%5c",
  "...",
  " ",
];
const parameters = [
  "watch=1",
  "watch=",
  "watch",
  "watch=false",
  "fieldSelector=metadata.name%3Da",
  "fieldSelector=metadata.name=..",
  "fieldSelector=metadata.name%3Da%2Fb",
  "fieldSelector=\\",
  "fieldSelector=%5C,%5C=,=",
  "limit=abc",
  "limit=1",
  "timeoutSeconds=",
  "a=%zz",
  "b;c",
  "&&",
  "__proto__=1",
  "fieldSelector=metadata.name%3D%25",
];

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random.next() * list.length)]!;
}

function makeTarget(random: Random): string {
  const count = Math.floor(random.next() * 9);
  const path = Array.from({ length: count }, () =>
    random.next() < 0.1 ? random.bytes(4).toString("latin1") : pick(random, segments),
  );
  if (random.next() < 0.6) path.unshift(...(random.next() < 0.5 ? ["api", "v1"] : ["apis", "apps", "v1"]));
  const query = Array.from({ length: Math.floor(random.next() * 4) }, () => pick(random, parameters)).join("&");
  return `${random.next() < 0.05 ? "https://host" : ""}/${path.join("/")}${query === "" ? "" : `?${query}`}`;
}

function parse(method: string, url: string): RequestInfo | undefined {
  const target = splitTarget(url);
  if (target === undefined) return undefined;
  return parseRequestInfo({ method, url, path: target.path, query: parseQuery(target.query) });
}

test(`no target crashes, and nothing odd gets past the check of names, seed ${seed}`, (context) => {
  context.diagnostic(`seed ${seed}, ${runs} runs`);
  const random = seededRandom(seed);
  let passed = 0;
  for (let run = 0; run < runs; run++) {
    const method = pick(random, methods);
    const url = makeTarget(random);
    const info = parse(method, url);
    if (info === undefined || !info.isResourceRequest) continue;
    assert.notEqual(info.parts.length, 0, url);
    try {
      checkNames(info);
    } catch (error) {
      assert.ok(error instanceof StatusError, `${url}: ${String(error)}`);
      continue;
    }
    passed++;
    for (const text of [info.name, info.namespace, info.resource, info.subresource, info.group, info.version]) {
      assert.ok(!text.includes("/") && text !== "." && text !== "..", `${url} gives ${JSON.stringify(info)}`);
    }
    assert.ok(!info.name.includes("%") && !info.namespace.includes("%"), url);
  }
  assert.ok(passed > runs / 20, "hardly any target passed: the generator is of no use");
});

test(`what is escaped into a path comes out of it, seed ${seed}`, () => {
  const random = seededRandom(seed);
  for (let run = 0; run < runs; run++) {
    const word = (): string =>
      `x${Array.from({ length: 1 + Math.floor(random.next() * 4) }, () =>
        String.fromCodePoint(0x21 + Math.floor(random.next() * (random.next() < 0.9 ? 0x5e : 0x3000))),
      )
        .join("")
        .replace(/[/%\u00a0]/g, "y")}`;
    const [group, version, namespace, resource, name, subresource] = [word(), word(), word(), word(), word(), word()];
    const path = [group, version, "namespaces", namespace, resource, name, subresource]
      .map(encodeURIComponent)
      .join("/");
    const info = parse("PUT", `/apis/${path}?${encodeURIComponent(word())}=${encodeURIComponent(word())}`);
    assert.ok(info !== undefined);
    const { verb, parts } = info;
    assert.deepEqual(
      { verb, group: info.group, version: info.version, namespace: info.namespace, parts },
      { verb: "update", group, version, namespace, parts: [resource, name, subresource] },
    );
    checkNames(info);
  }
});
