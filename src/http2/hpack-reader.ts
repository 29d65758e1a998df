/**
 * Reads blocks of header fields of HTTP/2: indexed and literal fields, with the dynamic table that the blocks of one
 * connection share. What the fields mean, and which of them are allowed, is for others.
 *
 * Hot path. Source: RFC 7541, sections 3 to 6.
 */
import {
  codeEnds,
  codeSteps,
  dynamicStart,
  fieldOverheadBytes,
  staticNames,
  staticValues,
  stepByteCountShift,
  stepByteShift,
  stepState,
  tableBytesDefault,
} from "./hpack-tables.ts";

/** A block that is malformed. Blocks after it cannot be read, so that the connection must end (COMPRESSION_ERROR). */
export class HeaderBlockError extends Error {}

interface BlockReaderOptions {
  /** The bytes of the dynamic table that this side has announced (SETTINGS_HEADER_TABLE_SIZE). */
  readonly tableBytesMax: number;
  /** The sum of names, values and 32 bytes for each field. */
  readonly listBytesMax: number;
  readonly fieldsMax: number;
}

/** The bytes of a coded text for which a reader keeps space. */
const spaceBytes = 512;
/** A byte has a code of five bits or more. */
const decodedLengthMax = (codedLength: number): number => Math.ceil((codedLength * 8) / 5);

/** Reads the blocks of header fields of one connection, each exactly once and in order. Texts have one character a byte. */
export class BlockReader {
  readonly #options: BlockReaderOptions;
  /** The bytes that the writer lets the table have. They are the default until it says otherwise, whatever is announced. */
  #tableBytesMax = tableBytesDefault;
  #tableBytes = 0;
  /**
   * A ring of the names and values of the dynamic table, alternately. The number of fields ever kept is `#kept`, the last
   * of them is at (#kept - 1) & #ringMask. Invariant: more fields than the ring can hold are more than `#tableBytesMax`.
   */
  #ring: string[] = [];
  readonly #ringMask: number;
  #kept = 0;
  #count = 0;
  /** The position in the block. */
  #at = 0;
  #space: Buffer | undefined;

  constructor(options: BlockReaderOptions) {
    this.#options = options;
    const tableBytesMax = Math.max(options.tableBytesMax, tableBytesDefault);
    this.#ringMask = 2 ** Math.ceil(Math.log2(tableBytesMax / fieldOverheadBytes)) - 1;
  }

