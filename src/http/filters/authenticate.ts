/** Authenticates the request, or answers 401. Later filters see the user and no credentials. */
import type { Authenticator } from "#authn/authenticator.ts";
import { unauthorized } from "#meta/status-error.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { Filter } from "./filter.ts";

interface AuthenticateOptions {
  readonly authenticator: Authenticator;
  /** Whether a header holds, or pretends to hold, an identity; names in lower case. */
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

/** The same for everybody: to make one, with its stack, would be a tenth of what a flood of bad tokens costs. */
const nobody = unauthorized();
