/** Tests OpenAPI version 3: content and negotiation. Expectations were recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Reply } from "#http/api-request.ts";
import {
  builtinDefinitions,
  customDefinition,
  kubernetesTables,
  platformTables,
} from "../discovery/definitions-for-tests.ts";
import { servedGroups } from "../discovery/groups.ts";
import { encodeProtobufV3 } from "./protobuf-v3.ts";
import type { MutableJson } from "./published-schema.ts";
import { type OpenApiRequest, OpenApiV3 } from "./v3.ts";

const builtins = builtinDefinitions(kubernetesTables);
const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const configMaps = "/api/v1/namespaces/{namespace}/configmaps";

function openApi(definitions: readonly ResourceDefinition[] = builtins, keptBytesMax?: number): OpenApiV3 {
  const groups = servedGroups(definitions, kubernetesDomain);
  return new OpenApiV3({
    tables: kubernetesTables,
    issuer: true,
    groups: () => groups,
    ...(keptBytesMax === undefined ? {} : { keptBytesMax }),
  });
}

function request(target: string, headers: Readonly<Record<string, string>> = {}): OpenApiRequest {
  const [path = "", query] = target.split("?");
  return { method: "GET", path, query: new URLSearchParams(query), headers, receivedMs: nowMs };
}

async function get(of: OpenApiV3, target: string, headers?: Readonly<Record<string, string>>): Promise<Reply> {
  const reply = await of.reply(request(target, headers));
  assert.ok(reply !== undefined, `${target} is not answered`);
  return reply;
}

async function document(of: OpenApiV3, name: string): Promise<unknown> {
  const reply = await get(of, `/openapi/v3/${name}`);
  assert.equal(reply.code, 200);
  return JSON.parse(String(reply.bytes));
}

/** Returns the value below the keys; `undefined` if there is none. */
function at(value: unknown, ...keys: readonly (string | number)[]): unknown {
  return keys.reduce(
    (inner, key) => (inner as Readonly<Record<string, unknown>> | undefined)?.[key], // `JSON.parse` returned it
    value,
  );
}

/** Returns the value without descriptions, which are our own. */
function bare(value: unknown): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) =>
    key === "description" && typeof inner === "string" ? undefined : inner,
  );
  return JSON.parse(text);
}

const schemaOf = (of: unknown, name: string): unknown => bare(at(of, "components", "schemas", name));
const content = (name: string, types: readonly string[]): unknown =>
  Object.fromEntries(types.map((type) => [type, { schema: { $ref: `#/components/schemas/${name}` } }]));
const plainTypes = ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];

test("the index names every document by an address with its hash [GEN-07]", async () => {
  const of = openApi();
  const reply = await get(of, "/openapi/v3");
  assert.equal(reply.contentType, "text/plain; charset=utf-8");
  assert.deepEqual(reply.headers, { "last-modified": "Fri, 02 Jan 2026 03:04:05 GMT" });
  const paths = at(JSON.parse(String(reply.bytes)), "paths") as Readonly<Record<string, { serverRelativeURL: string }>>;
  assert.deepEqual(Object.keys(paths).slice(0, 6), [
    ".well-known/openid-configuration",
    "api",
    "api/v1",
    "apis",
    "apis/admissionregistration.k8s.io",
    "apis/admissionregistration.k8s.io/v1",
  ]);
  assert.deepEqual(Object.keys(paths).slice(-2), ["openid/v1/jwks", "version"]);
  for (const [name, { serverRelativeURL }] of Object.entries(paths)) {
    assert.match(serverRelativeURL, /^\/openapi\/v3\/[a-z0-9/.-]+\?hash=[0-9A-F]{128}$/);
    const answer = await get(of, serverRelativeURL);
    assert.equal(answer.code, 200, name);
    assert.equal(answer.headers?.["cache-control"], "public, immutable");
    assert.equal(answer.headers?.["expires"], "Sat, 02 Jan 2027 03:04:05 GMT");
  }
});

