/** Who a server knows and what they may do, opened together: both read files that may change and objects that do. */
import type { Authenticator } from "#authn/authenticator.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import { serverAuthenticator } from "./authenticators.ts";
import { serverAuthorizer } from "./authorizers.ts";
import type { Lookups } from "./lookups.ts";

export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Stops watching files and asking others. */
  close(): void;
}

export interface AccessConfig extends AssembleConfig {
  /** Of the controllers in this process. */
  readonly loopbackToken: string;
  readonly lookups: Lookups;
}

export function openAccess(config: AccessConfig): Access {
  const authenticator = serverAuthenticator(config);
  const authorizer = serverAuthorizer(config.domain);
  return { authenticator, authorizer, close: () => undefined };
}
