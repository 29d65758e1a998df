/** Parsing of paths. Unusual answers were recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "#meta/status-error.ts";
import type { RequestInfo } from "./api-request.ts";
import { checkNames, isLongRunning, parseQuery, parseRequestInfo, printedTarget, splitTarget } from "./request-info.ts";

function info(method: string, url: string): RequestInfo {
  const target = splitTarget(url);
  assert.ok(target !== undefined, `${url} is malformed`);
  return parseRequestInfo({ method, url, path: target.path, query: parseQuery(target.query) });
}

/** Prints `verb group/version resource/subresource ns=… name=…`, without empty parts. */
function brief(method: string, url: string): string {
  const of = info(method, url);
  if (!of.isResourceRequest) return `${of.verb} path ${of.path}`;
  return [
    of.verb,
    of.group === "" ? of.version : `${of.group}/${of.version}`,
    of.subresource === "" ? of.resource : `${of.resource}/${of.subresource}`,
    of.namespace === "" ? "" : `ns=${of.namespace}`,
    of.name === "" ? "" : `name=${of.name}`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function check(request: string, expected: string): void {
  const [method = "", url = ""] = request.split(" ");
  assert.equal(brief(method, url), expected, request);
}

test("methods on single objects and collections map to verbs [AUTHZ-15] [AUTHZ-16] [AUTHZ-17] [AUTHZ-19] [AUTHZ-20] [AUTHZ-21] [AUTHZ-22] [EP-10] [EP-11]", () => {
  check("GET /api/v1/namespaces/x/configmaps", "list v1 configmaps ns=x");
  check("HEAD /api/v1/namespaces/x/configmaps", "list v1 configmaps ns=x");
  check("GET /api/v1/namespaces/x/configmaps/c", "get v1 configmaps ns=x name=c");
  check("HEAD /api/v1/namespaces/x/configmaps/c", "get v1 configmaps ns=x name=c");
  check("POST /api/v1/namespaces/x/configmaps", "create v1 configmaps ns=x");
  check("PUT /api/v1/namespaces/x/configmaps/c", "update v1 configmaps ns=x name=c");
  check("PATCH /api/v1/namespaces/x/configmaps/c", "patch v1 configmaps ns=x name=c");
  check("DELETE /api/v1/namespaces/x/configmaps/c", "delete v1 configmaps ns=x name=c");
  check("DELETE /api/v1/namespaces/x/configmaps", "deletecollection v1 configmaps ns=x");
  check("TRACE /api/v1/configmaps", "v1 configmaps");
});

test("named groups, all namespaces, cluster scope and subresources [AUTHZ-12] [AUTHZ-13] [EP-01] [EP-02] [EP-03] [EP-04] [EP-05] [EP-06]", () => {
  check("GET /apis/apps/v1/deployments", "list apps/v1 deployments");
  check("GET /apis/apps/v1/namespaces/x/deployments/d/scale", "get apps/v1 deployments/scale ns=x name=d");
  check(
    "PUT /api/v1/namespaces/x/persistentvolumeclaims/c/status",
    "update v1 persistentvolumeclaims/status ns=x name=c",
  );
  check("DELETE /api/v1/nodes/n", "delete v1 nodes name=n");
  check("GET /apis/v1/configmaps", "get path /apis/v1/configmaps");
  check("GET /api/v1/namespaces/x/configmaps/one/a/b/c", "get v1 configmaps/a ns=x name=one");
});

test("a namespace is itself a resource, with two subresources of its own [EP-08] [EP-09]", () => {
  check("GET /api/v1/namespaces", "list v1 namespaces");
  check("GET /api/v1/namespaces/", "list v1 namespaces");
  check("GET /api/v1/namespaces/x", "get v1 namespaces ns=x name=x");
  check("PUT /api/v1/namespaces/x/finalize", "update v1 namespaces/finalize ns=x name=x");
  check("GET /api/v1/namespaces/x/status", "get v1 namespaces/status ns=x name=x");
  check("GET /api/v1/namespaces/x/status/a", "get v1 namespaces/status ns=x name=x");
  check("GET /api/v1/namespaces/x/namespaces", "list v1 namespaces ns=x");
});

test("a watch is a list with the parameter, whatever its value but false and 0 [AUTHZ-18] [EP-12] [QP-13]", () => {
  check("GET /api/v1/configmaps?watch=true", "watch v1 configmaps");
  check("GET /api/v1/configmaps?watch=1", "watch v1 configmaps");
  check("GET /api/v1/configmaps?watch=", "watch v1 configmaps");
  check("GET /api/v1/configmaps?watch", "watch v1 configmaps");
  check("GET /api/v1/configmaps?watch=no", "watch v1 configmaps");
  check("GET /api/v1/configmaps?watch=FALSE", "list v1 configmaps");
  check("GET /api/v1/configmaps?watch=0", "list v1 configmaps");
  check("GET /api/v1/namespaces/x/configmaps/c?watch=1", "get v1 configmaps ns=x name=c");
  check("GET /api/v1/watch/configmaps", "watch v1 configmaps");
  check("GET /api/v1/watch/namespaces/x/configmaps/c", "watch v1 configmaps ns=x name=c");
  check("GET /api/v1/watch", "get path /api/v1/watch");
  check("GET /api/v1/proxy/a", "proxy v1 a");
});

test("a field selector on one name gives lists and watches that name [AUTHZ-14]", () => {
  const list = "GET /api/v1/configmaps?fieldSelector=";
  check(`${list}metadata.name%3Dq`, "list v1 configmaps name=q");
  check(`${list}metadata.name==q`, "list v1 configmaps name=q");
  check(`${list}metadata.name=q,metadata.namespace=x&watch=1`, "watch v1 configmaps name=q");
  check(`${list}metadata.name=a,metadata.name=b`, "list v1 configmaps name=a");
  check(`${list}metadata.name=a%5C,b`, "list v1 configmaps name=a,b");
  check(`${list}metadata.name!=q`, "list v1 configmaps");
  check(`${list}metadata.name=q,bad`, "list v1 configmaps");
  check(`${list}metadata.name=..`, "list v1 configmaps");
  check(`${list}metadata.name=a%252fb`, "list v1 configmaps");
  check(`${list}metadata.name=`, "list v1 configmaps");
  check(`${list}metadata.name=q&limit=abc`, "list v1 configmaps");
  check(`${list}metadata.name=q&timeoutSeconds=x&watch=1`, "watch v1 configmaps");
});

test("other paths are known by path and method [AUTHZ-10] [AUTHZ-11] [AUTHZ-23] [AUTHZ-24]", () => {
  check("GET /livez", "get path /livez");
  check("POST /apis", "post path /apis");
  check("GET /api", "get path /api");
  check("GET /api/v1", "get path /api/v1");
  check("GET /api/v1/", "get path /api/v1/");
  check("GET /apis/apps", "get path /apis/apps");
  check("GET /apis/apps/v1/", "get path /apis/apps/v1/");
  check("GET /API/v1/configmaps", "get path /API/v1/configmaps");
  check("GET /./api/v1/configmaps", "get path /./api/v1/configmaps");
  check("GET /a/b%20c/d", "get path /a/b c/d");
});

test("slashes: at the ends ignored, in the middle an empty segment, encoded a slash", () => {
  check("GET //api/v1/namespaces/x/configmaps/one//", "get v1 configmaps ns=x name=one");
  check("GET /api/v1/namespaces/x/configmaps//one", "list v1 configmaps/one ns=x");
  check("GET /api/v1/namespaces//configmaps", "list v1 configmaps");
  check("GET /api//v1/namespaces/x/configmaps/one", "get v1/x name=namespaces");
  check("GET /apis//v1/deployments", "list v1 deployments");
  check("GET /api/v1/namespaces/x/configmaps%2Fone", "get v1 configmaps ns=x name=one");
  check("GET /api/v1/namespaces/x/configmaps/a%2fb", "get v1 configmaps/b ns=x name=a");
});

test("names that could leave their segment are refused before a handler sees them", () => {
  const refusal = (url: string): unknown => {
    try {
      checkNames(info("GET", url));
      return "fine";
    } catch (error) {
      assert.ok(error instanceof StatusError);
      return `${error.status.code} ${error.status.message}`;
    }
  };
  const map = "/api/v1/namespaces/x/configmaps";
  assert.equal(refusal(`${map}/one`), "fine");
  assert.equal(refusal(`${map}/%6fne`), "fine");
  for (const dots of ["..", "%2e%2e", ".%2E"]) {
    assert.equal(refusal(`${map}/${dots}`), `400 Name parameter invalid: "..": may not be '..'`);
  }
  assert.equal(refusal(`${map}/.`), `400 Name parameter invalid: ".": may not be '.'`);
  assert.equal(refusal(`${map}/one%25`), `400 Name parameter invalid: "one%": may not contain '%'`);
  assert.equal(refusal(`${map}/%252e%252e`), `400 Name parameter invalid: "%2e%2e": may not contain '%'`);
  assert.equal(refusal("/api/v1/namespaces/../configmaps"), `400 Namespace parameter invalid: "..": may not be '..'`);
  assert.equal(refusal(`${map}/one/../two`), "404 the server could not find the requested resource");
  for (const other of ["/namespaces/other", "/namespaces"]) {
    assert.equal(refusal(`/api/v1/namespaces/x${other}`), "404 the server could not find the requested resource");
  }
  for (const fine of ["", "/x", "/x/status", "?fieldSelector=metadata.name=x"]) {
    assert.equal(refusal(`/api/v1/namespaces${fine}`), "fine", fine);
  }
});

test("a malformed escape is no path at all, other bytes are", () => {
  for (const url of ["/a%", "/a%4", "/a%zz", "/%u0041"]) assert.equal(splitTarget(url), undefined, url);
  assert.equal(splitTarget("/a%ffb")?.path, "/a\ufffdb");
  assert.equal(splitTarget("/o%C3%A9")?.path, "/oé");
  assert.equal(splitTarget("/o\u00c3\u00a9")?.path, "/oé");
  assert.equal(splitTarget("/a%00b")?.path, "/a\0b");
  assert.deepEqual(splitTarget("/a?b=%zz&c"), { path: "/a", query: "b=%zz&c" });
  assert.deepEqual(splitTarget("https://host:1/a/b?c"), { path: "/a/b", query: "c" });
  assert.deepEqual(splitTarget("https://host?c=/"), { path: "/", query: "c=/" });
});

test("query pairs with malformed escapes or semicolons are dropped, the others count [QP-20]", () => {
  assert.deepEqual(
    [...parseQuery("a=1&b=%zz&c=%31;&d=x+y%2C&__proto__=1")],
    [
      ["a", "1"],
      ["d", "x y,"],
      ["__proto__", "1"],
    ],
  );
});

test("watches and connections held open are long-running", () => {
  assert.equal(isLongRunning(info("GET", "/api/v1/configmaps?watch=1")), true);
  assert.equal(isLongRunning(info("GET", "/api/v1/namespaces/x/pods/p/log")), true);
  assert.equal(isLongRunning(info("GET", "/api/v1/configmaps")), false);
  assert.equal(isLongRunning(info("GET", "/healthz?watch=1")), false);
});

test("targets are printed without credentials, however they are written", () => {
  for (const [target, printed] of [
    ["/version", "/version"],
    ["/api/v1/pods?limit=5&continue=a%3D&watch", "/api/v1/pods?limit=5&continue=a%3D&watch"],
    ["/a?access_token=s&b=c", "/a?access_token=REDACTED&b=c"],
    ["/a?b=c&%61ccess%5ftoken=s", "/a?b=c&%61ccess%5ftoken=REDACTED"],
    ["/a?%41CCESS_TOKEN=s=t", "/a?%41CCESS_TOKEN=REDACTED"],
    ["/a?b=c;access_token=s", "/a?b=REDACTED"],
    ["/a??access_token=s", "/a??access_token=REDACTED"],
    ["/a?code=s&state=t", "/a?code=REDACTED&state=t"],
    ["/a?%zz=b&%=c&=d&&access_token", "/a?%zz=b&%=c&=d&&access_token"],
    ["https://user:s@host/a?token=s", "/a?token=REDACTED"],
    ["https://user:s@host?token=s", "?token=REDACTED"],
  ] as const) {
    assert.equal(printedTarget(target), printed, target);
  }
});
