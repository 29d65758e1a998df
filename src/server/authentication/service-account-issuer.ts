/**
 * The server as issuer of service account tokens: signing and verification keys, audiences, and the two published
 * documents for other verifiers.
 */
import {
  discoveryDocument,
  keySetDocument,
  readSigningKey,
  readVerificationKeys,
  type SigningKey,
  type VerificationKey,
  VerificationKeys,
} from "#authn/service-account-keys.ts";
import { signJwt } from "#authn/jwt.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { checkProducible } from "#http/negotiation.ts";
import { methodUnknown } from "#meta/status-error.ts";
import { orStartError, readGiven } from "../given-files.ts";
import type { CredentialFlags } from "../credentials/flags.ts";
import type { GeneralFlags } from "../general-flags.ts";
import { StartError } from "#std/start-error.ts";
import type { AuthenticationFlags } from "./flags.ts";

export type IssuerFlags = AuthenticationFlags & Pick<CredentialFlags, "tlsPrivateKeyFile">;

export interface ServiceAccountIssuer {
  /** The accepted issuers. New tokens have the first one. */
  readonly issuers: readonly [string, ...string[]];
  /** The audiences that mean this server. */
  readonly audiences: readonly string[];
  readonly keys: VerificationKeys;
  /** The id of the key that signs, which is among the others. */
  readonly signingKeyId: string;
  /** Returns a signed token with these claims. */
  sign(claims: object): Promise<string>;
}

/**
 * The default issuer: the name under which programs inside a cluster reach the server. It is the same in every domain.
 */
const defaultIssuer = "https://kubernetes.default.svc.cluster.local";

/** `own` is the server's own key. Throws `StartError` for invalid files and values. */
export function serviceAccountIssuer(options: IssuerFlags, own: { readonly privateKey: string }): ServiceAccountIssuer {
  const { serviceAccountJwksUri: keySetUrl, serviceAccountMaxTokenExpirationMs: maxMs } = options;
  if (keySetUrl !== undefined && (!URL.canParse(keySetUrl) || new URL(keySetUrl).protocol !== "https:")) {
    throw new StartError(
      `invalid value ${JSON.stringify(keySetUrl)} for --service-account-jwks-uri: must be an https URL`,
    );
  }
  if (maxMs !== 0 && (maxMs < 3_600_000 || maxMs > 2 ** 32 * 1000)) {
    throw new StartError("--service-account-max-token-expiration must be between 1 hour and 2^32 seconds");
  }
  if (new Set(options.serviceAccountIssuer).size !== options.serviceAccountIssuer.length) {
    throw new StartError("--service-account-issuer names an issuer twice");
  }
  const [first = defaultIssuer, ...others] = options.serviceAccountIssuer;
  const file = options.serviceAccountSigningKeyFile;
  const signing = file === undefined ? readSigningKey(own.privateKey) : read(file, readSigningKey);
  return {
    issuers: [first, ...others],
    audiences: options.apiAudiences.length === 0 ? [first] : options.apiAudiences,
    keys: new VerificationKeys(verificationKeys(options, signing)),
    signingKeyId: signing.id,
    sign: (claims) => signJwt(claims, signing.key, signing.id),
  };
}

/** Returns the keys that verify tokens. The server accepts its own tokens whatever other keys are configured. */
function verificationKeys(options: IssuerFlags, signing: SigningKey): VerificationKey[] {
  const { serviceAccountKeyFile, tlsPrivateKeyFile } = options;
  const fallback = tlsPrivateKeyFile === undefined ? [] : [tlsPrivateKeyFile];
  const files = serviceAccountKeyFile.length === 0 ? fallback : serviceAccountKeyFile;
  const own: VerificationKey = { id: signing.id, key: signing.publicKey };
  return [own, ...files.flatMap((file) => read(file, readVerificationKeys))];
}

function read<T>(file: string, parse: (pem: string) => T): T {
  const pem = readGiven(file);
  return orStartError(`${file}: `, () => parse(pem));
}

interface IssuerDocuments {
  /**
   * Answers requests for the two documents, with or without a slash at the end; `undefined` for other paths. Permission
   * has been checked.
   */
  reply(request: Pick<ApiRequest, "path" | "method" | "headers">): Reply | undefined;
  /** The reason why there are no documents; `undefined` when there are. */
  readonly problem: string | undefined;
}

/** `url` is the URL by which clients reach this server. */
export function issuerDocuments(
  issuer: ServiceAccountIssuer,
  options: AuthenticationFlags & Pick<GeneralFlags, "externalHostname">,
  url: string,
): IssuerDocuments {
  const keySetUrl = options.serviceAccountJwksUri ?? `${externalUrl(options, url)}/openid/v1/jwks`;
  const document = discoveryDocument({ issuer: issuer.issuers[0], keySetUrl, keys: issuer.keys });
  // An issuer without a usable URL has no documents, as upstream.
  if (document instanceof Error) return { reply: () => undefined, problem: document.message };
  const replies = new Map([
    ["/.well-known/openid-configuration", publicReply("application/json", () => document)],
    ["/openid/v1/jwks", publicReply("application/jwk-set+json", () => keySetDocument(issuer.keys))],
  ]);
  return {
    problem: undefined,
    reply(request) {
      const { path } = request;
      const reply = replies.get(path.endsWith("/") ? path.slice(0, -1) : path);
      if (reply === undefined) return undefined;
      if (request.method !== "GET") throw methodUnknown();
      checkProducible(request, [reply.contentType]);
      return reply;
    },
  };
}

/** Makes a reply whose text is computed when it is first asked for. */
function publicReply(contentType: string, text: () => string) {
  let bytes: Buffer | undefined;
  return {
    code: 200,
    contentType,
    headers: { "cache-control": "public, max-age=3600" },
    get bytes(): Buffer {
      return (bytes ??= Buffer.from(text()));
    },
  };
}

/** Returns the URL with the host of `--external-hostname`, and the port of `url` unless that host has one. */
export function externalUrl({ externalHostname }: Pick<GeneralFlags, "externalHostname">, url: string): string {
  if (externalHostname === undefined) return url;
  return `https://${externalHostname}${/:\d+$/.test(externalHostname) ? "" : `:${new URL(url).port || "443"}`}`;
}
