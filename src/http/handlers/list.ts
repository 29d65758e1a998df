/** GET of a collection. */
import type { Reply } from "../api-request.ts";
import { listReply } from "../object-reply.ts";
import { listOptions, type ListOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { selectionOf } from "../selection.ts";
import type { ListRequest } from "#registry/store.ts";
import { watchCollection } from "./watch.ts";

export async function listCollection(scope: Scope): Promise<Reply> {
  const { request, parts, store } = scope;
  const options = listOptions(request.query, parts.domain);
  if (options.watch) return watchCollection(scope, options);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  return listReply(scope, negotiated, await store.list(listRequest(scope, options)));
}

/** What the store is asked for. */
export function listRequest(scope: Scope, options: ListOptions): ListRequest {
  const { definition, parts } = scope;
  const selection = selectionOf(definition, parts.objects, options.labelSelector, options.fieldSelector);
  return {
    namespace: definition.namespaced ? scope.namespace || (selection.namespace ?? "") : "",
    name: selection.name === "" ? undefined : selection.name,
    limit: options.limit,
    continue: options.continue,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    filter: selection.filter,
  };
}
