/**
 * Requests to connect to a pod, a service or a node (`exec`, `attach`, `portforward`, `proxy`), and for the log of a pod.
 * Admission plugins see the connections, but this server reaches no nodes, which it then says.
 */
import { apiVersionOf } from "#meta/group-version.ts";
import type { Pod } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { goQuote } from "#meta/field-error.ts";
import { badRequest, subresourceNotFound, unreachedNode } from "#meta/status-error.ts";
import type { SubresourceDefinition } from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import type { Scope } from "../scope.ts";
import { viewKind } from "../view-kind.ts";
import { admissionAttributes, markSlow } from "../write-steps.ts";

/** Runs admission for a connection, which a log is not, and then throws that there is nothing to connect to. */
export async function refuseConnection(scope: Scope, part: SubresourceDefinition): Promise<never> {
  const { parts, definition, request, name } = scope;
  if (part.connect !== true) return refuseForPod(scope, part.name);
  const viewed: Scope = { ...scope, definition: viewKind(definition, part, parts), parent: definition };
  const about = { operation: "CONNECT", oldObject: undefined, dryRun: false, name } as const;
  const object = optionsOf(viewed, part);
  const changed = await markSlow(scope, parts.admission.admit(admissionAttributes(viewed, { ...about, object })));
  await markSlow(scope, parts.admission.validate(admissionAttributes(viewed, { ...about, object: changed ?? object })));
  if (definition.resource === "pods") return refuseForPod(scope, part.name);
  throw subresourceNotFound(definition, part.name, request.info.verb, name);
}

/**
 * Throws that the pod runs nowhere, or on a node that this server does not reach. `part` is what is asked of the node.
 * Upstream: a pod without a node has an empty log.
 */
async function refuseForPod({ definition, store, context, namespace, name }: Scope, part: string): Promise<never> {
  const pod = store.object(await store.get(namespace, name, "", context)) as Partial<Pod>; // pods are served by this definition
  const node = pod.spec?.nodeName ?? "";
  if (node === "") throw badRequest(`pod ${name} does not have a host assigned`);
  const about = `pod ${name} is on node ${node}, and this server reaches no nodes: ${part} is not possible`;
  throw unreachedNode(definition, part, name, about);
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
