/**
 * Reads a certificate request: key, subject, alternative names. Everything in it is checked before use; what is not DER
 * is refused. Source: RFC 2986 (PKCS #10), RFC 5280; Go's `ParseCertificateRequest` for what is accepted.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import {
  type BaseBlock,
  BaseStringBlock,
  BitString,
  BmpString,
  Boolean as BooleanValue,
  Constructed,
  fromBER,
  IA5String,
  Integer,
  NumericString,
  ObjectIdentifier,
  OctetString,
  Primitive,
  PrintableString,
  Sequence,
  Set as SetOf,
  TeletexString,
  Utf8String,
} from "asn1js";

export interface CertificateRequest {
  /** The subject as it was sent: the DER of a `Name`. */
  readonly subject: Buffer;
  /** The common name; empty when there is none, and the last one of several. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly publicKey: KeyObject;
  readonly dnsNames: readonly string[];
  readonly emails: readonly string[];
  /** Addresses as 4 or 16 network bytes. */
  readonly addresses: readonly Buffer[];
  readonly uris: readonly string[];
}

/** The request, or the reason why it is invalid, in upstream's words if upstream has such a message. */
export type ParsedRequest =
  | { readonly ok: true; readonly request: CertificateRequest }
  | { readonly ok: false; readonly problem: string };

/** The reason why a request is refused, for its sender. */
class Refusal extends Error {}

const malformed = "malformed certificate request";
const notDer = "not in the encoding that DER demands";

/** Reads a request from DER, and checks its signature. */
export function readRequest(bytes: Buffer): ParsedRequest {
  try {
    return { ok: true, request: read(bytes) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, problem: `x509: ${error.message}` };
  }
}

function read(bytes: Buffer): CertificateRequest {
  const [info, algorithm, signature] = partsOf(readDer(bytes), Sequence);
  const [version, subject, keyInfo, attributes, ...more] = partsOf(info, Sequence);
  if (version?.constructor !== Integer || more.length > 0) throw new Refusal(malformed);
  const publicKey = readKey(encodeBlock(keyInfo));
  const request = { subject: encodeBlock(subject), publicKey, ...readSubject(subject), ...readNames(attributes) };
  checkSignature(encodeBlock(info), algorithm, signature, publicKey);
  return request;
}

/** Returns the parts of a value of exactly this type. Throws `Refusal` for other types. */
function partsOf(value: BaseBlock | undefined, type: typeof Constructed): readonly BaseBlock[] {
  if (!(value instanceof Constructed) || value.constructor !== type) throw new Refusal(malformed);
  return value.valueBlock.value;
}

function encodeBlock(value: BaseBlock | undefined): Buffer {
  if (value === undefined) throw new Refusal(malformed);
  return Buffer.from(value.valueBeforeDecodeView);
}

function identifierOf(value: BaseBlock | undefined): string {
  const text = value instanceof ObjectIdentifier ? value.getValue() : "";
  if (text === "") throw new Refusal(malformed);
  return text;
}

/** The parser's limits of work and of depth. The content of octet strings and bit strings is not parsed. */
const bounds = { maxDepth: 32, maxNodes: 2000, parseEmbedded: false };

/**
 * The maximum bytes of all identifiers: the parser takes 2 µs for each. A request has a few identifiers of 3 to 20
 * bytes.
 */
const identifierBytesMax = 4000;
const universal = { boolean: 1, objectIdentifier: 6, relativeIdentifier: 13, sequence: 16, set: 17, longForm: 31 };

/**
 * Refuses what would cost the parser much. It looks at heads only, one after the other, and sees the elements that the
 * parser sees, because what DER does not allow is refused: a length that is not told, other types made of parts, truth
 * values of many bytes, which take the square of their time.
 */
function checkHeads(bytes: Uint8Array): void {
  let identifierBytes = 0;
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at++]!;
    const [type, hasParts, isUniversal] = [tag & 0x1f, (tag & 0x20) !== 0, tag < 0x40];
    if (type === universal.longForm) {
      if (isUniversal) throw new Refusal(notDer);
      while (bytes[at]! >= 0x80) at++;
      at++;
    }
    let length = bytes[at++] ?? 0;
    if (length === 0x80) throw new Refusal(notDer);
    if (length > 0x80) {
      const end = at + length - 0x80;
      for (length = 0; at < end; at++) length = length * 0x100 + (bytes[at] ?? 0);
    }
    if (isUniversal && hasParts !== (type === universal.sequence || type === universal.set)) throw new Refusal(notDer);
    if (hasParts) continue;
    at += length;
    if (isUniversal && type === universal.boolean && length !== 1) throw new Refusal(notDer);
    if (isUniversal && (type === universal.objectIdentifier || type === universal.relativeIdentifier)) {
      identifierBytes += length;
    }
    if (identifierBytes > identifierBytesMax) throw new Refusal(malformed);
  }
}

