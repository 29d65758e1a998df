/**
 * The bytes of frames between the process that owns the log and the others: a length of four bytes, then that many
 * bytes of fields. Numbers are little-endian doubles, texts and bytes have their length before them.
 */

/** The longest frame: a value of the log is some megabytes at most. */
export const frameBytesMax = 64 * 1024 * 1024;

const lengthBytes = 4;

/** Thrown when bytes are no frame, or a frame is not what it should be. */
export class DamagedFrame extends Error {}

/** Writes one frame. */
export class FrameWriter {
  #buffer: Buffer;
  #length = lengthBytes;

  /** `bytes` is about the length that is needed. */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes + lengthBytes);
  }

  byte(value: number): void {
    const at = this.#room(1);
    this.#buffer[at] = value;
  }

  uint32(value: number): void {
    const at = this.#room(4);
    this.#buffer.writeUInt32LE(value, at);
  }

  double(value: number): void {
    const at = this.#room(8);
    this.#buffer.writeDoubleLE(value, at);
  }

  text(value: string): void {
    const at = this.#room(lengthBytes + value.length * 3);
    const written = this.#buffer.write(value, at + lengthBytes, "utf8");
    this.#buffer.writeUInt32LE(written, at);
    this.#length = at + lengthBytes + written;
  }

  bytes(value: Buffer): void {
    this.uint32(value.length);
    this.rest(value);
  }

  /** Writes bytes that end with the frame. */
  rest(value: Buffer): void {
    const at = this.#room(value.length);
    value.copy(this.#buffer, at);
  }

  /** Returns the frame with its length. Throws a `RangeError` for one that is too long. */
  take(): Buffer {
    const length = this.#length - lengthBytes;
    if (length > frameBytesMax) throw new RangeError(`a frame of ${length} bytes is too long`);
    this.#buffer.writeUInt32LE(length, 0);
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns the fields without the length of the frame. */
  takeFields(): Buffer {
    return this.#buffer.subarray(lengthBytes, this.#length);
  }

  #room(bytes: number): number {
    const at = this.#length;
    this.#length += bytes;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, at);
      this.#buffer = larger;
    }
    return at;
  }
}

/** Reads the fields of one frame. All methods throw `DamagedFrame`. */
export class FieldReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#bytes[this.#take(1)]!;
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  text(): string {
    const length = this.uint32();
    const at = this.#take(length);
    return this.#bytes.toString("utf8", at, at + length);
  }

  /** Returns bytes that share the memory of the frame. */
  bytes(): Buffer {
    const length = this.uint32();
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Returns all bytes that are left. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#take(this.#bytes.length - this.#at));
  }

  /** Checks that everything was read. */
  end(): void {
    if (this.#at < this.#bytes.length) throw new DamagedFrame("a frame has bytes after its last field");
  }

  #take(length: number): number {
    const at = this.#at;
    if (length > this.#bytes.length - at) throw new DamagedFrame("a frame ends within a field");
    this.#at = at + length;
    return at;
  }
}

/** Splits the pieces of a connection into frames. */
export class FrameSplitter {
  #pieces: Buffer[] = [];
  #length = 0;
  /** The number of bytes with which the first frame is whole. */
  #needed = lengthBytes;

  /** Calls `take` with the fields of each frame that is whole. Throws `DamagedFrame` for a length out of bounds. */
  add(piece: Buffer, take: (fields: Buffer) => void): void {
    let bytes = piece;
    if (this.#length > 0) {
      this.#pieces.push(piece);
      this.#length += piece.length;
      if (this.#length < this.#needed) return;
      bytes = Buffer.concat(this.#pieces, this.#length);
      this.#pieces = [];
      this.#length = 0;
    }
    let at = 0;
    for (;;) {
      this.#needed = lengthBytes;
      if (bytes.length - at < lengthBytes) break;
      const length = bytes.readUInt32LE(at);
      if (length === 0 || length > frameBytesMax) throw new DamagedFrame(`no frame is ${length} bytes long`);
      this.#needed += length;
      if (bytes.length - at < this.#needed) break;
      take(bytes.subarray(at + lengthBytes, at + this.#needed));
      at += this.#needed;
    }
    if (at === bytes.length) return;
    this.#pieces = [bytes.subarray(at)];
    this.#length = bytes.length - at;
  }
}
