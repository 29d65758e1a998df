/** Tests discovery and OpenAPI through the one entry point that the router uses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { StatusError } from "#meta/status-error.ts";
import { builtinDefinitions, customDefinition, kubernetesTables } from "./discovery/definitions-for-tests.ts";
import { createDiscoveryAndOpenApi, type DiscoveryAndOpenApi } from "./discovery-and-openapi.ts";

const builtins = builtinDefinitions(kubernetesTables);

function documents(definitions = () => builtins): DiscoveryAndOpenApi {
  return createDiscoveryAndOpenApi({
    domain: kubernetesDomain,
    tables: kubernetesTables,
    definitions,
    issuer: true,
    otherPaths: ["/version"],
  });
}

function request(path: string, method = "GET"): Parameters<DiscoveryAndOpenApi["reply"]>[0] {
  return { method, path, url: path, query: new URLSearchParams(), headers: {}, receivedMs: 0 };
}

test("every path of discovery at the root is answered [GEN-07]", async () => {
  const of = documents();
  const root = await of.reply(request("/"));
  const { paths } = JSON.parse(String(root?.bytes)) as { paths: string[] };
  assert.deepEqual(
    paths.filter((path) => !path.startsWith("/api")),
    ["/.well-known/openid-configuration", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version"],
  );
  const elsewhere = ["/.well-known/openid-configuration", "/openid/v1/jwks", "/version"];
  for (const path of paths) {
    // Upstream also lists /openapi/v3/ without serving it.
    const expected = elsewhere.includes(path) ? undefined : path === "/openapi/v3/" ? 404 : 200;
    assert.equal((await of.reply(request(path)))?.code, expected, path);
  }
});

test("other paths are left to others, and writing is refused", () => {
  const of = documents();
  for (const path of [
    "/version",
    "/healthz",
    "/apis/apps/v1/deployments",
    "/openapi",
    "/openapi/v2/",
    "/openapi/v4",
    "//apis",
  ]) {
    assert.equal(of.reply(request(path)), undefined, path);
  }
  for (const path of ["/", "/api", "/apis", "/openapi/v2", "/openapi/v3", "/openapi/v3/version"]) {
    assert.throws(() => of.reply(request(path, "PUT")), StatusError, path);
  }
  assert.equal(of.unknown("/healthz/nope").code, 404);
});

test("all documents follow the table together", async () => {
  let definitions = builtins;
  const of = documents(() => definitions);
  const shows = async (): Promise<boolean[]> =>
    Promise.all(
      ["/", "/apis", "/openapi/v2", "/openapi/v3"].map(async (path) => {
        const reply = await of.reply(request(path));
        return String(reply?.bytes).includes("follow.example.com");
      }),
    );
  assert.deepEqual(await shows(), [false, false, false, false]);
  definitions = [...builtins, customDefinition("follow.example.com", "v1", "Cog")];
  assert.deepEqual(await shows(), [true, true, true, true]);
  definitions = builtins;
  assert.deepEqual(await shows(), [false, false, false, false]);
});
