/** Builds OpenAPI 3.0 documents: one per group version, and small ones for discovery and version. */
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { answerTexts, apiInfo, bearerToken } from "./info.ts";
import type { OpenApiOperation, Parameter, PathItem } from "./operations.ts";
import type { MutableJson } from "./published-schema.ts";
import { TypeCollection, type TypeSource } from "./types.ts";

/**
 * Returns the encoded document of `paths`. `definitions` are those to which the paths belong. `pause` is awaited
 * between large parts.
 */
export async function documentV3(
  source: TypeSource,
  definitions: readonly ResourceDefinition[],
  paths: readonly PathItem[],
  pause: () => Promise<void>,
): Promise<Buffer> {
  const types = new TypeCollection(source, 3, definitions);
  // Upstream: the builder of custom resources has an info, a list of schemes and common answers of its own.
  const isCustom = definitions.some(({ custom }) => custom !== undefined);
  const items: MutableJson = {};
  for (const { path, parameters, operations } of paths) {
    const item: MutableJson = {};
    for (const operation of operations) item[operation.method] = describe(operation, types, isCustom);
    if (parameters.length > 0) item["parameters"] = parameters.map(describeParameter);
    items[path] = item;
  }
  const info = isCustom ? { ...apiInfo, version: "v0.1.0" } : apiInfo;
  const head = JSON.stringify({ openapi: "3.0.0", info, paths: items });
  const schemas = await types.finish(pause);
  const components = [
    ...(schemas === "{}" ? [] : [`"schemas":${schemas}`]),
    ...(isCustom ? [] : [`"securitySchemes":${JSON.stringify({ BearerToken: bearerToken })}`]),
  ];
  return Buffer.from(`${head.slice(0, -1)},"components":{${components.join(",")}}}`);
}

function describe(operation: OpenApiOperation, types: TypeCollection, isCustom: boolean): MutableJson {
  const { tag, id, parameters, body, consumes, produces, answers, action, kind } = operation;
  const text = operation.description === undefined ? {} : { description: operation.description };
  const described: MutableJson = { tags: [tag], ...text, operationId: id };
  if (parameters.length > 0) described["parameters"] = parameters.map(describeParameter);
  if (body !== undefined) {
    const content = contentOf(consumes, types.reference(body.type));
    described["requestBody"] = { content, ...(body.required ? { required: true } : {}) };
  }
  const responses: MutableJson = {};
  for (const [code, type] of answers) {
    const schema = type === "" ? { type: "string" } : types.reference(type);
    responses[code] = { description: answerTexts[code], content: contentOf(produces, schema) };
  }
  if (isCustom) responses["401"] = { description: answerTexts[401] };
  described["responses"] = responses;
  if (action !== undefined) described["x-kubernetes-action"] = action;
  if (kind !== undefined) described["x-kubernetes-group-version-kind"] = kind;
  return described;
}

function contentOf(mediaTypes: readonly string[], schema: MutableJson): MutableJson {
  return Object.fromEntries([...mediaTypes].sort().map((type) => [type, { schema }]));
}

function describeParameter({ name, in: location, type, description }: Parameter): MutableJson {
  const schema = { type, uniqueItems: true };
  const text = description === undefined ? {} : { description };
  return { name, in: location, ...text, ...(location === "path" ? { required: true } : {}), schema };
}