test("a document may be kept for ever by its hash, is asked for again without, and moved under a wrong one", async () => {
  const of = openApi();
  const plain = await get(of, "/openapi/v3/api/v1");
  const tag = String(plain.headers?.["etag"]);
  assert.deepEqual(plain.headers, { etag: tag, vary: "Accept", "last-modified": "Fri, 02 Jan 2026 03:04:05 GMT" });
  const hash = tag.slice(1, -1);
  const moved = await get(of, "/openapi/v3/api/v1?hash=OLD");
  assert.equal(moved.code, 301);
  assert.equal(moved.headers?.["location"], `/openapi/v3/api/v1?hash=${hash}`);
  for (const header of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
    const unchanged = await get(of, `/openapi/v3/api/v1?hash=${hash}`, { "if-none-match": header });
    assert.equal(unchanged.code, 304, header);
    assert.equal(unchanged.bytes, undefined);
  }
  assert.equal((await get(of, "/openapi/v3/api/v1", { "if-none-match": '"x"' })).code, 200);
});

test("JSON and protobuf come as Accept says, and what cannot be answered has no body [MEDIA-20]", async () => {
  const of = openApi();
  const json = "application/json";
  const protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
  const cases = [
    ["", json],
    ["*/*", json],
    ["application/*", json],
    ["application/json;q=0.1,text/plain", json],
    ["application/com.github.proto-openapi.spec.v3@v1.0+protobuf", protobuf],
    [`${protobuf};q=0.5,application/json`, json],
  ] as const;
  for (const [accept, type] of cases) {
    assert.equal((await get(of, "/openapi/v3/version", { accept })).contentType, type, accept);
  }
  const tags = await Promise.all(
    [json, protobuf].map(async (accept) => (await get(of, "/openapi/v3/version", { accept })).headers?.["etag"]),
  );
  assert.notEqual(tags[0], tags[1]);
  for (const accept of ["application/yaml", "text/plain"]) {
    assert.deepEqual(await get(of, "/openapi/v3/version", { accept }), { code: 406, headers: { vary: "Accept" } });
  }
  for (const path of ["/openapi/v3/", "/openapi/v3/nope", "/openapi/v3/api/v1/", "/openapi/v3/apis/no.such.group/v1"]) {
    assert.deepEqual(await get(of, path), { code: 404 });
  }
});

test("a document describes the operations of a namespaced kind with all patch types [PATCH-01, EP-16]", async () => {
  const core = await document(openApi(), "api/v1");
  assert.equal(at(core, "openapi"), "3.0.0");
  const configMap = "io.k8s.api.core.v1.ConfigMap";
  const kind = { group: "", version: "v1", kind: "ConfigMap" };
  assert.deepEqual(bare(at(core, "paths", `${configMaps}/{name}`, "get")), {
    tags: ["core_v1"],
    operationId: "readCoreV1NamespacedConfigMap",
    responses: { "200": { content: content(configMap, plainTypes) } },
    "x-kubernetes-action": "get",
    "x-kubernetes-group-version-kind": kind,
  });
  const flag = (name: string, type: string): unknown => ({ name, in: "query", schema: { type, uniqueItems: true } });
  const patches = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
  ];
  assert.deepEqual(bare(at(core, "paths", `${configMaps}/{name}`, "patch")), {
    tags: ["core_v1"],
    operationId: "patchCoreV1NamespacedConfigMap",
    parameters: [
      flag("dryRun", "string"),
      flag("fieldManager", "string"),
      flag("fieldValidation", "string"),
      flag("force", "boolean"),
    ],
    requestBody: { content: content(`${meta}.Patch`, patches), required: true },
    responses: {
      "200": { content: content(configMap, plainTypes) },
      "201": { content: content(configMap, plainTypes) },
    },
    "x-kubernetes-action": "patch",
    "x-kubernetes-group-version-kind": kind,
  });
  const inPath = { in: "path", required: true, schema: { type: "string", uniqueItems: true } };
  assert.deepEqual(bare(at(core, "paths", `${configMaps}/{name}`, "parameters")), [
    { ...inPath, name: "name" },
    { ...inPath, name: "namespace" },
    flag("pretty", "string"),
  ]);
  assert.deepEqual(at(core, "paths", configMaps, "post", "requestBody"), {
    content: content(configMap, ["*/*"]),
    required: true,
  });
  assert.deepEqual(Object.keys(at(core, "paths", configMaps, "post", "responses") as object), ["200", "201", "202"]);
  const streams = ["application/json", "application/json;stream=watch", "application/vnd.kubernetes.protobuf"];
  assert.deepEqual(bare(at(core, "paths", configMaps, "get", "responses", "200")), {
    content: content(`${configMap}List`, [
      ...streams,
      "application/vnd.kubernetes.protobuf;stream=watch",
      "application/yaml",
    ]),
  });
});

