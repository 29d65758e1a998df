/** Tests OpenAPI version 2: content and negotiation. Expectations were recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Reply } from "#http/api-request.ts";
import { builtinDefinitions, customDefinition, kubernetesTables } from "../discovery/definitions-for-tests.ts";
import { servedGroups } from "../discovery/groups.ts";
import { DocumentV2 } from "./document-v2.ts";
import { Operations } from "./operations.ts";
import { encodeProtobufV2 } from "./protobuf-v2.ts";
import type { MutableJson } from "./published-schema.ts";
import { OpenApiV2 } from "./v2.ts";
import type { OpenApiRequest } from "./v3.ts";

const builtins = builtinDefinitions(kubernetesTables);
const configMaps = "/api/v1/namespaces/{namespace}/configmaps";
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const json = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const streams = [...json, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

function openApi(definitions: readonly ResourceDefinition[] = builtins): OpenApiV2 {
  const groups = servedGroups(definitions, kubernetesDomain);
  return new OpenApiV2({ tables: kubernetesTables, issuer: true, groups: () => groups });
}

function request(headers: Readonly<Record<string, string>> = {}): OpenApiRequest {
  const receivedMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  return { method: "GET", path: "/openapi/v2", query: new URLSearchParams(), headers, receivedMs };
}

async function get(of: OpenApiV2, headers?: Readonly<Record<string, string>>): Promise<Reply> {
  const reply = await of.reply(request(headers));
  assert.ok(reply !== undefined);
  return reply;
}

async function documentOf(of: OpenApiV2): Promise<unknown> {
  return JSON.parse(String((await get(of)).bytes));
}

/** Returns the value below the keys, without descriptions, which are our own; `undefined` if there is none. */
function at(value: unknown, ...keys: readonly (string | number)[]): unknown {
  const found = keys.reduce(
    (inner, key) => (inner as Readonly<Record<string, unknown>> | undefined)?.[key], // `JSON.parse` returned it
    value,
  );
  if (found === undefined) return undefined;
  const text = JSON.stringify(found, (key, inner: unknown) =>
    key === "description" && typeof inner === "string" ? undefined : inner,
  );
  return JSON.parse(text);
}

test("the document describes the operations of a namespaced kind [GEN-07, EP-16]", async () => {
  const document = await documentOf(openApi());
  assert.equal(at(document, "swagger"), "2.0");
  const kind = { group: "", version: "v1", kind: "ConfigMap" };
  const answer = (name: string): unknown => ({ schema: { $ref: `#/definitions/${name}` } });
  assert.deepEqual(at(document, "paths", configMaps, "post"), {
    consumes: ["*/*"],
    produces: json,
    schemes: ["https"],
    tags: ["core_v1"],
    operationId: "createCoreV1NamespacedConfigMap",
    parameters: [
      { name: "body", in: "body", required: true, schema: { $ref: "#/definitions/io.k8s.api.core.v1.ConfigMap" } },
      ...(at(document, "paths", configMaps, "post", "parameters") as unknown[]).slice(1),
    ],
    responses: {
      "200": answer("io.k8s.api.core.v1.ConfigMap"),
      "201": answer("io.k8s.api.core.v1.ConfigMap"),
      "202": answer("io.k8s.api.core.v1.ConfigMap"),
      "401": {},
    },
    "x-kubernetes-action": "post",
    "x-kubernetes-group-version-kind": kind,
  });
  assert.deepEqual(at(document, "paths", configMaps, "get", "produces"), streams);
  assert.deepEqual(at(document, "paths", `${configMaps}/{name}`, "patch", "consumes"), [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
  ]);
  assert.deepEqual(at(document, "paths", `${configMaps}/{name}`, "delete", "responses"), {
    "200": answer(`${meta}.Status`),
    "202": answer(`${meta}.Status`),
    "401": {},
  });
  assert.equal(at(document, "paths", "/api/v1/configmaps", "post"), undefined);
  assert.equal(at(document, "paths", "/apis/", "get", "operationId"), "getAPIVersions");
  assert.deepEqual(at(document, "paths", "/openid/v1/jwks/", "get"), {
    produces: ["application/jwk-set+json"],
    schemes: ["https"],
    tags: ["openid"],
    operationId: "getServiceAccountIssuerOpenIDKeyset",
    responses: { "200": { schema: { type: "string" } }, "401": {} },
  });
});

test("parameters of many operations are defined once, and every reference leads somewhere", async () => {
  const text = String((await get(openApi())).bytes);
  const found = JSON.parse(text) as { parameters: object; definitions: object };
  let references = 0;
  for (const [, kind, name] of text.matchAll(/"\$ref":"#\/(parameters|definitions)\/([^"]*)"/g)) {
    references++;
    assert.ok(Object.hasOwn(kind === "parameters" ? found.parameters : found.definitions, name!), `${kind} ${name}`);
  }
  assert.ok(references > 5_000, `${references} references`);
  const watch = Object.entries(found.parameters).filter(([name]) => name.startsWith("watch-"));
  assert.deepEqual(
    watch.map(([, parameter]) => parameter as unknown),
    [
      {
        uniqueItems: true,
        type: "boolean",
        description: "Whether to watch instead of to list.",
        name: "watch",
        in: "query",
      },
    ],
  );
});

