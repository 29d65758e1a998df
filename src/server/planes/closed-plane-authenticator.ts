/**
 * Authentication of requests to closed planes: only somebody with credentials of a plane has it opened. It checks what can
 * be checked without the objects of the plane: the administrator's token, the signatures of service accounts' tokens, and the
 * bootstrap tokens that the plane had when it was closed. The plane then decides itself, as it knows more: whether an account
 * still exists.
 *
 * For a name without a plane it does the same work with unknown keys, so that the time of an answer does not tell names.
 */
import { generateKeyPairSync } from "node:crypto";
import { type Authenticator, noCredentials, type RequestCredentials, union } from "#authn/authenticator.ts";
import { bearerToken, type TokenAuthenticator } from "#authn/bearer-token.ts";
import { parseJwt, SignatureVerifier, textClaim, timeClaims, timeProblem } from "#authn/jwt.ts";
import { readVerificationKeys, serviceAccountAlgorithms, VerificationKeys } from "#authn/service-account-keys.ts";
import { legacyIssuer } from "#authn/service-account-token.ts";
import { tokenDigest } from "#authn/token-digest.ts";
import { webSocketToken } from "#authn/websocket-token.ts";
import type { ApiRequest } from "#http/api-request.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { PlaneCredentials } from "../credentials.ts";

/** The credentials of a plane that are known while it is closed. */
export interface PlaneVerifiers {
  readonly adminDigest: string;
  readonly keys: VerificationKeys;
}

type KnownCredentials = Pick<PlaneCredentials, "adminToken"> & {
  readonly serviceAccount: Pick<PlaneCredentials["serviceAccount"], "publicKey">;
};

export const verifiersOf = ({ adminToken, serviceAccount }: KnownCredentials): PlaneVerifiers => ({
  adminDigest: tokenDigest(adminToken),
  keys: new VerificationKeys(readVerificationKeys(serviceAccount.publicKey)),
});

/** Makes verifiers that nobody has the credentials for: these are random, and forgotten. */
export function unknownVerifiers(adminToken: string): PlaneVerifiers {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  return verifiersOf({ adminToken, serviceAccount: { publicKey: pem } });
}

interface AuthenticatorOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
}

/** Authenticates requests to all closed planes, with one bound on the signatures that wait to be verified. */
export class ClosedPlaneAuthenticator {
  readonly #options: AuthenticatorOptions;
  readonly #verifier = new SignatureVerifier();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * Whether a request has credentials of the plane with these issuers, as far as is known while it is closed. `bootstrap` has the digests
   * of its bootstrap tokens. Rejects with a `StatusError` (429) when too many tokens wait to be verified.
   */
  admits(
    request: ApiRequest,
    issuers: readonly string[],
    { adminDigest, keys }: PlaneVerifiers,
    bootstrap: ReadonlySet<string>,
  ): MaybePromise<boolean> {
    const noted: TokenAuthenticator = {
      authenticateToken(token) {
        const digest = tokenDigest(token);
        return digest === adminDigest || bootstrap.has(digest) ? admitted : noCredentials;
      },
    };
    const tokens = [noted, this.#signed(issuers, keys)];
    const authenticator: Authenticator = union([bearerToken(tokens), webSocketToken(tokens, this.#options.domain)]);
    const { headers, path, clientCertificate, clientCertificateProblem } = request;
    const credentials: RequestCredentials = {
      headers,
      headerValues: (name) => request.headerValues(name),
      path,
      clientCertificate,
      clientCertificateProblem,
      // The plane gives the warnings.
      warnings: [],
    };
    return andThen(authenticator.authenticate(credentials), ({ outcome }) => outcome === "user");
  }

  #signed(issuers: readonly string[], keys: VerificationKeys): TokenAuthenticator {
    return {
      authenticateToken: (token) => {
        const jwt = parseJwt(token);
        const issuer = jwt && textClaim(jwt.claims, "iss");
        if (jwt === undefined || issuer === undefined) return noCredentials;
        if (issuer !== legacyIssuer && !issuers.includes(issuer)) return noCredentials;
        const times = timeClaims(jwt.claims);
        if (times === undefined || timeProblem(times, this.#options.clock.now()) !== undefined) return noCredentials;
        // A plane has one key.
        const [candidate] = keys.find(jwt.keyId);
        if (candidate === undefined) return noCredentials;
        const isGood = this.#verifier.verify(jwt, candidate.key, serviceAccountAlgorithms);
        return andThen(isGood, (good) => (good ? admitted : noCredentials));
      },
    };
  }
}

const admitted = { outcome: "user", user: { name: "", groups: [] } } as const;
