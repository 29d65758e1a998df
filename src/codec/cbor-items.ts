/**
 * The items of CBOR (RFC 8949): their heads, and the check that bytes are one well-formed item within the limits of
 * Kubernetes. Source of limits and wording: the answers of kube-apiserver 1.32.1.
 */
import { DecodeError } from "#schema/decode-error.ts";

/** The major types. */
export const positive = 0;
export const negative = 1;
export const byteString = 2;
export const textString = 3;
export const array = 4;
export const map = 5;
export const tag = 6;
export const primitive = 7;

/** The names of the major types in messages. */
export const typeNames = [
  "positive integer",
  "negative integer",
  "byte string",
  "UTF-8 text string",
  "array",
  "map",
  "tag",
  "primitives",
] as const;

/** The `info` of a head without a length, and of the byte that ends such an item. */
export const indefinite = 31;
export const breakByte = 0xff;

/** The information of the primitives that Kubernetes knows. */
export const falseInfo = 20;
export const trueInfo = 21;
export const nullInfo = 22;
export const undefinedInfo = 23;
const floatInfos = { half: 25, single: 26, double: 27 } as const;

/** The tag that says that what follows is CBOR; Kubernetes writes it before each object. */
export const selfDescribedTag = 55799;

/** The limits of nested lists, maps and tags, of the items of a list, and of the pairs of a map. */
const depthMax = 64;
const membersMax = 1024;

/** The first number that is too large for 64 bits with a sign. */
export const int64Bound = 2n ** 63n;

/** Reads heads of items. */
export class CborHeads {
  readonly bytes: Buffer;
  at = 0;
  /** The major type of the last head. */
  major = 0;
  /** The five bits beside the major type: the argument itself, its length, or `indefinite`. */
  info = 0;
  /** The argument of the last head; its nearest number if it is too large for an exact one. */
  argument = 0;
  /** The exact argument, if `argument` is not. */
  large: bigint | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Reads the head at `at`. Throws `DecodeError` if it is not there or has no meaning. */
  head(): void {
    const { bytes } = this;
    const first = bytes[this.at];
    if (first === undefined) throw endOfBytes(this.at);
    this.at++;
    this.major = first >> 5;
    this.info = first & 31;
    this.large = undefined;
    if (this.info < 24) {
      this.argument = this.info;
      return;
    }
    if (this.info === indefinite) return this.#checkIndefinite();
    if (this.info > 27) throw this.#invalidInfo();
    const length = 1 << (this.info - 24);
    if (this.at + length > bytes.length) throw endOfBytes(bytes.length);
    if (length < 8) this.argument = bytes.readUIntBE(this.at, length);
    else {
      const exact = bytes.readBigUInt64BE(this.at);
      this.argument = Number(exact);
      if (!Number.isSafeInteger(this.argument)) this.large = exact;
    }
    this.at += length;
  }

  /** Returns the float of the last head. */
  float(): number {
    const { bytes, at, info } = this;
    if (info === floatInfos.double) return bytes.readDoubleBE(at - 8);
    if (info === floatInfos.single) return bytes.readFloatBE(at - 4);
    return new DataView(bytes.buffer, bytes.byteOffset + at - 2, 2).getFloat16(0);
  }

  get isFloat(): boolean {
    return this.major === primitive && this.info >= floatInfos.half && this.info <= floatInfos.double;
  }

  #checkIndefinite(): void {
    const { major } = this;
    if (major === primitive) throw new DecodeError('cbor: unexpected "break" code');
    if (major === positive || major === negative || major === tag) throw this.#invalidInfo();
  }

  #invalidInfo(): DecodeError {
    return new DecodeError(`cbor: invalid additional information ${this.info} for type ${typeNames[this.major]}`);
  }
}

/** Returns the error for bytes that end before the item does. */
const endOfBytes = (at: number): DecodeError => new DecodeError(at === 0 ? "EOF" : "unexpected EOF");