test("definitions have merge keys, list types and enums, and neither defaults nor anything beside references [META-18, META-20]", async () => {
  const document = await documentOf(openApi());
  const definition = (name: string, ...keys: string[]): unknown => at(document, "definitions", name, ...keys);
  assert.deepEqual(definition("io.k8s.api.core.v1.ConfigMap"), {
    type: "object",
    properties: {
      apiVersion: { type: "string" },
      binaryData: { type: "object", additionalProperties: { type: "string", format: "byte" } },
      data: { type: "object", additionalProperties: { type: "string" } },
      immutable: { type: "boolean" },
      kind: { type: "string" },
      metadata: { $ref: `#/definitions/${meta}.ObjectMeta` },
    },
    "x-kubernetes-group-version-kind": [{ group: "", kind: "ConfigMap", version: "v1" }],
  });
  assert.deepEqual(definition(`${meta}.ObjectMeta`, "properties", "finalizers"), {
    type: "array",
    items: { type: "string" },
    "x-kubernetes-list-type": "set",
    "x-kubernetes-patch-strategy": "merge",
  });
  assert.deepEqual(definition(`${meta}.Time`), { type: "string", format: "date-time" });
  assert.deepEqual(definition("io.k8s.apimachinery.pkg.util.intstr.IntOrString"), {
    type: "string",
    format: "int-or-string",
  });
  assert.deepEqual(definition("io.k8s.apimachinery.pkg.api.resource.Quantity"), { type: "string" });
  assert.deepEqual(definition("io.k8s.api.core.v1.PodSpec", "properties", "restartPolicy"), {
    type: "string",
    enum: ["Always", "Never", "OnFailure"],
  });
  assert.deepEqual(definition("io.k8s.api.core.v1.ContainerPort", "properties", "protocol"), {
    type: "string",
    enum: ["SCTP", "TCP", "UDP"],
  });
});

test("JSON and protobuf come as Accept says, with tags of their own [MEDIA-20]", async () => {
  const of = openApi();
  const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  const cases = [
    ["application/json", "application/json"],
    ["application/json;q=0.5, */*;q=0.1", "application/json"],
    ["application/com.github.proto-openapi.spec.v2@v1.0+protobuf", protobuf],
    [`${protobuf};q=0.9,application/json;q=0.5`, protobuf],
  ] as const;
  for (const [accept, type] of cases) assert.equal((await get(of, { accept })).contentType, type, accept);
  assert.deepEqual(await get(of, { accept: "application/yaml" }), { code: 406, headers: { vary: "Accept" } });
  const { headers } = await get(of);
  const tag = String(headers?.["etag"]);
  assert.equal(headers?.["last-modified"], "Fri, 02 Jan 2026 03:04:05 GMT");
  assert.equal((await get(of, { "if-none-match": tag })).code, 304);
  assert.equal((await get(of, { "if-none-match": tag, accept: protobuf })).code, 200);
  assert.equal((await get(of)).bytes, (await get(of)).bytes, "bytes are kept");
});

test("the document follows the table", async () => {
  let groups = servedGroups(builtins, kubernetesDomain);
  const of = new OpenApiV2({ tables: kubernetesTables, groups: () => groups });
  const before = await get(of);
  const props = { type: "object", properties: { color: { type: "string", nullable: true, enum: ["red"] } } };
  const kind = customDefinition("api.example.com", "v1", "Cog", { publishedSchema: () => props });
  groups = servedGroups([...builtins, kind], kubernetesDomain);
  const after = await get(of, { "if-none-match": String(before.headers?.["etag"]) });
  assert.equal(after.code, 200);
  const found = JSON.parse(String(after.bytes)) as unknown;
  const cog = at(found, "definitions", "com.example.api.v1.Cog", "properties");
  assert.deepEqual(at(cog, "color"), { enum: ["red"] }, "what may be null has no type");
  const path = "/apis/api.example.com/v1/namespaces/{namespace}/cogs";
  assert.deepEqual(at(found, "paths", path, "post", "consumes"), ["application/json", "application/yaml"]);
});

