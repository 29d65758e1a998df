/** GET of a collection, and of the legacy paths that are watches. */
import type { Reply } from "../api-request.ts";
import { listReply } from "../object-reply.ts";
import { listOptions, type ListOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { selectedName } from "../request-info.ts";
import { selectionOf } from "../selection.ts";
import { escapeFieldValue } from "#meta/selector.ts";
import { badRequest } from "#meta/status-error.ts";
import type { ListRequest } from "#registry/store.ts";
import { namingUnreadable } from "./delete-unreadable.ts";
import { watchCollection } from "./watch.ts";

export async function listCollection(scope: Scope): Promise<Reply> {
  const { request, parts, store } = scope;
  const options = listOptions(request.query, parts);
  if (options.watch) return watchCollection(scope, options);
  const negotiated = parts.negotiator.answer(request, parts.transforms, true);
  const list = listRequest(scope, options);
  const answer = async (): Promise<Reply> => listReply(scope, negotiated, await store.list(list));
  return parts.forcedDeletion ? namingUnreadable(scope, answer) : answer();
}

/**
 * GET of `…/watch/…`, which is a watch whatever the query says, and one of a single object when the path names it.
 * Deprecated since 1.11, and still served by 1.32.
 */
export async function watchPath(scope: Scope): Promise<Reply> {
  const { request, parts, name } = scope;
  const options = listOptions(request.query, parts, true);
  if (name === "") return watchCollection(scope, options);
  if (options.fieldSelector !== "") {
    if (selectedName(request.query) === name) return watchCollection(scope, options);
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  return watchCollection(scope, { ...options, fieldSelector: `metadata.name=${escapeFieldValue(name)}` });
}

/** Makes the request to the store. */
export function listRequest(scope: Scope, options: ListOptions): ListRequest {
  const { filter, matching, name, namespace } = selectionOf(scope, options);
  return {
    namespace: scope.namespace,
    selectedNamespace: namespace,
    name,
    limit: options.limit,
    continue: options.continue,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    filter,
    matching,
    caller: scope.context,
  };
}
