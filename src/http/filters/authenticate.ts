/** Authenticates the request, or answers 401. Later filters see the user, and no credentials. */
import type { Authenticator } from "#authn/authenticator.ts";
import { unauthorized } from "#meta/status-error.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { Filter } from "./filter.ts";

interface AuthenticateOptions {
  readonly authenticator: Authenticator;
  /** Whether a header contains, or pretends to contain, an identity; names are in lower case. */
  isIdentityHeader(name: string): boolean;
  readonly log: { debug(fields: object, message: string): void };
}

export function authenticate({ authenticator, isIdentityHeader, log }: AuthenticateOptions): Filter {
  return (request, next) =>
    andThen(authenticator.authenticate(request), (answer) => {
      if (answer.outcome !== "user") {
        const reason = answer.outcome === "refused" ? answer.reason : "no credentials";
        log.debug({ reason, auditId: request.auditId }, "unable to authenticate the request");
        throw nobody;
      }
      request.user = answer.user;
      request.forgetHeaders(isIdentityHeader);
      request.identify?.();
      for (const [key, value] of Object.entries(answer.annotations ?? {})) request.annotate(key, value);
      return next(request);
    });
}

/** The same error for everybody: making one with its stack would be a tenth of the cost of a flood of bad tokens. */
const nobody = unauthorized();
