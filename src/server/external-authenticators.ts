/**
 * Those who are known by others' word: client certificates, an authenticating proxy, identity providers (OpenID
 * Connect), a token webhook; and who may be anonymous.
 */
import type { Authenticator } from "#authn/authenticator.ts";
import type { TokenAuthenticator } from "#authn/bearer-token.ts";
import { clientCertificate } from "#authn/client-certificate.ts";
import type { AccessConfig } from "./access.ts";

export interface ExternalAuthenticators {
  /** The authenticating proxy; asked first. */
  readonly requestHeader?: Authenticator;
  /** Asked after the proxy. */
  readonly clientCertificate: Authenticator;
  /** OpenID Connect, then the webhook; asked after the server's own tokens. */
  readonly tokens: readonly TokenAuthenticator[];
  /** No paths: all of them. */
  readonly anonymous: { readonly enabled: boolean; readonly paths: readonly string[] };
  close(): void;
}

export function externalAuthenticators({ options, domain, clock }: AccessConfig): ExternalAuthenticators {
  return {
    clientCertificate: clientCertificate({ domain, clock }),
    tokens: [],
    anonymous: { enabled: options.anonymousAuth, paths: [] },
    close: () => undefined,
  };
}