/** Reads a value that is DER from the first byte to the last. Throws `Refusal`. */
function readDer(bytes: Uint8Array): BaseBlock {
  checkHeads(bytes);
  let read: ReturnType<typeof fromBER>;
  let written: Buffer;
  try {
    read = fromBER(bytes, bounds);
    // The parser accepts all of BER. DER has one encoding of a value, so the value is encoded again and compared.
    written = read.offset === bytes.length ? Buffer.from(normalizeBlock(read.result).toBER()) : Buffer.alloc(0);
  } catch (cause) {
    throw new Refusal(malformed, { cause });
  }
  const { result, offset } = read;
  if (result.error.startsWith("End of input")) throw new Refusal("data truncated");
  if (result.error.startsWith("Maximum")) throw new Refusal("certificate request is too large");
  if (offset === -1) throw new Refusal(malformed);
  if (offset < bytes.length) throw new Refusal("trailing data");
  if (!written.equals(bytes)) throw new Refusal(notDer);
  return result;
}

/**
 * Returns the value, changed so that it is encoded as DER. Throws for an integer with a longer encoding than necessary.
 */
function normalizeBlock(value: BaseBlock): BaseBlock {
  value.idBlock.isConstructed = value instanceof Constructed;
  value.lenBlock.isIndefiniteForm = false;
  value.lenBlock.longFormUsed = false;
  if (value instanceof Constructed) value.valueBlock.value.forEach(normalizeBlock);
  if (value instanceof BooleanValue) value.valueBlock.valueHexView = Uint8Array.of(value.getValue() ? 0xff : 0);
  if (value instanceof Integer && !isMinimal(value.valueBlock.valueHexView)) throw new RangeError("no integer");
  if (value instanceof Utf8String || value instanceof BmpString) value.fromString(value.getValue());
  return value;
}

/** Whether an integer has at least one byte, and does not begin with nine equal bits. */
function isMinimal([first, second]: Uint8Array): boolean {
  return second === undefined ? first !== undefined : first !== (second < 0x80 ? 0 : 0xff);
}

const curves = ["secp224r1", "prime256v1", "secp384r1", "secp521r1"];

function readKey(spki: Buffer): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: spki, format: "der", type: "spki" });
  } catch (cause) {
    throw new Refusal("malformed or unsupported public key", { cause });
  }
  const { asymmetricKeyType: type = "", asymmetricKeyDetails: details } = key;
  const bits = details?.modulusLength;
  if (bits !== undefined && (bits < 1024 || bits > 16_384)) {
    throw new Refusal("RSA key of a size that is not taken");
  }
  if (type === "ec" && !curves.includes(details?.namedCurve ?? "")) {
    throw new Refusal("unsupported elliptic curve");
  }
  if (!["rsa", "ec", "ed25519"].includes(type)) throw new Refusal("unsupported public key");
  if (!key.export({ type: "spki", format: "der" }).equals(spki)) throw new Refusal(notDer);
  return key;
}

/**
 * The digest of each signature algorithm, and the type of key that it needs. SHA-1 is accepted, as upstream: the
 * signature only proves that the sender has the key.
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

function checkSignature(
  signed: Buffer,
  algorithm: BaseBlock | undefined,
  signature: BaseBlock | undefined,
  key: KeyObject,
): void {
  const [identifier, parameters] = partsOf(algorithm, Sequence);
  const [digest, type] = signatureAlgorithms[identifierOf(identifier)] ?? [];
  if (digest === undefined || (digest === null && parameters !== undefined)) {
    throw new Refusal("cannot verify signature: algorithm unimplemented");
  }
  if (type !== key.asymmetricKeyType) throw new Refusal("signature algorithm and public key do not go together");
  if (!(signature instanceof BitString) || signature.valueBlock.unusedBits > 0) {
    throw new Refusal("malformed signature");
  }
  let isGood = false;
  try {
    isGood = verify(digest, signed, key, signature.valueBlock.valueHexView);
  } catch {
    // The machine's library refuses to use the key, or the signature is malformed.
  }
  if (!isGood) throw new Refusal("the signature of the request does not verify");
}

/** Returns the parts of a subject that the API uses. */
function readSubject(subject: BaseBlock | undefined): Pick<CertificateRequest, "commonName" | "organizations"> {
  let commonName = "";
  const organizations: string[] = [];
  for (const attribute of partsOf(subject, Sequence).flatMap((part) => partsOf(part, SetOf))) {
    const [type, value] = partsOf(attribute, Sequence);
    const identifier = identifierOf(type);
    if (value === undefined) throw new Refusal(malformed);
    const text = readText(value);
    if (identifier !== "2.5.4.3" && identifier !== "2.5.4.10") continue;
    if (text === undefined) throw new Refusal("a text of an unknown type");
    if (identifier === "2.5.4.3") commonName = text;
    else organizations.push(text);
  }
  return { commonName, organizations };
}

