/** Feature gates that change answers of the server, and gates and flags that need other gates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { Api, file, openServer, startsServers, withOwnServer } from "../harness.ts";

const skip = startsServers ? false : "starts its own servers";
const plain = { accept: "text/plain" };
const events = "/api/v1/namespaces?watch=true&timeoutSeconds=1";
const streamed = `${events}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
const log = "/api/v1/namespaces/default/pods/x/log";

withOwnServer(
  "without WatchList a watch cannot ask for the current objects, and starts with them as before [GATE-04]",
  { featureGates: ["WatchList=false"] },
  async (api) => {
    const refusal = (await api.get(streamed)).expect(422).string("message");
    const detail = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    assert.ok(refusal.endsWith(`sendInitialEvents: Forbidden: ${detail}`), refusal);
    for (const query of ["", "&resourceVersion=0&allowWatchBookmarks=true"]) {
      const text = (await api.get(`${events}${query}`)).expect(200).bytes.toString();
      assert.match(text, /^\{"type":"ADDED"/, query);
      assert.ok(!text.includes("initial-events-end"), text);
    }
  },
);

withOwnServer(
  "StorageVersionHash and OpenAPIEnums decide what discovery and OpenAPI show of built-in kinds [GATE-03] [GATE-04]",
  { featureGates: ["StorageVersionHash=false", "OpenAPIEnums=false"] },
  async (api) => {
    assert.ok(!(await api.get("/api/v1")).expect(200).bytes.toString().includes("storageVersionHash"));
    const policies = /"enum":\["Always","IfNotPresent","Never"\]/;
    for (const path of ["/openapi/v2", "/openapi/v3/api/v1"]) {
      assert.doesNotMatch((await api.get(path)).expect(200).bytes.toString(), policies, path);
    }
  },
);

withOwnServer("the pages of flags and of the program are off [GATE-01]", {}, async (api) => {
  for (const path of ["/flagz", "/statusz"]) (await api.get(path, plain)).expect(404);
  const policies = /"enum":\["Always","IfNotPresent","Never"\]/;
  assert.match((await api.get("/openapi/v3/api/v1")).expect(200).bytes.toString(), policies);
  assert.ok((await api.get("/api/v1")).expect(200).bytes.toString().includes("storageVersionHash"));
});

withOwnServer(
  "ComponentFlagz and ComponentStatusz show the flags and the program, to those who may see them [GATE-02]",
  { featureGates: ["ComponentFlagz=true", "ComponentStatusz=true"], eventTtlMs: 5_000 },
  async (api) => {
    const flags = (await api.get("/flagz", plain)).expect(200).bytes.toString();
    assert.match(flags, /^event-ttl=5s$/m);
    assert.match(flags, /^feature-gates=\[ComponentFlagz=true,ComponentStatusz=true\]$/m);
    assert.match((await api.get("/statusz", { accept: "text/*" })).expect(200).bytes.toString(), /^Up: 0 hr 00 min/m);
    (await api.get("/statusz", { accept: "text/plain;q=0.5;charset=UTF-8" })).expect(200);
    for (const path of ["/flagz", "/statusz"]) {
      for (const accept of ["application/json", "text/plain;charset=latin1", "text/plain;v=v1;as=Statusz"]) {
        (await api.get(path, { accept })).expect(406);
      }
      (await api.get(path, { ...plain, as: "alice" })).expect(403);
    }
    assert.ok((await api.get("/")).expect(200).bytes.includes('"/flagz"'));
    const role = await api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:monitoring");
    const urls = role
      .expect(200)
      .list("rules")
      .flatMap((rule) => rule.at("nonResourceURLs"));
    assert.deepEqual(urls.slice(-2), ["/flagz", "/statusz"]);
  },
);

withOwnServer(
  "PodLogsQuerySplitStreams lets clients choose a stream of a log [GATE-02]",
  { featureGates: ["PodLogsQuerySplitStreams=true"] },
  async (api) => {
    const message = async (query: string, status: number) =>
      (await api.get(`${log}?${query}`)).expect(status).string("message");
    assert.match(await message("stream=Stdout", 404), /pods "x" not found/);
    assert.match(await message("stream=stdout", 422), /stream: Unsupported value: "stdout"/);
    assert.match(
      await message("stream=Stderr&tailLines=1", 422),
      /`tailLines` and specific `stream` are mutually exclu/,
    );
  },
);

withOwnServer("a log has one stream otherwise [GATE-01]", {}, async (api) => {
  const refusal = (await api.get(`${log}?stream=Stdout`)).expect(422).string("message");
  assert.match(refusal, /stream: Forbidden: may not be specified/);
});

const anonymous = JSON.stringify({
  apiVersion: "apiserver.config.k8s.io/v1beta1",
  kind: "AuthenticationConfiguration",
  anonymous: { enabled: true },
});

/** Settings that do not start, and a part of the reason. */
const refused: readonly (readonly [settings: () => ServerSettings, reason: RegExp])[] = [
  [() => ({ featureGates: ["AuthorizeWithSelectors=false"] }), /AuthorizeNodeWithSelectors feature requires Authorize/],
  [() => ({ featureGates: ["UnknownVersionInteroperabilityProxy=true"] }), /requires StorageVersionAPI feature flag/],
  [() => ({ requestheaderUidHeaders: ["X-Uid"] }), /requires the "RemoteRequestHeaderUID" feature to be enabled/],
  [
    () => ({ logTextSplitStream: true }),
    /options\.text\.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled/,
  ],
  [() => ({ peerCaFile: "/x" }), /--peer-ca-file requires UnknownVersionInteroperabilityProxy feature to be turned on/],
  [() => ({ loggingFormat: "json", featureGates: ["LoggingBetaOptions=false"] }), /Log format json is disabled/],
  [
    () => ({
      authenticationConfig: file("a.json", anonymous),
      featureGates: ["StructuredAuthenticationConfiguration=false"],
    }),
    /set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file/,
  ],
  [
    () => ({
      authenticationConfig: file("b.json", anonymous),
      featureGates: ["AnonymousAuthConfigurableEndpoints=false"],
    }),
    /anonymous: Forbidden: anonymous is not supported when/,
  ],
];

test("a server whose flags and gates need other gates does not start [GATE-04] [GATE-08]", { skip }, async () => {
  for (const [settings, reason] of refused) {
    await assert.rejects(async () => {
      const server = await openServer("k8s.io", settings());
      new Api(server).close();
      await server.close();
    }, reason);
  }
});
