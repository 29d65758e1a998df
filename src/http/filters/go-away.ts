/**
 * Asks HTTP/2 clients to reconnect: after every answer to an unauthenticated client, so that it cannot keep a
 * connection for abuse (CVE-2023-44487), and sometimes at random, so that clients spread over several servers. Source:
 * upstream's `goaway` filter and `UnauthenticatedHTTP2DOSMitigation`.
 */
import { isAnonymous } from "#authn/authenticator.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import type { Filter } from "./filter.ts";

interface GoAwayOptions {
  /** The value of `--goaway-chance`, from 0 to 0.02. */
  readonly chance: number;
  /** Whether connections of unauthenticated clients are closed. */
  readonly closesUnauthenticated: boolean;
  readonly random: Random;
}

export function goAway({ chance, closesUnauthenticated, random }: GoAwayOptions): Filter {
  return (request, next) => {
    if (request.protocol !== "HTTP/2.0") return next(request);
    return andThen(next(request), (reply) => {
      const isUnauthenticated = closesUnauthenticated && (reply.code === 401 || isAnonymous(request.user));
      const close = isUnauthenticated || (chance > 0 && random.next() < chance);
      return close ? { ...reply, closeConnection: true } : reply;
    });
  };
}
