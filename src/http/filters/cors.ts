/** Cross-origin requests of browsers, for origins an operator allowed. Source: upstream's `server/filters/cors.go`. */
import { type Filter, withHeaders } from "./filter.ts";

/**
 * `allowed` are expressions as the operator wrote them, anchored or not; an origin that one of them matches may read
 * answers.
 */
export function cors(allowed: readonly RegExp[]): Filter {
  return async (request, next) => {
    const origin = request.headers["origin"];
    if (origin === undefined || !allowed.some((pattern) => pattern.test(origin))) return next(request);
    const headers = { "access-control-allow-origin": origin, ...fixed };
    // A preflight request needs nothing but these headers.
    if (request.method === "OPTIONS") return { code: 204, headers };
    return withHeaders(await next(request), headers);
  };
}

const fixed = {
  "access-control-allow-methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
  "access-control-allow-headers":
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
  "access-control-expose-headers": "Date",
  "access-control-allow-credentials": "true",
};
