/**
 * Requests to connect to a pod, a service or a node (`exec`, `attach`, `portforward`, `proxy`). Admission plugins see
 * them, but there are no nodes to connect to.
 */
import { apiVersionOf } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { goQuote } from "#meta/field-error.ts";
import { badRequest, subresourceNotFound } from "#meta/status-error.ts";
import type { SubresourceDefinition } from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import type { Scope } from "../scope.ts";
import { viewKind } from "../view-kind.ts";
import { admissionAttributes, markSlow } from "../write-steps.ts";

/** Runs admission for the connection, and then throws that there is nothing to connect to. */
export async function refuseConnection(scope: Scope, part: SubresourceDefinition): Promise<never> {
  const { parts, definition, request, name } = scope;
  const viewed: Scope = { ...scope, definition: viewKind(definition, part, parts), parent: definition };
  const about = { operation: "CONNECT", oldObject: undefined, dryRun: false, name } as const;
  const object = optionsOf(viewed, part);
  const changed = await markSlow(scope, parts.admission.admit(admissionAttributes(viewed, { ...about, object })));
  await markSlow(scope, parts.admission.validate(admissionAttributes(viewed, { ...about, object: changed ?? object })));
  throw subresourceNotFound(definition, part.name, request.info.verb, name);
}

/**
 * Returns the options of the connection in the query, as an object of their kind; they include the path behind the
 * subresource.
 */
function optionsOf({ definition, request }: Scope, { kind, proxyPath }: SubresourceDefinition): ApiObject {
  const options: Record<string, unknown> = { kind, apiVersion: apiVersionOf(definition) };
  for (const [name, { schema, omitempty }] of definition.schema.fields ?? []) {
    if (options[name] !== undefined || (name === "path" && proxyPath === true)) continue;
    const texts = request.query.getAll(name);
    const value = texts.length === 0 ? undefined : valueOf(texts, schema);
    if (value !== undefined && value !== false && value !== "") options[name] = value;
    else if (schema.type === "array" && omitempty !== true) options[name] = null;
  }
  if (proxyPath === true) {
    const { path, resource, name } = request.info;
    const before = `/${resource}/${name}/proxy`;
    const behind = path.slice(path.indexOf(before) + before.length);
    if (behind !== "") options["path"] = behind;
  }
  // Upstream: the object has no metadata. Plugins read metadata only of their own kinds.
  return options as Partial<ApiObject> as ApiObject;
}

function valueOf(texts: readonly string[], { type, items }: Schema): unknown {
  const [first = ""] = texts;
  if (type === "boolean") return first !== "0" && first.toLowerCase() !== "false";
  if (type !== "array") return first;
  return items?.type === "integer" ? texts.map(portOf) : texts;
}

function portOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${goQuote(text)}: invalid syntax`);
}
