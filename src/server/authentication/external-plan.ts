/**
 * Settings of external authenticators, read from flags and files before anything is opened or written. An invalid
 * configuration ends the start here.
 */
import type { FeatureGates } from "#api/feature-gates.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  type AuthenticationConfig,
  checkJwtConfig,
  type ConfigRules,
  type JwtIssuer,
  readAuthenticationConfig,
} from "#authn/configuration.ts";
import { orStartError, readGiven } from "../given-files.ts";
import { readAuthorities } from "../credentials.ts";
import { claimExpressions } from "./claim-expressions.ts";
import { type ExternalAuthenticationFlags, hasOidcFlags, signingAlgorithms } from "./external-flags.ts";
import { StartError } from "#std/start-error.ts";
import { readWebhookConnection, type WebhookConnection } from "#egress/webhook-connection.ts";

export interface ExternalPlan {
  /** The rules by which the file is read again. */
  readonly rules: ConfigRules;
  readonly issuers: readonly JwtIssuer[];
  /** The accepted signature algorithms of ID tokens. */
  readonly algorithms: readonly string[];
  /** The content of `--authentication-config`. */
  readonly configText: string | undefined;
  /** The setting for anonymous requests in the file; `undefined` when the flag decides. */
  readonly anonymous: AuthenticationConfig["anonymous"];
  readonly webhook: WebhookConnection | undefined;
}

/** Throws `StartError`. */
export function planExternal(
  options: ExternalAuthenticationFlags,
  domain: ApiDomain,
  ownIssuers: readonly string[],
  gates: Pick<FeatureGates, "isOn">,
): ExternalPlan {
  const allowsAnonymous = gates.isOn("AnonymousAuthConfigurableEndpoints");
  const rules: ConfigRules = { domain, ownIssuers, expressions: claimExpressions, allowsAnonymous };
  const { authenticationConfig: file, authenticationTokenWebhookConfigFile: webhookFile } = options;
  const flags = hasOidcFlags(options);
  if (file !== undefined && flags) {
    throw new StartError("--authentication-config and --oidc-* flags are mutually exclusive");
  }
  const text = file === undefined ? undefined : readGiven(file);
  const config =
    text === undefined ? undefined : orStartError(`${file}: `, () => readAuthenticationConfig(text, rules));
  if (config?.anonymous !== undefined && options.anonymousAuth !== undefined) {
    throw new StartError(
      `--anonymous-auth cannot be set when the field anonymous is set in ${file} (--authentication-config)`,
    );
  }
  return {
    rules,
    issuers: config?.issuers ?? (flags ? [issuerOfFlags(options, rules)] : []),
    algorithms: flags ? options.oidcSigningAlgs : signingAlgorithms,
    configText: text,
    anonymous: config?.anonymous,
    webhook: webhookFile === undefined ? undefined : orStartError("", () => readWebhookConnection(webhookFile)),
  };
}

/** Returns the configuration entry that is equivalent to the flags. */
function issuerOfFlags(options: ExternalAuthenticationFlags, rules: ConfigRules): JwtIssuer {
  const { oidcIssuerUrl: url, oidcClientId: clientId, oidcUsernameClaim: claim, oidcGroupsClaim: groups } = options;
  if (url === undefined || clientId === undefined) {
    throw new StartError("--oidc-issuer-url and --oidc-client-id must be set together when any --oidc-* flag is set");
  }
  const prefix = options.oidcUsernamePrefix ?? (claim === "email" ? "" : `${url}#`);
  // The last value of a claim counts.
  const values = new Map(options.oidcRequiredClaim.map((pair) => pair.split(/=(.*)/s, 2) as [string, string])); // checked by the flag
  const required = [...values].map(([name, requiredValue]) => ({ claim: name, requiredValue }));
  const config = {
    issuer: {
      url,
      audiences: [clientId],
      ...(options.oidcCaFile === undefined ? {} : { certificateAuthority: readAuthorities(options.oidcCaFile) }),
    },
    claimMappings: {
      username: { claim, prefix: prefix === "-" ? "" : prefix },
      ...(groups === undefined ? {} : { groups: { claim: groups, prefix: options.oidcGroupsPrefix ?? "" } }),
    },
    claimValidationRules: required,
  };
  return orStartError("--oidc-* flags: ", () => checkJwtConfig(config, rules));
}
