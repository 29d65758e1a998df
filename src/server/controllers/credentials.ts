/**
 * Keys and certificates of controllers: the signers of certificate requests and of token Secrets, and the published
 * root certificates. They come from flags, or are the server's own. Signer files are read again when they change.
 */
import { signJwt } from "#authn/jwt.ts";
import { readSigningKey } from "#authn/service-account-keys.ts";
import { legacyClaims } from "#authn/service-account-token.ts";
import type { Signer } from "#controllers/certificate-requests.ts";
import type { TokenParties } from "#controllers/service-accounts.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type Authority, type KeyPair, readAuthority } from "#std/certificate.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { orStartError, readGiven } from "../given-files.ts";
import { readAuthorities } from "../credentials.ts";
import type { CredentialFlags } from "../credentials/flags.ts";
import type { GeneralFlags } from "../general-flags.ts";
import type { ServiceAccountIssuer } from "../authentication/service-account-issuer.ts";
import { serverTrust } from "../credentials/server-trust.ts";
import { StartError } from "#std/start-error.ts";
import type { ControllerFlags } from "./flags.ts";
import { watchFiles } from "../watched-file.ts";

export interface ControllerCredentials {
  /** Returns the current authority of a signer; `undefined` when this server has no authority for it. */
  authority(signer: Signer): Authority | undefined;
  /** Signs a token that is stored in a Secret. */
  signToken(parties: TokenParties, domain: ApiDomain): Promise<string>;
  /** The published root certificates, as PEM. */
  readonly rootCertificates: string;
  /** Reads the files of signers again when they change, until the returned function is called. */
  follow(clock: Clock, log: Log): () => void;
}

interface OwnCredentials {
  readonly ca: KeyPair;
  /** The serving certificate and key. */
  readonly serving: KeyPair;
  readonly issuer: ServiceAccountIssuer;
}

/** The flags that name the files of signers, and the flags that decide which authority programs in pods trust. */
type SigningFlags = ControllerFlags & CredentialFlags & Pick<GeneralFlags, "bindAddress">;

interface Files {
  readonly certificate: string;
  readonly key: string;
}

/** Throws `StartError` for files that cannot be read, used or combined. */
export function readControllerCredentials(options: SigningFlags, own: OwnCredentials): ControllerCredentials {
  const { ca, serving, issuer } = own;
  const files = signerFiles(options);
  const current = new Map([...files.values()].map((pair) => [pair, readPair(pair)]));
  const ownAuthority = readAuthority(ca.certificate, ca.key);
  const { rootCaFile, serviceAccountPrivateKeyFile: tokenKeyFile } = options;
  return {
    authority(signer) {
      if (files.size === 0) return ownAuthority;
      const pair = files.get(signer);
      return pair === undefined ? undefined : current.get(pair);
    },
    signToken: tokenSigner(tokenKeyFile, issuer),
    // The value must not be empty, so for a public authority it is the serving certificate itself.
    rootCertificates:
      rootCaFile === undefined
        ? (serverTrust(options, ca.certificate).ca ?? serving.certificate)
        : readAuthorities(rootCaFile),
    follow(clock, log) {
      const failed = (error: unknown, file: string): void =>
        log.error({ error, file }, "the signer of certificates stays as it was");
      const stops = [...current.keys()].map((pair) =>
        watchFiles([pair.certificate, pair.key], clock, () => void current.set(pair, readPair(pair)), failed),
      );
      return () => stops.forEach((stop) => stop());
    },
  };
}

/** Names of signers in options and in flags. */
const signers = [
  ["kube-apiserver-client", "Client", "kube-apiserver-client-"],
  ["kube-apiserver-client-kubelet", "KubeletClient", "kubelet-client-"],
  ["kubelet-serving", "KubeletServing", "kubelet-serving-"],
  ["legacy-unknown", "LegacyUnknown", "legacy-unknown-"],
] as const satisfies readonly (readonly [signer: Signer, option: string, flag: string])[];

/** Returns the files of each signer that a flag names. Signers with the same files share the object. */
function signerFiles(options: ControllerFlags): ReadonlyMap<Signer, Files> {
  const all = filesOf("", options.clusterSigningCertFile, options.clusterSigningKeyFile);
  const files = new Map<Signer, Files>();
  for (const [signer, name, flag] of signers) {
    const pair = filesOf(flag, options[`clusterSigning${name}CertFile`], options[`clusterSigning${name}KeyFile`]);
    if (pair !== undefined && all !== undefined) {
      throw new StartError(
        "--cluster-signing-cert-file and --cluster-signing-key-file cannot be given together with those of one signer",
      );
    }
    const used = pair ?? all;
    if (used !== undefined) files.set(signer, used);
  }
  return files;
}

function filesOf(name: string, certificate: string | undefined, key: string | undefined): Files | undefined {
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  if (certificate === undefined && key === undefined) return undefined;
  throw new StartError(
    `--cluster-signing-${name}cert-file and --cluster-signing-${name}key-file must be given together`,
  );
}

function readPair({ certificate, key }: Files): Authority {
  const [certificateText, keyText] = [readGiven(certificate), readGiven(key)];
  try {
    return readAuthority(certificateText, keyText);
  } catch (error) {
    throw new StartError(`${certificate} and ${key}: no certificate (PEM) with its key`, { cause: error });
  }
}

function tokenSigner(file: string | undefined, issuer: ServiceAccountIssuer): ControllerCredentials["signToken"] {
  if (file === undefined) return (parties, domain) => issuer.sign(legacyClaims(parties, domain));
  const pem = readGiven(file);
  const { key, id } = orStartError(`${file}: `, () => readSigningKey(pem));
  return (parties, domain) => signJwt(legacyClaims(parties, domain), key, id);
}
