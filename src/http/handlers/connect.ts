/**
 * Requests to connect to a pod, a service or a node (`exec`, `attach`, `portforward`, `proxy`), and for the log of a pod.
 * Admission plugins see the connections, but this server reaches no nodes, which it then says.
 */
import { allContainers } from "#api/core/containers.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Pod, PodSpec } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { goQuote } from "#meta/field-error.ts";
import { badRequest, StatusError, subresourceNotFound } from "#meta/status-error.ts";
import type { SubresourceDefinition } from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import type { Reply } from "../api-request.ts";
import { turnFor } from "../large-requests.ts";
import type { Scope } from "../scope.ts";
import { viewKind } from "../view-kind.ts";
import { admissionAttributes, markSlow } from "../write-steps.ts";

/**
 * Answers without a node. Connections are admitted, which a log is not, and there is nothing to connect to, which is
 * thrown; a pod without a node has an empty log.
 */
export async function answerWithoutNode(scope: Scope, part: SubresourceDefinition): Promise<Reply> {
  const { definition, request, name } = scope;
  if (part.connect === true) await admitConnection(scope, part);
  if (definition.resource === "pods") return answerForPod(scope, part.name);
  throw subresourceNotFound(definition, part.name, request.info.verb, name);
}

async function admitConnection(scope: Scope, part: SubresourceDefinition): Promise<void> {
  const { parts, definition, name } = scope;
  const viewed: Scope = { ...scope, definition: viewKind(definition, part, parts), parent: definition };
  const about = { operation: "CONNECT", oldObject: undefined, dryRun: false, name } as const;
  const object = optionsOf(viewed, part);
  const changed = await markSlow(scope, parts.admission.admit(admissionAttributes(viewed, { ...about, object })));
  await markSlow(scope, parts.admission.validate(admissionAttributes(viewed, { ...about, object: changed ?? object })));
}

/**
 * Answers for a pod, as kube-apiserver as long as that would ask no node. `part` is what is asked of the node. The error
 * does not name the node, since connecting does not take the right to read the pod.
 */
async function answerForPod(scope: Scope, part: string): Promise<Reply> {
  const { definition, request, store, context, namespace, name } = scope;
  const entry = await store.get(namespace, name, "", context);
  await markSlow(scope, turnFor(entry.value.length));
  const { spec, status } = store.object(entry) as Partial<Pod>; // pods are served by this definition
  const hasNode = (spec?.nodeName ?? "") !== "";
  if (part === "proxy") {
    if (!hasNode || (status?.podIP ?? "") === "") throw badRequest("address not allowed");
  } else {
    if (part !== "portforward" && spec !== undefined) checkContainer(name, spec, request.query.get("container") ?? "");
    if (!hasNode && part === "log") return { code: 204 };
    if (!hasNode) throw badRequest(`pod ${name} does not have a host assigned`);
  }
  const message = `pod ${name} is on a node, and this server reaches no nodes: ${part} is not possible`;
  throw new StatusError({ ...subresourceNotFound(definition, part, request.info.verb, name).status, message });
}

/** Throws unless the pod has the container, or exactly one if none is named. */
function checkContainer(pod: string, spec: PodSpec, container: string): void {
  const names = allContainers(spec).map(({ name }) => name);
  if (container !== "" && !names.includes(container)) {
    throw badRequest(`container ${container} is not valid for pod ${pod}`);
  }
  if (container === "" && (spec.containers ?? []).length > 1) {
    const { status } = badRequest(
      `a container name must be specified for pod ${pod}, choose one of: [${names.join(" ")}]`,
    );
    throw new StatusError(status, { showsValues: true });
  }
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
