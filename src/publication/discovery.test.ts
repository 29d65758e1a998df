/** Tests discovery of groups, versions and resources. Expectations were recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Reply } from "#http/api-request.ts";
import { Discovery, type DiscoveryRequest } from "./discovery.ts";
import {
  builtinDefinitions,
  customDefinition,
  kubernetesTables,
  platformTables,
} from "./discovery/definitions-for-tests.ts";
import { servedGroups } from "./discovery/groups.ts";

const builtins = builtinDefinitions(kubernetesTables);
const aggregatedV2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const aggregatedV2Beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function discovery(definitions: readonly ResourceDefinition[] = builtins, domain = kubernetesDomain): Discovery {
  return new Discovery({ domain, definitions: () => definitions, serverAddress: () => "10.0.0.1:6443" });
}

function request(path: string, accept?: string, more: { method?: string; tag?: string } = {}): DiscoveryRequest {
  return {
    method: more.method ?? "GET",
    path,
    url: path,
    query: new URLSearchParams(),
    headers: {
      ...(accept === undefined ? {} : { accept }),
      ...(more.tag === undefined ? {} : { "if-none-match": more.tag }),
    },
  };
}

function get(of: Discovery, path: string, accept?: string): { reply: Reply; text: string; body: unknown } {
  const reply = of.reply(request(path, accept));
  assert.ok(reply !== undefined, `${path} is not answered`);
  const text = String(reply.bytes);
  return { reply, text, body: reply.contentType?.startsWith("application/json") ? JSON.parse(text) : {} };
}

/** Returns the value at `path`, whose keys are joined with dots. */
function at(document: unknown, path: string): unknown {
  return path.split(".").reduce((value, key) => (value as Readonly<Record<string, unknown>>)[key], document);
}

/** Returns the list at `path`, whose members are objects. */
function listAt(document: unknown, path: string): readonly Readonly<Record<string, unknown>>[] {
  return at(document, path) as readonly Readonly<Record<string, unknown>>[];
}

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return `${error.status.code} ${error.status.reason}: ${error.status.message}`;
  }
  return "not refused";
}

test("the core group is found at /api, without an apiVersion of its own [GEN-07, VER-06]", () => {
  for (const path of ["/api", "/api/", "/api//"]) {
    const { text } = get(discovery(), path);
    const expected =
      '{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"10.0.0.1:6443"}]}\n';
    assert.equal(text, expected);
  }
});

test("without an address of its own the server tells the one the client used", () => {
  const of = new Discovery({ domain: kubernetesDomain, definitions: () => builtins });
  for (const headers of [{ host: "b.example:1" }, { ":authority": "b.example:1" }]) {
    const reply = of.reply({ ...request("/api"), headers });
    assert.match(String(reply?.bytes), /"serverAddress":"b\.example:1"/);
  }
});

test("groups come in upstream's order, those of custom resources after them by name [GEN-07]", () => {
  const definitions = [
    customDefinition("zebra.example.com", "v1", "Cog"),
    customDefinition("ant.example.com", "v1", "Cog"),
    ...builtins,
  ];
  const { body } = get(discovery(definitions), "/apis");
  assert.deepEqual(
    listAt(body, "groups").map((group) => group["name"]),
    [
      "apiregistration.k8s.io",
      "apps",
      "events.k8s.io",
      "authentication.k8s.io",
      "authorization.k8s.io",
      "autoscaling",
      "batch",
      "certificates.k8s.io",
      "networking.k8s.io",
      "policy",
      "rbac.authorization.k8s.io",
      "storage.k8s.io",
      "admissionregistration.k8s.io",
      "apiextensions.k8s.io",
      "scheduling.k8s.io",
      "coordination.k8s.io",
      "node.k8s.io",
      "discovery.k8s.io",
      "flowcontrol.apiserver.k8s.io",
      "ant.example.com",
      "zebra.example.com",
    ],
  );
});

test("a group names its versions, the preferred one first [VER-21]", () => {
  const apps =
    '{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}\n';
  assert.equal(get(discovery(), "/apis/apps").text, apps);
  assert.equal(get(discovery(), "/apis/apps/").text, apps);
  const { body } = get(discovery(), "/apis/autoscaling");
  assert.equal(at(body, "preferredVersion.version"), "v2");
});

