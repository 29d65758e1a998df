/** Opens authentication and authorization together; both follow files and objects that may change. */
import type { Authorizer } from "#authz/authorizer.ts";
import { type ServerAuthenticators, serverAuthenticators } from "./authentication.ts";
import type { AuthenticationParts } from "./authentication/parts.ts";
import { type AuthorizationParts, serverAuthorizer } from "./authorization.ts";

export interface Access extends ServerAuthenticators {
  readonly authorizer: Required<Authorizer>;
  /** Stops watching files, and closes the connections to webhooks and identity providers. */
  close(): void;
}

export async function openAccess(
  authenticationParts: AuthenticationParts,
  authorizationParts: AuthorizationParts,
): Promise<Access> {
  const authentication = await serverAuthenticators(authenticationParts);
  const chain = await serverAuthorizer(authorizationParts);
  return {
    ...authentication,
    authorizer: chain.authorizer,
    close() {
      authentication.close();
      chain.close();
    },
  };
}