/** The types of text, each with a pattern of its valid texts. */
const texts = new Map<unknown, RegExp>([
  [Utf8String, /^/],
  [TeletexString, /^/],
  [BmpString, /^[^\ud800-\udfff]*$/],
  [PrintableString, /^[A-Za-z0-9 '()+,\-./:=?*&]*$/],
  [NumericString, /^[0-9 ]*$/],
  // oxlint-disable-next-line no-control-regex -- they are part of it
  [IA5String, /^[\0-\x7f]*$/],
]);

/**
 * Returns a text; `undefined` for values of other types. Throws `Refusal` for characters that its type does not have.
 */
function readText(value: BaseBlock): string | undefined {
  const allowed = texts.get(value.constructor);
  if (allowed === undefined || !(value instanceof BaseStringBlock)) return undefined;
  const text = value.getValue();
  if (!allowed.test(text)) throw new Refusal("a text with characters that its type does not have");
  return text;
}

const extensionRequest = "1.2.840.113549.1.9.14";
const subjectAltName = "2.5.29.17";
/** The parser's number for the class of the tags `[0]`, `[1]`, … */
const contextClass = 3;

type Names = Pick<CertificateRequest, "dnsNames" | "emails" | "addresses" | "uris">;

function readNames(attributes: BaseBlock | undefined): Names {
  const names = { dnsNames: [] as string[], emails: [] as string[], addresses: [] as Buffer[], uris: [] as string[] };
  const list = partsOf(attributes, Constructed);
  if (attributes?.idBlock.tagClass !== contextClass || attributes.idBlock.tagNumber !== 0) throw new Refusal(malformed);
  const wanted = list.flatMap(extensionsOf);
  if (new Set(wanted.map(([identifier]) => identifier)).size !== wanted.length) {
    throw new Refusal("certificate request contains duplicate requested extensions");
  }
  const extension = wanted.find(([identifier]) => identifier === subjectAltName);
  if (extension === undefined) return names;
  for (const name of partsOf(readDer(extension[1]), Sequence)) {
    // Other forms are ignored, as upstream.
    if (!(name instanceof Primitive) || name.idBlock.tagClass !== contextClass) continue;
    const content = Buffer.from(name.valueBlock.valueHexView);
    const { tagNumber: form } = name.idBlock;
    if (form === 1) names.emails.push(ascii(content));
    if (form === 2) names.dnsNames.push(ascii(content));
    if (form === 6) names.uris.push(ascii(content));
    if (form !== 7) continue;
    if (content.length !== 4 && content.length !== 16) {
      throw new Refusal(`cannot parse IP address of length ${content.length}`);
    }
    names.addresses.push(content);
  }
  return names;
}

/** Returns identifier and value of the extensions that an attribute requests. */
function extensionsOf(attribute: BaseBlock): (readonly [identifier: string, value: Uint8Array])[] {
  const [type, values] = partsOf(attribute, Sequence);
  const [list] = identifierOf(type) === extensionRequest ? partsOf(values, SetOf) : [];
  if (list === undefined) return [];
  return partsOf(list, Sequence).map((extension) => {
    const parts = partsOf(extension, Sequence);
    const value = parts[parts[1] instanceof BooleanValue ? 2 : 1];
    if (!(value instanceof OctetString)) throw new Refusal("malformed extension");
    return [identifierOf(parts[0]), value.valueBlock.valueHexView] as const;
  });
}

/** Returns a name, which must be ASCII, since other programs would read anything else differently. */
function ascii(content: Buffer): string {
  const text = content.toString("latin1");
  if (/[^\x20-\x7e]/.test(text)) throw new Refusal("a name with characters that are not printable ASCII");
  return text;
}