test("versions come stable first, then beta, then alpha, the higher number first [VER-01, VER-03]", () => {
  const versions = ["v1beta1", "v2alpha1", "v1", "v10", "v2", "v11beta2", "foo", "v1alpha10"];
  const of = discovery(versions.map((version) => customDefinition("order.example.com", version, "Dial")));
  const expected = ["v10", "v2", "v1", "v11beta2", "v1beta1", "v2alpha1", "v1alpha10", "foo"];
  const names = (document: unknown, path: string): unknown => listAt(document, path).map((of) => of["version"]);
  assert.deepEqual(names(get(of, "/apis/order.example.com").body, "versions"), expected);
  assert.deepEqual(names(get(of, "/apis", aggregatedV2).body, "items.0.versions"), expected);
});

test("resource lists say scope, kind, verbs, short names, categories and where a subresource's kind lives [EP-16]", () => {
  const { body } = get(discovery(), "/apis/apps/v1");
  const [deployments, scale, status] = listAt(body, "resources").filter((of) =>
    String(of["name"]).startsWith("deployments"),
  );
  const expected = [
    {
      name: "deployments",
      singularName: "deployment",
      namespaced: true,
      kind: "Deployment",
      verbs: allVerbs,
      shortNames: ["deploy"],
      categories: ["all"],
      storageVersionHash: "8aSe+NMegvE=",
    },
    {
      name: "deployments/scale",
      singularName: "",
      namespaced: true,
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      verbs: ["get", "patch", "update"],
    },
    {
      name: "deployments/status",
      singularName: "",
      namespaced: true,
      kind: "Deployment",
      verbs: ["get", "patch", "update"],
    },
  ];
  assert.equal(JSON.stringify([deployments, scale, status]), JSON.stringify(expected));
  assert.equal(at(body, "apiVersion"), "v1");
  assert.equal(at(get(discovery(), "/api/v1").body, "apiVersion"), undefined, "the core group's list has none");
});

test("reviews are there with the verb create only [GEN-08, REVIEW-08]", () => {
  const { text } = get(discovery(), "/apis/authorization.k8s.io/v1");
  const reviews = [
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
  ];
  const resources = reviews.map((kind) => ({
    name: `${kind.toLowerCase()}s`,
    singularName: kind.toLowerCase(),
    namespaced: kind.startsWith("Local"),
    kind,
    verbs: ["create"],
  }));
  const list = { kind: "APIResourceList", apiVersion: "v1", groupVersion: "authorization.k8s.io/v1", resources };
  assert.equal(text, `${JSON.stringify(list)}\n`);
});

test("a version that a built-in group does not have is a Status, an unknown group is a page [VER-42, VER-93]", () => {
  const of = discovery([...builtins, customDefinition("join.example.com", "v1", "Lever")]);
  const missing = "404 NotFound: the server could not find the requested resource";
  for (const path of ["/api/v2", "/apis/apps/v2", "/apis/apps/v1beta1", "/apis/apiextensions.k8s.io/v1beta1"]) {
    assert.equal(
      refusal(() => of.reply(request(path))),
      missing,
    );
  }
  for (const path of ["/apis/no.such.group", "/apis/no.such.group/v1", "/apis/join.example.com/v1beta1"]) {
    const reply = of.reply(request(path));
    assert.equal(reply?.code, 404);
    assert.equal(reply.contentType, "text/plain; charset=utf-8");
    assert.equal(String(reply.bytes), "404 page not found\n");
  }
  assert.equal(of.unknown("/apis/join.example.com/v1/nope").code, 404);
  assert.equal(
    refusal(() => of.unknown("/apis/apps/v1/nope")),
    missing,
  );
  assert.equal(of.reply(request("/apis/apps/v1/deployments")), undefined);
  assert.equal(of.reply(request("/version")), undefined);
});

test("aggregated discovery has all that the separate documents have [GEN-07]", () => {
  const core = get(discovery(), "/api", aggregatedV2);
  assert.equal(core.reply.contentType, aggregatedV2);
  assert.deepEqual({ ...core.reply.headers, etag: "" }, { "cache-control": "public", vary: "Accept", etag: "" });
  assert.equal(at(core.body, "apiVersion"), "apidiscovery.k8s.io/v2");
  assert.deepEqual(at(core.body, "items.0.metadata"), { creationTimestamp: null });
  assert.equal(at(core.body, "items.0.versions.0.freshness"), "Current");
  const namespaces = listAt(core.body, "items.0.versions.0.resources").find((of) => of["resource"] === "namespaces");
  assert.deepEqual(namespaces, {
    resource: "namespaces",
    responseKind: { group: "", version: "", kind: "Namespace" },
    scope: "Cluster",
    singularResource: "namespace",
    verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
    shortNames: ["ns"],
    subresources: [
      { subresource: "finalize", responseKind: { group: "", version: "", kind: "Namespace" }, verbs: ["update"] },
      {
        subresource: "status",
        responseKind: { group: "", version: "", kind: "Namespace" },
        verbs: ["get", "patch", "update"],
      },
    ],
  });
  const named = get(discovery(), "/apis", aggregatedV2Beta);
  assert.equal(at(named.body, "apiVersion"), "apidiscovery.k8s.io/v2beta1");
  assert.deepEqual(at(named.body, "items.1.metadata"), { name: "apps", creationTimestamp: null });
});

