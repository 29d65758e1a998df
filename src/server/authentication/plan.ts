/**
 * Settings of authentication, read from flags and files before anything is opened or written. An invalid configuration
 * ends the start here.
 */
import type { FeatureGates } from "#api/feature-gates.ts";
import { readTokenFile, type TokenFile } from "#authn/token-file.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { orStartError, readGiven } from "../given-files.ts";
import { type ExternalAuthenticationFlags, hasOidcFlags } from "./external-flags.ts";
import type { ExternalPlan } from "./external-plan.ts";
import { type IssuerFlags, type ServiceAccountIssuer, serviceAccountIssuer } from "./service-account-issuer.ts";

export interface AuthenticationPlan {
  /** The tokens of `--token-auth-file`. */
  readonly tokens: TokenFile | undefined;
  readonly issuer: ServiceAccountIssuer;
  /** Settings of the external authenticators; `undefined` without any. */
  readonly external: ExternalPlan | undefined;
}

/**
 * Reads the settings. `own` is the server's own key for service accounts. Rejects with `StartError`. The code of
 * external authenticators is loaded only when an option names one.
 */
export async function planAuthentication(
  options: IssuerFlags & ExternalAuthenticationFlags,
  domain: ApiDomain,
  own: { readonly privateKey: string },
  gates: Pick<FeatureGates, "isOn">,
): Promise<AuthenticationPlan> {
  const { tokenAuthFile: file } = options;
  const tokens = file === undefined ? undefined : orStartError("", () => readTokenFile(readGiven(file), file));
  const issuer = serviceAccountIssuer(options, own);
  const external = namesProviders(options)
    ? (await import("./external-plan.ts")).planExternal(options, domain, issuer.issuers, gates)
    : undefined;
  return { tokens, issuer, external };
}

const namesProviders = (options: ExternalAuthenticationFlags): boolean =>
  options.authenticationConfig !== undefined ||
  options.authenticationTokenWebhookConfigFile !== undefined ||
  hasOidcFlags(options);
