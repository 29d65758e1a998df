/** Opens authentication and authorization together; both follow files and objects that may change. */
import type { Authorizer } from "#authz/authorizer.ts";
import type { AccessConfig } from "./access-config.ts";
import { type ServerAuthenticators, serverAuthenticators } from "./authentication.ts";
import { serverAuthorizer } from "./authorization.ts";

export interface Access extends ServerAuthenticators {
  readonly authorizer: Required<Authorizer>;
  /** Stops watching files and asking others. */
  close(): void;
}

export async function openAccess(config: AccessConfig): Promise<Access> {
  const authentication = await serverAuthenticators(config);
  const chain = await serverAuthorizer(config);
  return {
    ...authentication,
    authorizer: chain.authorizer,
    close() {
      authentication.close();
      chain.close();
    },
  };
}
