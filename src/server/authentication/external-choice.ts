/** Whether the options name an external authenticator; without one, its code is not loaded. */
import type { ServerOptions } from "../options.ts";

export function namesProviders(options: ServerOptions): boolean {
  return (
    options.authenticationConfig !== undefined ||
    options.authenticationTokenWebhookConfigFile !== undefined ||
    hasOidcFlags(options)
  );
}

/** Whether any `--oidc-*` flag is set. */
export function hasOidcFlags(options: ServerOptions): boolean {
  const texts = [
    options.oidcIssuerUrl,
    options.oidcClientId,
    options.oidcCaFile,
    options.oidcUsernamePrefix,
    options.oidcGroupsClaim,
    options.oidcGroupsPrefix,
  ];
  return (
    texts.some((text) => text !== undefined) ||
    options.oidcRequiredClaim.length > 0 ||
    options.oidcUsernameClaim !== "sub" ||
    options.oidcSigningAlgs.join(",") !== "RS256"
  );
}
