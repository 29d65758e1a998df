/** Encodes replies of handlers in the negotiated encoding. No other module does. */
import type { Encodable, Encoding, ListEncodingOptions } from "#codec/encoding.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Reply } from "./api-request.ts";
import { largeBytes } from "./large-requests.ts";
import type { Scope } from "./scope.ts";

/** Returns the encoded reply. A reply with bytes stays unchanged. */
export function encodeReply(reply: Reply, scope: Pick<Scope, "parts" | "request">): MaybePromise<Reply> {
  if (reply.encoding === undefined) return reply;
  const { code, encoding } = reply;
  if (reply.object !== undefined) return encodeObject(code, encoding, reply.object);
  if (reply.list !== undefined) {
    const { list } = reply;
    return andThen(encoding.list(list, listOptions(scope)), (body) => ({
      code,
      contentType: encoding.mediaType,
      compressible: true,
      ...body,
      list,
    }));
  }
  return { code, contentType: encoding.stream, stream: reply.events(encoding) };
}

/** Returns the encoded reply of a single object. */
export const encodeObject = (code: number, encoding: Encoding, object: Encodable): Reply => ({
  code,
  contentType: encoding.mediaType,
  compressible: true,
  bytes: encoding.object(object),
  object,
});

function listOptions({ parts: { clock, large }, request }: Pick<Scope, "parts" | "request">): ListEncodingOptions {
  if (large === undefined) return { clock };
  return {
    clock,
    large: { weight: largeBytes, encode: (encoding, value) => large.encode(encoding, value, request) },
  };
}