test("a custom resource shows its own order of verbs and subresources, and its group and version everywhere", () => {
  const part = { group: "seen.example.com", version: "v1", kind: "Cog", verbs: ["get", "patch", "update"] };
  const scale = {
    name: "scale",
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    verbs: ["get", "patch", "update"],
  };
  const cog = customDefinition("seen.example.com", "v1", "Cog", { subresources: [{ name: "status", ...part }, scale] });
  const { body } = get(discovery([cog]), "/apis", aggregatedV2);
  const resource = at(body, "items.0.versions.0.resources.0");
  assert.deepEqual(at(resource, "responseKind"), { group: "seen.example.com", version: "v1", kind: "Cog" });
  assert.deepEqual(at(resource, "verbs"), cog.verbs);
  assert.deepEqual(
    listAt(resource, "subresources").map(
      (of) => `${String(of["subresource"])} ${String(at(of, "responseKind.group"))}`,
    ),
    ["status seen.example.com", "scale autoscaling"],
  );
});

test("the first type of Accept that the server has decides which document comes [MEDIA-15, MEDIA-20]", () => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, "application/json"],
    ["", "application/json"],
    ["*/*", "application/json"],
    [`${aggregatedV2},${aggregatedV2Beta},application/json`, aggregatedV2],
    [`${aggregatedV2Beta},${aggregatedV2},application/json`, aggregatedV2Beta],
    [`application/json,${aggregatedV2};q=0.1`, aggregatedV2],
    [`application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,${aggregatedV2}`, aggregatedV2],
    ["application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json", "application/json"],
    ["application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", aggregatedV2],
    ["application/yaml", "application/yaml"],
    [aggregatedV2.replace("json", "yaml"), aggregatedV2.replace("json", "yaml")],
    ["application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"],
  ];
  for (const [accept, expected] of cases) {
    assert.equal(discovery().reply(request("/apis", accept))?.contentType, expected, accept ?? "no Accept");
  }
  const types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  const refused = `406 NotAcceptable: only the following media types are accepted: ${types}`;
  const of = discovery();
  assert.equal(
    refusal(() => of.reply(request("/apis", "text/plain"))),
    refused,
  );
  assert.equal(
    refusal(() => of.reply(request("/apis/apps", aggregatedV2))),
    refused,
  );
  assert.match(
    refusal(() => of.reply(request("/api", "text/plain"))),
    /^406 NotAcceptable: 406: Not Acceptable\n\nAvailable representations: /,
  );
});

test("an aggregated document answers 304 until the table changes [GEN-07]", () => {
  let definitions: readonly ResourceDefinition[] = builtins;
  const of = new Discovery({ domain: kubernetesDomain, definitions: () => definitions, serverAddress: () => "" });
  const first = of.reply(request("/apis", aggregatedV2));
  const tag = String(first?.headers?.["etag"]);
  assert.match(tag, /^"[0-9A-F]{128}"$/);
  const again = of.reply(request("/apis", aggregatedV2, { tag }));
  assert.deepEqual(again, { code: 304, headers: { etag: tag, vary: "Accept", "cache-control": "public" } });
  assert.equal(of.reply(request("/apis", aggregatedV2, { tag: '"other"' }))?.code, 200);
  assert.equal(of.reply(request("/api", aggregatedV2, { tag }))?.code, 200);
  assert.equal(of.reply(request("/apis", aggregatedV2))?.bytes, first?.bytes, "bytes are kept");
  definitions = [...builtins, customDefinition("tagged.example.com", "v1", "Gear")];
  const changed = of.reply(request("/apis", aggregatedV2, { tag }));
  assert.equal(changed?.code, 200);
  assert.ok(String(changed.bytes).includes("tagged.example.com"));
  definitions = builtins;
  assert.equal(of.reply(request("/apis", aggregatedV2, { tag }))?.code, 304);
});