/** Throws `DecodeError` unless the bytes are one well-formed item. It takes about as long as reading the bytes once. */
export function checkCbor(bytes: Uint8Array): void {
  const end = skipItem(new CborHeads(bytes));
  if (end === bytes.length) return;
  throw new DecodeError(`cbor: ${bytes.length - end} bytes of extraneous data starting at index ${end}`);
}

/** Skips the item at `heads.at`. Returns its end. Throws `DecodeError` if it is not well-formed, or beyond a limit. */
export function skipItem(heads: CborHeads, depth = 0): number {
  heads.head();
  let inside = depth;
  while (heads.major === tag) {
    if (heads.argument === 2 || heads.argument === 3) throw notAccepted(tag, "bignum");
    heads.head();
    // The first tag does not count, nor does one before the last list or map.
    if (heads.major === tag && ++inside > depthMax) throw tooDeep();
  }
  switch (heads.major) {
    case byteString:
    case textString:
      skipString(heads);
      break;
    case array:
    case map:
      skipMembers(heads, inside + 1);
      break;
    case primitive:
      checkPrimitive(heads);
  }
  return heads.at;
}

function skipString(heads: CborHeads): void {
  const { major } = heads;
  if (heads.info !== indefinite) return skipText(heads);
  while (heads.bytes[heads.at] !== breakByte) {
    heads.head();
    if (heads.major !== major) {
      throw new DecodeError(
        `cbor: wrong element type ${typeNames[heads.major]} for indefinite-length ${typeNames[major]}`,
      );
    }
    if (heads.info === indefinite) {
      throw new DecodeError(`cbor: indefinite-length ${typeNames[major]} chunk is not definite-length`);
    }
    skipText(heads);
  }
  heads.at++;
}

/** Skips the bytes of a string whose head was read. */
function skipText(heads: CborHeads): void {
  const { argument, large, bytes } = heads;
  if (large !== undefined && large >= int64Bound) {
    throw new DecodeError(`cbor: ${typeNames[heads.major]} length ${large} is too large, causing integer overflow`);
  }
  if (argument > bytes.length - heads.at) throw endOfBytes(bytes.length);
  heads.at += argument;
}

function skipMembers(heads: CborHeads, depth: number): void {
  const { major, info, argument, large } = heads;
  const itemsPerMember = major === map ? 2 : 1;
  if (depth > depthMax) throw tooDeep();
  if (info !== indefinite) {
    if (large !== undefined && large >= int64Bound) {
      throw new DecodeError(`cbor: ${typeNames[major]} length ${large} is too large, it would cause integer overflow`);
    }
    if (argument > membersMax) throw tooMany(major);
    for (let item = 0; item < argument * itemsPerMember; item++) skipItem(heads, depth);
    return;
  }
  for (let members = 0; heads.bytes[heads.at] !== breakByte; ) {
    if (++members > membersMax) throw tooMany(major);
    for (let item = 0; item < itemsPerMember; item++) skipItem(heads, depth);
  }
  heads.at++;
}

function checkPrimitive(heads: CborHeads): void {
  if (heads.isFloat) {
    const value = heads.float();
    if (Number.isNaN(value)) throw notAccepted(primitive, "floating-point NaN");
    if (!Number.isFinite(value)) throw notAccepted(primitive, "floating-point infinity");
  } else if (heads.info === 24 && heads.argument < 32) {
    throw new DecodeError(`cbor: invalid simple value ${heads.argument} for type primitives`);
  }
}

/** Returns the error for an item that CBOR has and Kubernetes does not. */
export const notAccepted = (major: number, what: string): DecodeError =>
  new DecodeError(`cbor: data item of cbor type ${typeNames[major]} is not accepted by protocol: ${what}`);

const tooDeep = (): DecodeError => new DecodeError(`cbor: exceeded max nested level ${depthMax}`);

const tooMany = (major: number): DecodeError =>
  new DecodeError(
    `cbor: exceeded max number of ${major === map ? "key-value pairs" : "elements"} ${membersMax} for CBOR ${typeNames[major]}`,
  );
