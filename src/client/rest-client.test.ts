/** The errors that the refusals of servers become. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { internalError, StatusError } from "#meta/status-error.ts";
import { ApiError, describeRequest } from "./api-error.ts";
import { RestClient } from "./rest-client.ts";
import type { ClientResponse } from "./transport.ts";

/** Returns the error of a call with this answer. */
async function errorOf(response: Partial<ClientResponse>, body = ""): Promise<ApiError> {
  const answer = { code: 200, body: Buffer.from(body), ...response };
  const client = new RestClient({ request: () => Promise.resolve(answer), stream: () => Promise.resolve(answer) });
  const error: unknown = await client.get("/api/v1/namespaces/shop/pods/web").catch((reason: unknown) => reason);
  assert.ok(error instanceof ApiError && error instanceof StatusError, String(error));
  return error;
}

void test("an error names method and object in one line", async () => {
  const status = { kind: "Status", code: 422, reason: "Invalid", message: "wrong:\n  here\n  and there" };
  const error = await errorOf({ code: 422 }, JSON.stringify(status));
  assert.equal(error.message, 'GET pods "web" in "shop": wrong: here and there');
  assert.match(error.stack ?? "", /GET pods "web" in "shop"/);
  assert.equal(error.status.message, status.message);
});

void test("a message in place of the usual one is one line, too, and controls no terminal", () => {
  const request = { method: "GET", path: "/version" } as const;
  const error = new ApiError(request, internalError("no").status, { message: "no:\n \u001b[2J" });
  assert.equal(error.message, "no: ?[2J");
});

void test("a request is described by what its path names", () => {
  const paths: Readonly<Record<string, string>> = {
    "/api/v1/nodes": "GET nodes",
    "/api/v1/nodes/n1/status?x=y": 'GET nodes/status "n1"',
    "/api/v1/namespaces": "GET namespaces",
    "/api/v1/namespaces/shop": 'GET namespaces "shop"',
    "/api/v1/namespaces/shop/finalize": 'GET namespaces/finalize "shop"',
    "/api/v1/namespaces/shop/pods": 'GET pods in "shop"',
    "/apis/apps/v1/namespaces/shop/deployments/web/scale": 'GET deployments/scale "web" in "shop"',
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode": 'GET clusterroles "system:node"',
    "/apis/apps/v1": "GET /apis/apps/v1",
    "/version": "GET /version",
  };
  for (const [path, text] of Object.entries(paths)) assert.equal(describeRequest({ method: "GET", path }), text);
});

void test("answers that are no status still have code and reason", async () => {
  const cases: readonly [number, string, string][] = [
    [404, "404 page not found", "NotFound"],
    [401, "", "Unauthorized"],
    [503, "<html>", "ServiceUnavailable"],
    [502, "<html>Bad Gateway</html>", "InternalError"],
    [418, '{"kind":"Teapot"}', "InternalError"],
  ];
  for (const [code, body, reason] of cases) {
    const error = await errorOf({ code }, body);
    assert.deepEqual([error.code, error.reason, error.status.code], [code, reason, code]);
  }
  assert.match((await errorOf({}, "ok")).message, /answered 200 with something that is not JSON$/);
});

void test("the time to wait is that of the header, or of the status", async () => {
  const status = JSON.stringify({ kind: "Status", code: 429, details: { retryAfterSeconds: 2 } });
  assert.equal((await errorOf({ code: 429 }, status)).retryAfterMs, 2000);
  assert.equal((await errorOf({ code: 429, retryAfterMs: 500 }, status)).retryAfterMs, 500);
  assert.equal((await errorOf({ code: 429 })).retryAfterMs, undefined);
});

void test("a path that is no URL is described as it is", () => {
  const path = "/api/v1/namespaces/shop/pods/100%";
  assert.equal(describeRequest({ method: "GET", path }), 'GET pods "100%" in "shop"');
});

void test("fields of a status with other types than theirs are left out", async () => {
  const details = { causes: "all", retryAfterSeconds: "soon", name: "web" };
  const status = { kind: "Status", metadata: null, message: { a: 1 }, reason: 5, details };
  const error = await errorOf({ code: 409 }, JSON.stringify(status));
  assert.equal(error.message, 'GET pods "web" in "shop": the server answered 409');
  assert.deepEqual([error.reason, error.retryAfterMs, error.status.metadata], ["", undefined, {}]);
  assert.deepEqual([error.status.details?.name, error.status.details?.causes], ["web", undefined]);
  const others = await errorOf(
    { code: 409 },
    JSON.stringify({ kind: "Status", details: { causes: [null, { field: "a" }] } }),
  );
  assert.deepEqual(others.status.details?.causes, [{ field: "a" }]);
});