test("protobuf documents are what upstream's decoder reads [GEN-05]", () => {
  const apps = get(discovery(), "/apis/apps", "application/vnd.kubernetes.protobuf").reply.bytes as Buffer;
  const names = "12 0d 0a 07 61707073 2f 7631 12 02 7631 1a 0d 0a 07 61707073 2f 7631 12 02 7631";
  const expected = `6b387300 0a 0e 0a 02 7631 12 08 ${hex("APIGroup")} 12 24 0a 04 ${hex("apps")} ${names} 1a 00 22 00`;
  assert.equal(apps.toString("hex"), expected.replaceAll(" ", ""));
  const core = get(discovery(), "/api", "application/vnd.kubernetes.protobuf").reply.bytes as Buffer;
  assert.ok(core.toString("hex").startsWith("6b3873000a0f0a00120b"), "no apiVersion in the envelope of the core group");
});

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}

test("names are those of the domain [GEN-04]", () => {
  const of = discovery(builtinDefinitions(platformTables), apiDomain("platform.io"));
  const { body } = get(of, "/apis");
  assert.equal(at(body, "groups.0.name"), "apiregistration.platform.io");
  const accept = aggregatedV2.replace("k8s.io", "platform.io");
  const aggregated = get(of, "/apis", `${aggregatedV2},${accept}`);
  assert.equal(aggregated.reply.contentType, accept);
  assert.equal(at(aggregated.body, "apiVersion"), "apidiscovery.platform.io/v2");
  assert.ok(!aggregated.text.includes("k8s.io"));
});

test("the root lists every path once, sorted", () => {
  const reply = discovery().paths(["/version", "/livez", "/apis"]);
  const paths = (JSON.parse(String(reply.bytes)) as { paths: string[] }).paths;
  assert.deepEqual(paths.slice(0, 6), [
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/apis/admissionregistration.k8s.io",
    "/apis/admissionregistration.k8s.io/v1",
  ]);
  assert.deepEqual(paths.slice(-2), ["/livez", "/version"]);
  assert.ok(String(reply.bytes).startsWith('{\n  "paths": [\n    "/api",\n'));
});

test("discovery is read only, and HEAD is a way to read", () => {
  assert.equal(discovery().reply(request("/apis", undefined, { method: "HEAD" }))?.code, 200);
  for (const path of ["/api", "/apis", "/apis/apps", "/apis/apps/v1"]) {
    assert.match(
      refusal(() => discovery().reply(request(path, undefined, { method: "POST" }))),
      /^405 /,
    );
  }
});

test("group names like those of object prototypes are just names", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    assert.equal(discovery().reply(request(`/apis/${name}`))?.code, 404);
    assert.equal(
      get(discovery([customDefinition(name, "v1", "Cog")]), `/apis/${name}`).text.includes(`"name":"${name}"`),
      true,
    );
  }
});

test("groups and versions of other servers have the place that their priorities give them", () => {
  const remote = (group: string, version: string, groupPriority: number, versionPriority: number) =>
    ({ group, version, groupPriority, versionPriority, resources: [], freshness: "Stale" }) as const;
  const custom = customDefinition("m.elsewhere.test", "v1", "Thing");
  const groups = servedGroups([...builtinDefinitions(kubernetesTables), custom], kubernetesDomain, [
    remote("z.elsewhere.test", "v1", 20_000, 10),
    remote("b.elsewhere.test", "v1", 17_750, 10),
    remote("y.elsewhere.test", "v1", 100, 1),
    remote("y.elsewhere.test", "v2", 15_000, 1),
    remote("y.elsewhere.test", "v3beta1", 1, 50),
    remote("m.elsewhere.test", "v2", 5, 200),
    remote("m.elsewhere.test", "v0", 5, 50),
    remote("apps", "v2", 5, 14),
    remote("zz.elsewhere.test", "v1", 999, 1),
  ]);
  const shown = groups.map(({ name, versions }) => `${name}[${versions.map(({ version }) => version).join()}]`);
  const asked = shown.filter((text) => /^(?:\w+\.elsewhere|events|apireg|apps|flow)/.test(text));
  assert.deepEqual(asked, [
    "apiregistration.k8s.io[v1]",
    "z.elsewhere.test[v1]",
    "apps[v1,v2]",
    "b.elsewhere.test[v1]",
    "events.k8s.io[v1]",
    "flowcontrol.apiserver.k8s.io[v1]",
    "y.elsewhere.test[v3beta1,v2,v1]",
    "m.elsewhere.test[v2,v1,v0]",
    "zz.elsewhere.test[v1]",
  ]);
});
