/** Tests of the requests of the page: as whom they are made, and which of them wait when a token has ended. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Api, ApiFailure, type SignedIn } from "./api.ts";

const bob = { user: "bob", groups: [] };

const signedIn = (token: string): SignedIn => ({
  kind: "token",
  token,
  cluster: "",
  namespace: "",
  provided: {
    provider: { issuer: "https://issuer", authorizationEndpoint: "", clientId: "", scope: "", namesIssuer: true },
    subject: "alice",
    expiresMs: 0,
  },
});

/** Returns an API whose server takes the token `new` alone, and the requests as method, token and impersonated user. */
function openApi(t: TestContext) {
  const asked: string[] = [];
  t.mock.method(globalThis, "fetch", (_url: URL, { method, headers }: { method: string; headers: Headers }) => {
    const authorization = headers.get("authorization");
    asked.push(`${method} ${authorization?.replace("Bearer ", "")} ${headers.get("impersonate-user") ?? "-"}`);
    const isTaken = authorization === "Bearer new";
    return Promise.resolve(Response.json(isTaken ? {} : { message: "Unauthorized" }, { status: isTaken ? 200 : 401 }));
  });
  Object.defineProperty(globalThis, "location", {
    value: { href: "https://cluster/console/", origin: "https://cluster" },
    configurable: true,
  });
  t.after(() => Reflect.deleteProperty(globalThis, "location"));
  return { api: new Api(signedIn("old"), true), asked };
}

/** Resolves when the server has refused the token. */
async function refused(api: Api): Promise<void> {
  await new Promise<void>((resolve) => {
    api.isSignedOut.subscribe((isSignedOut) => isSignedOut && resolve());
  });
}

test("a read whose token has ended waits for the next sign-in, and is made as the same user", async (t) => {
  const { api, asked } = openApi(t);
  api.seenAs.value = bob;
  const reading = api.get("/api/v1/pods");
  await refused(api);
  api.renew(signedIn("new"));
  assert.deepEqual(await reading, {});
  assert.deepEqual(asked, ["GET old bob", "GET new bob"]);
});

test("a read that waits is given up when the cluster is seen as another user", async (t) => {
  for (const [before, after] of [
    [bob, undefined],
    [undefined, bob],
    [bob, { user: "carol", groups: [] }],
  ]) {
    const { api, asked } = openApi(t);
    api.seenAs.value = before;
    const reading = api.get("/api/v1/pods");
    const outcome = assert.rejects(reading, /seen as another user/);
    await refused(api);
    api.seenAs.value = after;
    api.renew(signedIn("new"));
    await outcome;
    assert.deepEqual(asked, [`GET old ${before?.user ?? "-"}`]);
    t.mock.restoreAll();
  }
});

test("a read that its page gives up is not made again", async (t) => {
  const { api, asked } = openApi(t);
  const abort = new AbortController();
  const outcome = assert.rejects(api.get("/api/v1/pods", abort.signal), { name: "AbortError" });
  await refused(api);
  abort.abort();
  await outcome;
  api.renew(signedIn("new"));
  assert.equal(asked.length, 1);
});

test("a write whose token has ended is refused with the reason, and never made again by itself", async (t) => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
    const { api, asked } = openApi(t);
    api.seenAs.value = bob;
    await assert.rejects(api.json({ method, path: "/api/v1/namespaces/shop/secrets/x" }), (error) => {
      assert.ok(error instanceof ApiFailure);
      assert.equal(error.code, 401);
      assert.match(error.message, /nothing was done: sign in again/);
      return true;
    });
    assert.ok(api.isSignedOut.value);
    api.seenAs.value = undefined;
    api.renew(signedIn("new"));
    await api.get("/version");
    assert.deepEqual(asked, [`${method} old bob`, "GET new -"]);
    t.mock.restoreAll();
  }
});

test("a write is refused also when the user has signed in again before the answer", async (t) => {
  const { api, asked } = openApi(t);
  const writing = api.json({ method: "DELETE", path: "/api/v1/namespaces/shop/secrets/x" });
  api.renew(signedIn("new"));
  await assert.rejects(writing, /nothing was done/);
  assert.equal(api.isSignedOut.value, false);
  assert.deepEqual(asked, ["DELETE old -"]);
});