test("protobuf has the fields of the document in their messages", () => {
  const document: MutableJson = {
    swagger: "2.0",
    paths: { "/a": { get: { tags: ["t"], responses: { "200": { schema: { $ref: "#/d" } } }, "x-b": { c: 1 } } } },
    definitions: { D: { type: "object", properties: { p: { type: "array", items: { type: "string" } } } } },
  };
  const text = (number: number, value: string): string => message(number, Buffer.from(value).toString("hex"));
  const message = (number: number, ...parts: string[]): string => {
    const content = parts.join("");
    return `${byte(number * 8 + 2)}${byte(content.length / 2)}${content}`;
  };
  const byte = (value: number): string =>
    value < 128 ? value.toString(16).padStart(2, "0") : `${((value % 128) + 128).toString(16)}01`;
  const answer = message(1, text(1, "200"), message(2, message(1, message(2, message(1, text(1, "#/d"))))));
  const operation = [text(1, "t"), message(9, answer), message(13, text(1, "x-b"), message(2, text(2, '{"c":1}')))];
  const items = message(23, message(1, message(22, text(1, "string"))));
  const property = message(1, text(1, "p"), message(2, message(22, text(1, "array")), items));
  const expected = [
    text(1, "2.0"),
    message(8, message(2, text(1, "/a"), message(2, message(2, ...operation)))),
    message(9, message(1, text(1, "D"), message(2, message(22, text(1, "object")), message(25, property)))),
  ];
  assert.equal(encodeProtobufV2(document).toString("hex"), expected.join(""));
});

const factsFile = join(dirname(fileURLToPath(import.meta.url)), "../../../../shared/facts/schemas.json");
const skip = existsSync(factsFile) ? false : "the fact tables are not on this machine";

interface FactField {
  readonly required?: boolean;
  readonly enum?: readonly string[];
  readonly listType?: string;
  readonly listMapKeys?: readonly string[];
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
}

test("every definition agrees with the facts in fields, required ones, enums, list types and merge keys", {
  skip,
}, async () => {
  const facts = JSON.parse(readFileSync(factsFile, "utf8")) as {
    types: Record<string, { fields: Record<string, FactField> }>;
  };
  const document = await documentOf(openApi(builtinDefinitions(kubernetesTables, () => true)));
  const definitions = at(document, "definitions") as Record<string, MutableJson>;
  let compared = 0;
  for (const [name, definition] of Object.entries(definitions)) {
    const { fields } = facts.types[name] ?? { fields: {} };
    const properties = (definition["properties"] ?? {}) as Record<string, MutableJson>;
    assert.deepEqual(Object.keys(properties), Object.keys(fields).sort(), name);
    const required = Object.keys(fields).filter((field) => fields[field]!.required === true);
    assert.deepEqual(definition["required"] ?? [], required, name);
    for (const [field, fact] of Object.entries(fields)) {
      compared++;
      const property = properties[field]!;
      const marks = {
        enum: property["enum"],
        listType: property["x-kubernetes-list-type"],
        listMapKeys: property["x-kubernetes-list-map-keys"],
        patchStrategy: property["x-kubernetes-patch-strategy"],
        patchMergeKey: property["x-kubernetes-patch-merge-key"],
      };
      const { enum: values, listType, listMapKeys, patchStrategy, patchMergeKey } = fact;
      assert.deepEqual(
        marks,
        { enum: values, listType, listMapKeys, patchStrategy, patchMergeKey },
        `${name}.${field}`,
      );
    }
  }
  assert.ok(compared > 2_000, `${compared} fields`);
});

test("parts of another server's document that protobuf cannot hold are left out there, and nothing else is", async () => {
  const groups = servedGroups(builtins.slice(0, 3), kubernetesDomain);
  const odd = { paths: { "/apis/g.com/v1/things": { get: { responses: 7, parameters: "none", tags: [{}] } } } };
  const openApiV2 = Buffer.from(JSON.stringify({ ...odd, definitions: { Odd: { type: 7, properties: [null] } } }));
  const remote = [
    {
      group: "g.com",
      version: "v1",
      groupPriority: 1,
      versionPriority: 1,
      resources: [],
      freshness: "Current" as const,
      openApiV3: new Map<string, string>(),
      openApiV2,
    },
  ];
  const of = new OpenApiV2({ tables: kubernetesTables, groups: () => groups, remote: () => remote });
  assert.notEqual(at(await documentOf(of), "paths", "/apis/g.com/v1/things"), undefined);
  const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  const reply = await get(of, { accept });
  assert.equal(reply.code, 200);
  assert.ok((reply.bytes as Buffer).length > 1000);
});

test("the document of a thousand versions is made in pieces", async () => {
  const versions = Array.from({ length: 1000 }, (_, i) => customDefinition("wide.example.com", `v${i + 1}`, "Wide"));
  const operations = new Operations(kubernetesTables);
  const document = new DocumentV2({ tables: kubernetesTables }, versions);
  let paths = 0;
  for (const definition of versions) {
    const items = operations.ofVersion(definition, [definition]);
    paths += items.length;
    document.add(items);
  }
  let pauses = 0;
  const bytes = await document.finish(() => {
    pauses++;
    return Promise.resolve();
  }, []);
  assert.ok(pauses > paths / 1000, `${pauses} pauses for ${paths} paths`);
  const found = JSON.parse(bytes.toString()) as { readonly paths: object };
  const names = Object.keys(found.paths);
  assert.equal(names.length, paths);
  assert.deepEqual(names, names.toSorted());
});