  /**
   * Returns the fields of a block, names and values alternately; `undefined` when they are more than the limits permit, in
   * which case blocks after it can be read all the same. Throws a `HeaderBlockError` for a block that is malformed.
   */
  read(block: Buffer): string[] | undefined {
    const fields: string[] = [];
    let fieldsLeft = this.#options.fieldsMax;
    let bytesLeft = this.#options.listBytesMax;
    this.#at = 0;
    this.#resizeTable(block);
    while (this.#at < block.length) {
      const first = block[this.#at++]!;
      let name: string;
      let value: string;
      if (first >= 0x80) {
        const index = this.#integer(block, first, 0x7f);
        if (index < dynamicStart) {
          if (index === 0) throw new HeaderBlockError("a block of headers names field 0 of the table");
          name = staticNames[index]!;
          value = staticValues[index]!;
        } else {
          const at = this.#ringPosition(index);
          name = this.#ring[at]!;
          value = this.#ring[at + 1]!;
        }
      } else {
        const isKept = first >= 0x40;
        if (!isKept && first >= 0x20) throw new HeaderBlockError("a block of headers changes the table after a field");
        const index = this.#integer(block, first, isKept ? 0x3f : 0x0f);
        if (index === 0) name = this.#text(block);
        else name = index < dynamicStart ? staticNames[index]! : this.#ring[this.#ringPosition(index)]!;
        value = this.#text(block);
        if (isKept) this.#keep(name, value);
      }
      fieldsLeft -= 1;
      bytesLeft -= name.length + value.length + fieldOverheadBytes;
      if (fieldsLeft >= 0 && bytesLeft >= 0) fields.push(name, value);
    }
    return fieldsLeft < 0 || bytesLeft < 0 ? undefined : fields;
  }

  /** Reads the changes of the size of the table at the beginning of a block: the smallest since the last one, and the last. */
  #resizeTable(block: Buffer): void {
    for (let changes = 0; changes < 2 && this.#at < block.length; changes++) {
      const first = block[this.#at]!;
      if (first >> 5 !== 1) return;
      this.#at += 1;
      const size = this.#integer(block, first, 0x1f);
      if (size > this.#options.tableBytesMax)
        throw new HeaderBlockError(`a block of headers asks for a table of ${size} bytes`);
      this.#tableBytesMax = size;
      this.#evict(size);
    }
  }

  #keep(name: string, value: string): void {
    const size = name.length + value.length + fieldOverheadBytes;
    this.#evict(this.#tableBytesMax - size);
    if (size > this.#tableBytesMax) return;
    if (this.#ring.length === 0) this.#ring = new Array<string>((this.#ringMask + 1) * 2).fill("");
    const at = (this.#kept & this.#ringMask) * 2;
    this.#ring[at] = name;
    this.#ring[at + 1] = value;
    this.#kept += 1;
    this.#count += 1;
    this.#tableBytes += size;
  }

  /** Drops the oldest fields until the table has `bytes` or less; all if `bytes` is negative. */
  #evict(bytes: number): void {
    while (this.#tableBytes > bytes && this.#count > 0) {
      const at = ((this.#kept - this.#count) & this.#ringMask) * 2;
      this.#tableBytes -= this.#ring[at]!.length + this.#ring[at + 1]!.length + fieldOverheadBytes;
      this.#ring[at] = "";
      this.#ring[at + 1] = "";
      this.#count -= 1;
    }
  }

  /** Returns the position in the ring of a field of the dynamic table. */
  #ringPosition(index: number): number {
    const age = index - dynamicStart;
    if (age >= this.#count) throw new HeaderBlockError(`a block of headers names field ${index} of the table`);
    return ((this.#kept - 1 - age) & this.#ringMask) * 2;
  }

  /** Reads the rest of a number that begins in the bits `mask` of `first`. */
  #integer(block: Buffer, first: number, mask: number): number {
    let value = first & mask;
    if (value < mask) return value;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte(block);
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new HeaderBlockError("a block of headers has a number that is too long");
  }

  #byte(block: Buffer): number {
    if (this.#at >= block.length) throw new HeaderBlockError("a block of headers is cut off");
    return block[this.#at++]!;
  }

  #text(block: Buffer): string {
    const first = this.#byte(block);
    const length = this.#integer(block, first, 0x7f);
    const start = this.#at;
    const end = start + length;
    if (end > block.length) throw new HeaderBlockError("a block of headers is cut off");
    this.#at = end;
    return first < 0x80 ? block.toString("latin1", start, end) : this.#codedText(block, start, end);
  }

  #codedText(block: Buffer, start: number, end: number): string {
    const space = this.#spaceFor(end - start);
    let length = 0;
    let state = 0;
    for (let at = start; at < end; at++) {
      const byte = block[at]!;
      let step = codeSteps[(state << 4) | (byte >> 4)]!;
      // A byte that is not complete is overwritten by the next one.
      space[length] = step >> stepByteShift;
      length += (step >> stepByteCountShift) & 1;
      step = codeSteps[((step & stepState) << 4) | (byte & 0x0f)]!;
      space[length] = step >> stepByteShift;
      length += (step >> stepByteCountShift) & 1;
      state = step & stepState;
    }
    if (codeEnds[state] !== 1) throw new HeaderBlockError("a text in a block of headers is coded wrongly");
    return space.toString("latin1", 0, length);
  }

  /** Returns space for a text of `codedLength` coded bytes, and for a byte that is not complete. */
  #spaceFor(codedLength: number): Buffer {
    const size = decodedLengthMax(Math.max(codedLength, spaceBytes)) + 1;
    if (codedLength > spaceBytes) return Buffer.allocUnsafe(size);
    return (this.#space ??= Buffer.allocUnsafeSlow(size));
  }
}
