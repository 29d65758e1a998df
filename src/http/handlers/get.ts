/** GET of one object, or of its status. */
import { badRequest } from "#meta/status-error.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import type { HandledRequest, Reply } from "../api-request.ts";
import { turnFor, weightOf } from "../large-requests.ts";
import { objectReply, StoredContent } from "../object-reply.ts";
import { queryFlag } from "../request-info.ts";
import type { Scope } from "../scope.ts";

export function getObject(scope: Scope): MaybePromise<Reply> {
  const { request, parts, definition, store, namespace, name } = scope;
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const resourceVersion = wantedVersion(request);
  return andThen(store.get(namespace, name, resourceVersion, scope.context), (entry) => {
    const { encoding, transform } = negotiated;
    if (transform === "" && encoding.sendsStored) {
      return { code: 200, encoding, object: new StoredContent(parts.objects, definition, entry) };
    }
    parts.sizes.check(weightOf(entry.value));
    const waiting = turnFor(entry.valueLength);
    if (isLate(waiting)) request.seats?.slow();
    return andThen(waiting, () => objectReply(scope, negotiated, 200, store.object(entry), entry));
  });
}

/**
 * Returns the minimum version of a GET of one object; empty for the current one. Refuses versions that are compacted.
 */
export function wantedVersion({ url, query }: HandledRequest): string {
  if (!url.includes("?")) return "";
  if (queryFlag(query.get("export"))) {
    throw badRequest("the export parameter, deprecated since v1.14, is no longer supported");
  }
  return query.get("resourceVersion") ?? "";
}
