/** GET of one object, or of its status. */
import { andThen, type Soon } from "#std/soon.ts";
import type { Reply } from "../api-request.ts";
import { objectReply } from "../object-reply.ts";
import type { Scope } from "../scope.ts";

export function getObject(scope: Scope): Soon<Reply> {
  const { request, store, namespace, name } = scope;
  const negotiated = scope.parts.negotiator.answer(request, scope.parts.transforms);
  const resourceVersion = request.url.includes("?") ? (request.query.get("resourceVersion") ?? "") : "";
  return andThen(store.get(namespace, name, resourceVersion), (entry) => {
    if (negotiated.transform === "" && negotiated.mediaType === "application/json" && !negotiated.pretty) {
      const bytes = scope.parts.objects.servedBytes(scope.definition, entry);
      return { code: 200, bytes, contentType: "application/json", compressible: true };
    }
    scope.parts.sizes.check(entry.value.length);
    return objectReply(scope, negotiated, 200, store.object(entry), entry);
  });
}
