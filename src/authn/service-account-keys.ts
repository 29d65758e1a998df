/**
 * Keys of service account tokens: read from PEM, found by key ID, published as a JSON Web Key Set with its discovery
 * document. Source: upstream's `pkg/serviceaccount` and OpenID Connect Discovery 1.0.
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import { algorithmsOf } from "./jwt.ts";

/** A public key, and the id by which tokens name it. */
export interface VerificationKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** A key that signs tokens. */
export interface SigningKey {
  readonly id: string;
  /** The private key. */
  readonly key: KeyObject;
  /** The public key that belongs to it. */
  readonly publicKey: KeyObject;
}

/**
 * Returns the public keys in a PEM text, in order: of public and private keys and of certificates; other blocks are
 * skipped. Throws an `Error` when there is none, or a key that is neither RSA nor ECDSA with a curve that tokens use.
 */
export function readVerificationKeys(pem: string): VerificationKey[] {
  const keys: VerificationKey[] = [];
  for (const [block, label] of pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g)) {
    const key = publicKeyOf(block, label ?? "");
    if (key === undefined) continue;
    if (signingAlgorithm(key) === undefined)
      throw new Error("data does not contain any valid RSA or ECDSA public keys");
    keys.push({ id: keyId(key), key });
  }
  if (keys.length === 0) throw new Error("data does not contain any valid RSA or ECDSA public keys");
  return keys;
}

/** Reads a private key. Throws an `Error` for a text that is no RSA or ECDSA private key in PEM form. */
export function readSigningKey(pem: string): SigningKey {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new Error("data does not contain a valid RSA or ECDSA private key", { cause });
  }
  if (signingAlgorithm(key) === undefined) throw new Error("data does not contain a valid RSA or ECDSA private key");
  const publicKey = createPublicKey(key);
  return { id: keyId(publicKey), key, publicKey };
}

function publicKeyOf(block: string, label: string): KeyObject | undefined {
  const isKey = /^(?:(?:RSA |EC )?PRIVATE|(?:RSA )?PUBLIC) KEY$/.test(label);
  if (!isKey && label !== "CERTIFICATE") return undefined;
  try {
    return isKey ? createPublicKey(block) : new X509Certificate(block).publicKey;
  } catch (cause) {
    throw new Error(`data has a block ${JSON.stringify(label)} that cannot be read`, { cause });
  }
}

/** Returns the ID of a public key, which is its digest. */
function keyId(key: KeyObject): string {
  return hash("sha256", key.export({ type: "spki", format: "der" }), "base64url");
}

/** The algorithms that may sign service account tokens: RSA without the probabilistic padding, and ECDSA. */
export const serviceAccountAlgorithms = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"] as const;

/** Returns the algorithm with which a key signs; `undefined` when it cannot. */
function signingAlgorithm(key: KeyObject): string | undefined {
  return algorithmsOf(key)[0];
}

/** Keys by id; any of them may have signed a token without an id. */
export class VerificationKeys {
  readonly all: readonly VerificationKey[];
  readonly #byId = new Map<string, VerificationKey>();

  /** Duplicate keys count once. */
  constructor(keys: readonly VerificationKey[]) {
    for (const key of keys) this.#byId.set(key.id, key);
    this.all = [...this.#byId.values()];
  }

  find(id: string): readonly VerificationKey[] {
    if (id === "") return this.all;
    const key = this.#byId.get(id);
    return key === undefined ? [] : [key];
  }
}

/** Returns the answer of `GET /openid/v1/jwks`, as text. */
export function keySetDocument(keys: VerificationKeys): string {
  const published = keys.all.map(({ id, key }) => {
    const { kty, crv, n, e, x, y } = key.export({ format: "jwk" });
    return { use: "sig", kty, kid: id, crv, alg: signingAlgorithm(key), n, e, x, y };
  });
  return JSON.stringify({ keys: published });
}

interface IssuerOptions {
  readonly issuer: string;
  readonly keySetUrl: string;
  readonly keys: VerificationKeys;
}

/**
 * Returns the answer of `GET /.well-known/openid-configuration`, as text; an `Error` when the issuer is not a URL that
 * verifiers could use.
 */
export function discoveryDocument({ issuer, keySetUrl, keys }: IssuerOptions): string | Error {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.protocol !== "https:") return new Error(`issuer URL must use https scheme, got: ${issuer}`);
  if (url.search !== "") return new Error(`issuer URL may not include a query, got: ${issuer}`);
  if (url.hash !== "") return new Error(`issuer URL may not include a fragment, got: ${issuer}`);
  return JSON.stringify({
    issuer,
    jwks_uri: keySetUrl,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.all.map(({ key }) => signingAlgorithm(key)))].sort(),
  });
}
