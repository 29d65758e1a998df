/**
 * Parses a certificate request: key, subject, alternative names. Everything in it is checked before use; the signature
 * proves that the sender has the private key. Source: RFC 2986 (PKCS #10), RFC 5280.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { type DerElement, DerError, readElements, readObjectIdentifier, readOnly, readText } from "./der.ts";
import { pemBlocks } from "./pem.ts";

export interface CertificateRequest {
  /** The subject as it was sent: DER of a `Name`. */
  readonly subject: Buffer;
  /** Empty when there is none. The last one counts, should there be several. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly publicKey: KeyObject;
  readonly dnsNames: readonly string[];
  readonly emails: readonly string[];
  /** Network bytes: 4 or 16. */
  readonly addresses: readonly Buffer[];
  readonly uris: readonly string[];
}

/** The request, or why it is none; in upstream's words where it has its own. */
export type ParsedRequest =
  | { readonly ok: true; readonly request: CertificateRequest }
  | { readonly ok: false; readonly problem: string };

/** The maximum size; keys of 16,384 bits and a hundred names fit many times. */
const bytesMax = 256 * 1024;

const sequenceTag = 0x30;
const setTag = 0x31;

/** Reads the first PEM block of `text` and checks its signature. */
export function parseCertificateRequest(text: string): ParsedRequest {
  if (text.length > bytesMax) return { ok: false, problem: "x509: certificate request is too large" };
  const { value: block } = pemBlocks(text).next();
  if (block?.label !== "CERTIFICATE REQUEST") {
    return { ok: false, problem: "PEM block type must be CERTIFICATE REQUEST" };
  }
  try {
    return { ok: true, request: read(block.bytes) };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { ok: false, problem: `x509: ${error.message}` };
  }
}

function read(bytes: Buffer): CertificateRequest {
  const [info, algorithm, signature, ...more] = readElements(readOnly(bytes, sequenceTag).content);
  if (info?.tag !== sequenceTag || algorithm?.tag !== sequenceTag || signature?.tag !== 0x03 || more.length > 0) {
    throw new DerError("malformed certificate request");
  }
  const [version, subject, keyInfo, attributes, ...rest] = readElements(info.content);
  if (version?.tag !== 0x02 || subject?.tag !== sequenceTag || keyInfo?.tag !== sequenceTag || rest.length > 0) {
    throw new DerError("malformed certificate request");
  }
  const publicKey = readKey(keyInfo.whole);
  checkSignature(info.whole, algorithm, signature, publicKey);
  return { subject: subject.whole, publicKey, ...readSubject(subject), ...readNames(attributes) };
}

function readKey(spki: Buffer): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: spki, format: "der", type: "spki" });
  } catch (cause) {
    throw new DerError("malformed or unsupported public key", { cause });
  }
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && (bits < 1024 || bits > 16_384)) throw new DerError("RSA key of a size that is not taken");
  if (!["rsa", "ec", "ed25519"].includes(key.asymmetricKeyType ?? "")) throw new DerError("unsupported public key");
  return key;
}

/**
 * Digest of a signature algorithm and the type of key it goes with. SHA-1 is taken, as upstream takes it: the signature
 * only shows that the sender has the key.
 */
const signatureAlgorithms: Readonly<Record<string, readonly [digest: string | null, key: string]>> = {
  "1.2.840.113549.1.1.5": ["sha1", "rsa"],
  "1.2.840.113549.1.1.11": ["sha256", "rsa"],
  "1.2.840.113549.1.1.12": ["sha384", "rsa"],
  "1.2.840.113549.1.1.13": ["sha512", "rsa"],
  "1.2.840.10045.4.1": ["sha1", "ec"],
  "1.2.840.10045.4.3.2": ["sha256", "ec"],
  "1.2.840.10045.4.3.3": ["sha384", "ec"],
  "1.2.840.10045.4.3.4": ["sha512", "ec"],
  "1.3.101.112": [null, "ed25519"],
};

