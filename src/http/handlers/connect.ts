/**
 * Requests to connect to a pod, a service or a node (`exec`, `attach`, `portforward`, `proxy`), and for the log of a pod.
 * Admission plugins see the connections; then the kubelet of the node, or the target that the object names, answers.
 */
import type { Pod } from "#api/core/v1.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { badRequest, serviceUnavailable } from "#meta/status-error.ts";
import type { SubresourceDefinition } from "#registry/resource-definition.ts";
import type { Reply } from "../api-request.ts";
import { turnFor } from "../large-requests.ts";
import type { NodeAccess } from "../node-access.ts";
import type { Scope } from "../scope.ts";
import { viewKind } from "../view-kind.ts";
import { admissionAttributes, markSlow } from "../write-steps.ts";
import { connectToPod, podLog } from "./connect/kubelet.ts";
import { connectOptions, logOptions } from "./connect/options.ts";
import { proxyRequest } from "./connect/proxy.ts";
import { nodeTarget, podTarget, serviceTarget, targetName } from "./connect/targets.ts";

/** Connects the client, or returns the log. Throws a `StatusError` when that is not possible. */
export async function connectObject(scope: Scope, part: SubresourceDefinition): Promise<Reply> {
  const { definition, request, namespace, name: id, parts } = scope;
  const access = parts.nodes;
  if (access === undefined) throw serviceUnavailable("this server reaches no nodes");
  // The rest of the request waits for others, and may last long.
  request.seats?.slow();
  if (part.name === "log") {
    const options = logOptions(scope);
    return podLog(scope, access, await readPod(scope, scope.name), options);
  }
  const options = await admitConnection(scope, part);
  if (part.name !== "proxy") {
    const pod = await readPod(scope, scope.name);
    return connectToPod(scope, access, { part: part.name as "exec" | "attach" | "portforward", pod, options });
  }
  const { random } = parts;
  if (definition.resource === "pods") return proxyRequest(scope, access, await podTargetOf(scope, access));
  if (definition.resource === "nodes") return proxyRequest(scope, access, await nodeTarget(access, id));
  return proxyRequest(scope, access, serviceTarget(access, { namespace, id, random }));
}

async function podTargetOf(scope: Scope, access: NodeAccess) {
  const wanted = targetName(scope.name);
  if (wanted === undefined) throw badRequest(`invalid pod request ${goQuote(scope.name)}`);
  return podTarget(access, await readPod(scope, wanted.name), wanted);
}

/** Returns the options as admission has left them. */
async function admitConnection(scope: Scope, part: SubresourceDefinition): Promise<ApiObject> {
  const { parts, definition, name } = scope;
  const viewed: Scope = { ...scope, definition: viewKind(definition, part, parts), parent: definition };
  const about = { operation: "CONNECT", oldObject: undefined, dryRun: false, name } as const;
  const object = connectOptions(viewed, part);
  const changed = await markSlow(scope, parts.admission.admit(admissionAttributes(viewed, { ...about, object })));
  const admitted = changed ?? object;
  await markSlow(scope, parts.admission.validate(admissionAttributes(viewed, { ...about, object: admitted })));
  return admitted;
}

async function readPod(scope: Scope, name: string): Promise<Partial<Pod>> {
  const { store, context, namespace } = scope;
  const entry = await store.get(namespace, name, "", context);
  await markSlow(scope, turnFor(entry.valueLength));
  return store.object(entry) as Partial<Pod>; // pods are served by this definition
}
