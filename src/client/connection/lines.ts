/** Splits the body of a watch into lines. */

/** Gets the lines of an answer with code 200. */
export interface LineReader {
  /** Called when the answer has begun. It may be called again, if the request is sent again before there is a line. */
  begin(): void;
  line(line: Buffer): void;
}

const newline = 0x0a;

export class LineSplitter {
  readonly #onLine: (line: Buffer) => void;
  readonly #lengthMax: number;
  /** The pieces of a line that is not complete yet. */
  #pieces: Buffer[] = [];
  #length = 0;

  /** `lengthMax` is the maximum number of bytes of a line. */
  constructor(onLine: (line: Buffer) => void, lengthMax: number) {
    this.#onLine = onLine;
    this.#lengthMax = lengthMax;
  }

  /** Takes the next bytes. Throws for a line that is too long, and every error of the listener. */
  take(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      const part = bytes.subarray(start, end);
      start = end + 1;
      if (this.#pieces.length === 0) this.#onLine(part);
      else this.#onLine(this.#joined(part));
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  #joined(last: Buffer): Buffer {
    this.#keep(last);
    const line = Buffer.concat(this.#pieces, this.#length);
    this.#pieces = [];
    this.#length = 0;
    return line;
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length > this.#lengthMax) throw new Error(`a line of the answer has more than ${this.#lengthMax} bytes`);
  }
}