function checkSignature(signed: Buffer, algorithm: DerElement, signature: DerElement, key: KeyObject): void {
  const [identifier] = readElements(algorithm.content);
  if (identifier?.tag !== 0x06) throw new DerError("malformed signature algorithm");
  const known = signatureAlgorithms[readObjectIdentifier(identifier)];
  if (known === undefined) throw new DerError("cannot verify signature: algorithm unimplemented");
  const [digest, type] = known;
  if (type !== key.asymmetricKeyType) throw new DerError("signature algorithm and public key do not go together");
  if (signature.content[0] !== 0) throw new DerError("malformed signature");
  let isGood = false;
  try {
    isGood = verify(digest, signed, key, signature.content.subarray(1));
  } catch {
    // A key the machine's library refuses to use, or a signature that is none.
  }
  if (!isGood) throw new DerError("the signature of the request does not verify");
}

/** The parts of a subject that the API uses. */
function readSubject(subject: DerElement): Pick<CertificateRequest, "commonName" | "organizations"> {
  let commonName = "";
  const organizations: string[] = [];
  for (const set of readElements(subject.content)) {
    if (set.tag !== setTag) throw new DerError("malformed subject");
    for (const attribute of readElements(set.content)) {
      const [type, value, ...more] = readElements(attribute.content);
      if (attribute.tag !== sequenceTag || type?.tag !== 0x06 || value === undefined || more.length > 0) {
        throw new DerError("malformed subject");
      }
      const identifier = readObjectIdentifier(type);
      if (identifier === "2.5.4.3") commonName = readText(value);
      if (identifier === "2.5.4.10") organizations.push(readText(value));
    }
  }
  return { commonName, organizations };
}

const extensionRequest = "1.2.840.113549.1.9.14";
const subjectAltName = "2.5.29.17";

type Names = Pick<CertificateRequest, "dnsNames" | "emails" | "addresses" | "uris">;

function readNames(attributes: DerElement | undefined): Names {
  const names = { dnsNames: [] as string[], emails: [] as string[], addresses: [] as Buffer[], uris: [] as string[] };
  if (attributes === undefined) return names;
  if (attributes.tag !== 0xa0) throw new DerError("malformed attributes");
  const wanted = readElements(attributes.content).flatMap(extensionsOf);
  const identifiers = wanted.map(([identifier]) => identifier);
  if (new Set(identifiers).size !== identifiers.length) {
    throw new DerError("certificate request contains duplicate requested extensions");
  }
  for (const [identifier, value] of wanted) {
    if (identifier !== subjectAltName) continue;
    for (const { tag, content } of readElements(readOnly(value, sequenceTag).content)) {
      if (tag === 0x81) names.emails.push(ascii(content));
      else if (tag === 0x82) names.dnsNames.push(ascii(content));
      else if (tag === 0x86) names.uris.push(ascii(content));
      else if (tag === 0x87) {
        if (content.length !== 4 && content.length !== 16) throw new DerError("an IP address of a wrong length");
        names.addresses.push(content);
      }
    }
  }
  return names;
}

/** Identifier and value of the extensions an attribute asks for. */
function extensionsOf(attribute: DerElement): (readonly [identifier: string, value: Buffer])[] {
  const [type, values] = readElements(attribute.content);
  if (attribute.tag !== sequenceTag || type?.tag !== 0x06 || values?.tag !== setTag) {
    throw new DerError("malformed attributes");
  }
  if (readObjectIdentifier(type) !== extensionRequest) return [];
  return readElements(readOnly(values.content, sequenceTag).content).map((extension) => {
    const parts = readElements(extension.content);
    const [identifier, value] = [parts[0], parts.at(-1)];
    if (extension.tag !== sequenceTag || identifier?.tag !== 0x06 || value?.tag !== 0x04 || parts.length > 3) {
      throw new DerError("malformed extension");
    }
    return [readObjectIdentifier(identifier), value.content] as const;
  });
}

/** Names are ASCII; anything else would be read differently by others. */
function ascii(content: Buffer): string {
  const text = content.toString("latin1");
  if (/[^\x20-\x7e]/.test(text)) throw new DerError("a name with characters that are not printable ASCII");
  return text;
}
