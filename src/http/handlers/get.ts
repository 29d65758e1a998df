/** GET of one object, or of its status. */
import type { Reply } from "../api-request.ts";
import { objectReply } from "../object-reply.ts";
import type { Scope } from "../scope.ts";

export async function getObject(scope: Scope): Promise<Reply> {
  const { request, store, namespace, name } = scope;
  const negotiated = scope.parts.negotiator.answer(request, scope.parts.transforms);
  const entry = await store.get(
    namespace,
    name,
    request.url.includes("?") ? (request.query.get("resourceVersion") ?? "") : "",
  );
  if (negotiated.transform === "" && negotiated.mediaType === "application/json" && !negotiated.pretty) {
    const bytes = scope.parts.objects.servedBytes(scope.definition, entry);
    return { code: 200, bytes, contentType: "application/json", compressible: true };
  }
  return objectReply(scope, negotiated, 200, store.object(entry), entry);
}
