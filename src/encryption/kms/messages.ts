/**
 * Protobuf messages of KMS plugins (`v2.KeyManagementService`), and the header of values that were encrypted with a
 * seed. Source: upstream's `kms/apis/v2/api.proto` and `encrypt/envelope/kmsv2/v2/api.proto`.
 */
import { ProtobufReader } from "#codec/protobuf-reader.ts";
import { ProtobufWriter } from "#codec/protobuf-writer.ts";

type Annotations = Readonly<Record<string, Buffer>>;

/** The status of a plugin. */
export interface KmsStatus {
  readonly version: string;
  readonly healthz: string;
  readonly keyId: string;
}

/** A value that a plugin encrypted, with the data that the plugin needs to decrypt it. */
export interface KmsEncrypted {
  readonly ciphertext: Buffer;
  readonly keyId: string;
  readonly annotations: Annotations;
}

/**
 * The use of the secret that the plugin encrypts: as the key of values, or as the seed from which the key of each value
 * is derived.
 */
export const seedTypes = { key: 0, hkdfSeed: 1 } as const;

/** A stored value of a KMS provider, after the prefix. */
export interface EncryptedValue extends Omit<KmsEncrypted, "ciphertext"> {
  readonly data: Buffer;
  readonly encryptedSeed: Buffer;
  readonly seedType: number;
}

export function encryptRequest(plaintext: Buffer, uid: string): Buffer {
  const to = new ProtobufWriter();
  to.text(2, uid);
  field(to, 1, plaintext);
  return to.finish();
}

export function decryptRequest({ ciphertext, keyId, annotations }: KmsEncrypted, uid: string): Buffer {
  const to = new ProtobufWriter();
  writeAnnotations(to, 4, annotations);
  to.text(3, keyId);
  to.text(2, uid);
  field(to, 1, ciphertext);
  return to.finish();
}

export function readStatus(bytes: Buffer): KmsStatus {
  const status = { version: "", healthz: "", keyId: "" };
  for (const from of fieldsOf(bytes)) {
    if (from.number === 1) status.version = from.text();
    else if (from.number === 2) status.healthz = from.text();
    else if (from.number === 3) status.keyId = from.text();
    else from.skip();
  }
  return status;
}

export function readEncrypted(bytes: Buffer): KmsEncrypted {
  const encrypted = { ciphertext: Buffer.alloc(0), keyId: "" };
  const annotations = noAnnotations();
  for (const from of fieldsOf(bytes)) {
    if (from.number === 1) encrypted.ciphertext = Buffer.from(from.bytes());
    else if (from.number === 2) encrypted.keyId = from.text();
    else if (from.number === 3) readAnnotation(from, annotations);
    else from.skip();
  }
  return { ...encrypted, annotations };
}

export function readDecrypted(bytes: Buffer): Buffer {
  let plaintext = Buffer.alloc(0);
  for (const from of fieldsOf(bytes)) {
    if (from.number === 1) plaintext = Buffer.from(from.bytes());
    else from.skip();
  }
  return plaintext;
}

/** Returns the bytes that follow the data in the stored form; all values of one seed share them. */
export function valueTail({ keyId, encryptedSeed, annotations, seedType }: Omit<EncryptedValue, "data">): Buffer {
  const to = new ProtobufWriter();
  to.varint(5, seedType);
  writeAnnotations(to, 4, annotations);
  field(to, 3, encryptedSeed);
  to.text(2, keyId);
  return to.finish();
}

/** Returns the bytes that precede `length` bytes of data in the stored form. */
export function dataHead(length: number): Buffer {
  const bytes = [0x0a];
  let rest = length;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** Reads a stored value, whose parts share the memory of `bytes`. Throws `DecodeError`. */
export function readValue(bytes: Buffer): EncryptedValue {
  const empty: Buffer = Buffer.alloc(0);
  const value = { data: empty, keyId: "", encryptedSeed: empty, seedType: 0 };
  const annotations = noAnnotations();
  for (const from of fieldsOf(bytes)) {
    if (from.number === 1) value.data = from.bytes();
    else if (from.number === 2) value.keyId = from.text();
    else if (from.number === 3) value.encryptedSeed = from.bytes();
    else if (from.number === 4) readAnnotation(from, annotations);
    else if (from.number === 5) value.seedType = Number(from.integer());
    else from.skip();
  }
  return { ...value, annotations };
}

/** Yields the reader at each field; the caller reads or skips one value before the next. */
function* fieldsOf(bytes: Buffer): Generator<ProtobufReader> {
  const from = new ProtobufReader(bytes, 0, bytes.length);
  while (from.next()) yield from;
}

const field = (to: ProtobufWriter, number: number, bytes: Buffer): void => to.message(number, () => to.bytes(bytes));

function writeAnnotations(to: ProtobufWriter, number: number, annotations: Annotations): void {
  for (const [name, value] of Object.entries(annotations).toReversed()) {
    to.message(number, () => {
      field(to, 2, value);
      to.text(1, name);
    });
  }
}

/** Returns an empty record without a prototype. */
const noAnnotations = (): Record<string, Buffer> => Object.create(null) as Record<string, Buffer>; // an empty record

function readAnnotation(from: ProtobufReader, annotations: Record<string, Buffer>): void {
  const inner = from.message();
  let name = "";
  let value = Buffer.alloc(0);
  while (inner.next()) {
    if (inner.number === 1) name = inner.text();
    else if (inner.number === 2) value = Buffer.from(inner.bytes());
    else inner.skip();
  }
  annotations[name] = value;
}