test("identifiers of operations are those client generators know", async () => {
  const of = openApi();
  const core = await document(of, "api/v1");
  const cases: readonly (readonly [path: string, method: string, id: string, action: string | undefined])[] = [
    ["/api/v1/", "get", "getCoreV1APIResources", undefined],
    [configMaps, "get", "listCoreV1NamespacedConfigMap", "list"],
    [configMaps, "post", "createCoreV1NamespacedConfigMap", "post"],
    [configMaps, "delete", "deleteCoreV1CollectionNamespacedConfigMap", "deletecollection"],
    [`${configMaps}/{name}`, "put", "replaceCoreV1NamespacedConfigMap", "put"],
    [`${configMaps}/{name}`, "delete", "deleteCoreV1NamespacedConfigMap", "delete"],
    ["/api/v1/configmaps", "get", "listCoreV1ConfigMapForAllNamespaces", "list"],
    ["/api/v1/watch/configmaps", "get", "watchCoreV1ConfigMapListForAllNamespaces", "watchlist"],
    ["/api/v1/watch/namespaces/{namespace}/configmaps", "get", "watchCoreV1NamespacedConfigMapList", "watchlist"],
    ["/api/v1/watch/namespaces/{namespace}/configmaps/{name}", "get", "watchCoreV1NamespacedConfigMap", "watch"],
    ["/api/v1/namespaces/{name}/finalize", "put", "replaceCoreV1NamespaceFinalize", "put"],
    ["/api/v1/nodes/{name}/status", "patch", "patchCoreV1NodeStatus", "patch"],
    ["/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "createCoreV1NamespacedPodEviction", "post"],
    ["/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "readCoreV1NamespacedPodLog", "get"],
    ["/api/v1/namespaces/{namespace}/pods/{name}/exec", "post", "connectCoreV1PostNamespacedPodExec", "connect"],
    ["/api/v1/nodes/{name}/proxy/{path}", "head", "connectCoreV1HeadNodeProxyWithPath", "connect"],
  ];
  for (const [path, method, id, action] of cases) {
    assert.equal(at(core, "paths", path, method, "operationId"), id);
    assert.equal(at(core, "paths", path, method, "x-kubernetes-action"), action, id);
  }
  assert.equal(at(core, "paths", "/api/v1/namespaces", "delete"), undefined, "namespaces go one by one");
  const roles = await document(of, "apis/rbac.authorization.k8s.io/v1");
  const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  assert.equal(at(roles, "paths", path, "get", "operationId"), "listRbacAuthorizationV1ClusterRole");
  assert.deepEqual(at(roles, "paths", path, "get", "tags"), ["rbacAuthorization_v1"]);
  const group = await document(of, "apis/rbac.authorization.k8s.io");
  const groupPath = "/apis/rbac.authorization.k8s.io/";
  assert.equal(at(group, "paths", groupPath, "get", "operationId"), "getRbacAuthorizationAPIGroup");
  assert.equal(at(await document(of, "api"), "paths", "/api/", "get", "operationId"), "getCoreAPIVersions");
  assert.equal(at(await document(of, "apis"), "paths", "/apis/", "get", "operationId"), "getAPIVersions");
  assert.equal(at(await document(of, "version"), "paths", "/version/", "get", "operationId"), "getCodeVersion");
  const apps = await document(of, "apis/apps/v1");
  const scale = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale";
  assert.equal(at(apps, "paths", scale, "get", "operationId"), "readAppsV1NamespacedDeploymentScale");
  assert.deepEqual(at(apps, "paths", scale, "get", "x-kubernetes-group-version-kind"), {
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
  });
});

test("streams and logs take their options as parameters, each once", async () => {
  const core = await document(openApi(), "api/v1");
  const names = (path: string): unknown => {
    const parameters = at(core, "paths", `/api/v1/namespaces/{namespace}/pods/{name}/${path}`, "parameters");
    return (parameters as readonly { name: string; in: string }[]).map((of) => `${of.in} ${of.name}`);
  };
  assert.deepEqual(names("exec"), [
    "query command",
    "query container",
    "path name",
    "path namespace",
    "query stderr",
    "query stdin",
    "query stdout",
    "query tty",
  ]);
  assert.deepEqual(names("proxy/{path}"), ["path name", "path namespace", "query path", "path path"]);
  const log = bare(at(core, "paths", "/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "responses", "200"));
  assert.deepEqual(at(log, "content", "text/plain"), { schema: { type: "string" } });
});

test("schemas carry defaults, list types, merge keys, enums and the kinds they describe [SSA-29, SSA-30]", async () => {
  const core = await document(openApi(), "api/v1");
  const reference = (name: string): unknown => [{ $ref: `#/components/schemas/${name}` }];
  assert.deepEqual(schemaOf(core, "io.k8s.api.core.v1.ConfigMap"), {
    type: "object",
    properties: {
      apiVersion: { type: "string" },
      binaryData: { type: "object", additionalProperties: { type: "string", format: "byte" } },
      data: { type: "object", additionalProperties: { type: "string", default: "" } },
      immutable: { type: "boolean" },
      kind: { type: "string" },
      metadata: { default: {}, allOf: reference(`${meta}.ObjectMeta`) },
    },
    "x-kubernetes-group-version-kind": [{ group: "", kind: "ConfigMap", version: "v1" }],
  });
  const property = (type: string, name: string): unknown => at(schemaOf(core, type), "properties", name);
  assert.deepEqual(property(`${meta}.ObjectMeta`, "ownerReferences"), {
    type: "array",
    items: { default: {}, allOf: reference(`${meta}.OwnerReference`) },
    "x-kubernetes-list-map-keys": ["uid"],
    "x-kubernetes-list-type": "map",
    "x-kubernetes-patch-merge-key": "uid",
    "x-kubernetes-patch-strategy": "merge",
  });
  assert.deepEqual(property(`${meta}.ManagedFieldsEntry`, "fieldsV1"), { allOf: reference(`${meta}.FieldsV1`) });
  assert.deepEqual(property("io.k8s.api.core.v1.ServiceSpec", "ports"), {
    type: "array",
    items: { default: {}, allOf: reference("io.k8s.api.core.v1.ServicePort") },
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "x-kubernetes-list-type": "map",
    "x-kubernetes-patch-merge-key": "port",
    "x-kubernetes-patch-strategy": "merge",
  });
  assert.deepEqual(property("io.k8s.api.core.v1.ContainerPort", "protocol"), {
    type: "string",
    default: "TCP",
    enum: ["SCTP", "TCP", "UDP"],
  });
  assert.deepEqual(property("io.k8s.api.core.v1.ServicePort", "targetPort"), {
    allOf: reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
  });
  assert.deepEqual(property("io.k8s.api.core.v1.ResourceRequirements", "limits"), {
    type: "object",
    additionalProperties: { $ref: "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity" },
  });
  assert.deepEqual(schemaOf(core, "io.k8s.apimachinery.pkg.util.intstr.IntOrString"), {
    format: "int-or-string",
    oneOf: [{ type: "integer" }, { type: "string" }],
  });
  assert.equal(at(schemaOf(core, "io.k8s.api.core.v1.ObjectReference"), "x-kubernetes-map-type"), "atomic");
  assert.equal(
    at(property("io.k8s.api.core.v1.PersistentVolumeSpec", "claimRef"), "x-kubernetes-map-type"),
    "granular",
  );
  assert.deepEqual(at(schemaOf(core, "io.k8s.api.core.v1.SeccompProfile"), "x-kubernetes-unions"), [
    { discriminator: "type", "fields-to-discriminateBy": { localhostProfile: "LocalhostProfile" } },
  ]);
  assert.deepEqual(schemaOf(core, `${meta}.Patch`), { type: "object" });
});

test("the documents of the token issuer are described, with the scheme of tokens that built-in documents have", async () => {
  const of = openApi();
  const components = {
    securitySchemes: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
  };
  const operation = (tag: string, operationId: string, type: string): unknown => ({
    tags: [tag],
    operationId,
    responses: { "200": { content: { [type]: { schema: { type: "string" } } } } },
  });
  const cases = [
    [".well-known/openid-configuration", "WellKnown", "getServiceAccountIssuerOpenIDConfiguration", "application/json"],
    ["openid/v1/jwks", "openid", "getServiceAccountIssuerOpenIDKeyset", "application/jwk-set+json"],
  ] as const;
  for (const [name, tag, id, type] of cases) {
    const found = bare(await document(of, name));
    assert.deepEqual(at(found, "paths"), { [`/${name}/`]: { get: operation(tag, id, type) } });
    assert.deepEqual(at(found, "components"), components);
  }
  assert.deepEqual(bare(at(await document(of, "api/v1"), "components", "securitySchemes")), components.securitySchemes);

  const groups = servedGroups(builtins, kubernetesDomain);
  const without = new OpenApiV3({ tables: kubernetesTables, groups: () => groups });
  assert.equal((await get(without, "/openapi/v3/openid/v1/jwks")).code, 404);
});

test("every reference of every document leads to a definition in it", async () => {
  const definitions = builtinDefinitions(kubernetesTables, () => true);
  const of = openApi(definitions);
  const index = JSON.parse(String((await get(of, "/openapi/v3")).bytes)) as { paths: Record<string, unknown> };
  let references = 0;
  for (const name of Object.keys(index.paths)) {
    const text = JSON.stringify(await document(of, name));
    const defined = new Set(Object.keys((at(JSON.parse(text), "components", "schemas") ?? {}) as object));
    for (const [, target] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]*)"/g)) {
      references++;
      assert.ok(defined.has(target!), `${name}: ${target}`);
    }
    assert.ok(!text.includes('"#/components/schemas/"'), `${name} refers to a type without a name`);
  }
  assert.ok(references > 5_000, `${references} references`);
});

const cogProps = JSON.parse(`{
  "type": "object",
  "required": ["spec"],
  "properties": {
    "apiVersion": { "type": "string" },
    "spec": {
      "type": "object",
      "required": ["size"],
      "properties": {
        "size": { "type": "integer", "format": "int32", "default": 3 },
        "__proto__": { "type": "string", "nullable": true, "enum": ["a"] },
        "ports": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }
      }
    }
  }
}`) as MutableJson;

test("a custom kind is named after its group, and its version's document comes and goes with it [PATCH-09]", async () => {
  const part = { group: "api.example.com", version: "v1", kind: "Cog", verbs: ["get", "patch", "update"] };
  const cog = customDefinition("api.example.com", "v1", "Cog", {
    publishedSchema: () => cogProps,
    subresources: [{ name: "status", ...part }],
  });
  let groups = servedGroups([...builtins, cog], kubernetesDomain);
  const of = new OpenApiV3({ tables: kubernetesTables, groups: () => groups });
  const openApiDocument = await document(of, "apis/api.example.com/v1");
  const spec = at(schemaOf(openApiDocument, "com.example.api.v1.Cog"), "properties", "spec");
  assert.deepEqual(at(spec, "properties", "size"), { type: "integer", format: "int32", default: 3 });
  assert.ok(Object.hasOwn(at(spec, "properties") as object, "__proto__"));
  assert.deepEqual(at(schemaOf(openApiDocument, "com.example.api.v1.Cog"), "required"), ["spec"]);
  assert.deepEqual(at(schemaOf(openApiDocument, "com.example.api.v1.CogList"), "required"), ["items"]);
  assert.deepEqual(at(schemaOf(openApiDocument, "com.example.api.v1.Cog"), "x-kubernetes-selectable-fields"), []);
  const path = "/apis/api.example.com/v1/namespaces/{namespace}/cogs/{name}";
  assert.equal(at(openApiDocument, "paths", path, "patch", "operationId"), "patchApiExampleComV1NamespacedCog");
  const patches = at(openApiDocument, "paths", path, "patch", "requestBody", "content");
  assert.deepEqual(Object.keys(patches as object), [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
  ]);
  assert.deepEqual(Object.keys(at(openApiDocument, "paths", `${path}/status`, "get", "responses") as object), [
    "200",
    "401",
  ]);
  assert.equal(at(openApiDocument, "paths", "/apis/api.example.com/v1/watch/cogs"), undefined);
  assert.equal(at(openApiDocument, "info", "version"), "v0.1.0");
  assert.equal(at(openApiDocument, "components", "securitySchemes"), undefined);

  const before = String((await get(of, "/openapi/v3")).bytes);
  const core = await get(of, "/openapi/v3/api/v1");
  groups = servedGroups(builtins, kubernetesDomain);
  assert.equal((await get(of, "/openapi/v3/apis/api.example.com/v1")).code, 404);
  const after = String((await get(of, "/openapi/v3")).bytes);
  assert.ok(before.includes("apis/api.example.com/v1") && !after.includes("example.com"));
  assert.equal((await get(of, "/openapi/v3/api/v1")).bytes, core.bytes, "other documents stay as they are");
});

test("another schema of a kind makes another hash [GEN-07]", async () => {
  const hashes = new Set<unknown>();
  for (const props of [cogProps, { type: "object" }]) {
    const of = openApi([customDefinition("api.example.com", "v1", "Cog", { publishedSchema: () => props })]);
    hashes.add((await get(of, "/openapi/v3/apis/api.example.com/v1")).headers?.["etag"]);
  }
  assert.equal(hashes.size, 2);
});

test("the bytes that are kept are bounded, and a document that was dropped is built again, the same", async () => {
  const of = openApi(builtins, 100_000);
  const first = await get(of, "/openapi/v3/apis/batch/v1");
  assert.equal((await get(of, "/openapi/v3/apis/batch/v1")).bytes, first.bytes, "the last one is kept");
  await get(of, "/openapi/v3/apis/apps/v1");
  const again = await get(of, "/openapi/v3/apis/batch/v1");
  assert.notEqual(again.bytes, first.bytes);
  assert.deepEqual(again, first);
});

test("names are those of the domain [GEN-04]", async () => {
  const groups = servedGroups(builtinDefinitions(platformTables), apiDomain("platform.io"));
  const of = new OpenApiV3({ tables: platformTables, groups: () => groups });
  const openApiDocument = await document(of, "apis/rbac.authorization.platform.io/v1");
  const path = "/apis/rbac.authorization.platform.io/v1/clusterroles";
  assert.equal(at(openApiDocument, "paths", path, "get", "operationId"), "listRbacAuthorizationV1ClusterRole");
  assert.ok(
    Object.hasOwn(at(openApiDocument, "components", "schemas") as object, "io.platform.api.rbac.v1.ClusterRole"),
  );
  assert.doesNotMatch(JSON.stringify(openApiDocument), /k8s\.io|io\.k8s/);
});

test("asking for the index lets other work go on between two documents", async () => {
  const of = openApi();
  let turns = 0;
  let counting = true;
  const count = (): void => {
    turns++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  await get(of, "/openapi/v3");
  counting = false;
  assert.ok(turns > 20, `${turns} turns`);
});

test("protobuf has the fields of the document in their messages", () => {
  const document: MutableJson = {
    openapi: "3.0.0",
    paths: { "/a": { get: { responses: { "200": { content: { j: { schema: { $ref: "#/d" } } } } }, "x-b": [1] } } },
    components: {
      schemas: { D: { type: "boolean", default: false, items: { allOf: [{ $ref: "#" }], default: {} } } },
      securitySchemes: { T: { type: "apiKey", description: "a", name: "b", in: "header" } },
    },
  };
  const message = (number: number, ...parts: string[]): string => {
    const content = parts.join("");
    const head = [number * 8 + 2].flatMap((tag) => (tag < 128 ? [tag] : [(tag % 128) + 128, Math.floor(tag / 128)]));
    return Buffer.from([...head, content.length / 2]).toString("hex") + content;
  };
  const text = (number: number, value: string): string => message(number, Buffer.from(value).toString("hex"));
  const content = message(3, message(1, text(1, "j"), message(2, message(1, message(2, text(1, "#/d"))))));
  const answer = message(8, message(2, text(1, "200"), message(2, message(1, content))));
  const operation = message(4, answer, message(13, text(1, "x-b"), message(2, text(2, "[1]"))));
  const items = message(30, message(1, message(1, message(26, message(2, text(1, "#"))))));
  const schema = message(1, text(25, "boolean"), message(33, "1000"), items);
  const key = text(1, "apiKey") + text(2, "a") + text(3, "b") + text(4, "header");
  const expected = [
    text(1, "3.0.0"),
    message(4, message(1, text(1, "/a"), message(2, operation))),
    message(
      5,
      message(1, message(1, text(1, "D"), message(2, schema))),
      message(7, message(1, text(1, "T"), message(2, message(1, key)))),
    ),
  ];
  assert.equal(encodeProtobufV3(document).toString("hex"), expected.join(""));
});

test("every operation of a built-in kind and its parameters have a description [META-18]", async () => {
  const core = await document(openApi(), "api/v1");
  const text = (...keys: string[]): unknown => at(core, "paths", ...keys, "description");
  assert.equal(text(`${configMaps}/{name}`, "patch"), "Changes parts of one ConfigMap.");
  assert.equal(text(configMaps, "get"), "Lists objects of kind ConfigMap, or watches them.");
  const pod = "/api/v1/namespaces/{namespace}/pods/{name}";
  assert.equal(text(`${pod}/exec`, "post"), "Forwards POST requests to exec of one Pod.");
  assert.equal(text(`${pod}/status`, "put"), "Replaces status of one Pod.");
  const lacking: string[] = [];
  const paths = at(core, "paths") as Readonly<Record<string, Readonly<Record<string, Described | Described[]>>>>;
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const described = Array.isArray(operation) ? operation : [operation, ...(operation.parameters ?? [])];
      for (const { name = "", description } of described) {
        if (description === undefined) lacking.push(`${method} ${path} ${name}`);
      }
    }
  }
  assert.deepEqual(lacking, []);
});

interface Described {
  /** The name of a parameter. */
  readonly name?: string;
  readonly description?: string;
  readonly parameters?: readonly Described[];
}
