/** The handlers that keep the indexes of a server in step with its store. */
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";

/**
 * Handlers by Kubernetes' name of a resource (`clusterroles.rbac.authorization.k8s.io`). They get each change of the
 * resource's objects before the write is acknowledged; the schema of the resource ensures the type of the objects.
 */
export type HandlersByResource = Readonly<Record<string, ObjectHandlers<ApiObject>>>;
