/**
 * Bytes of a connection that have come and were not used yet.
 *
 * Hot path: nearly always one read of the socket is one whole request. Then nothing is copied, here or later: what is
 * taken is a part of the buffer that the socket gave.
 */

const none = Buffer.alloc(0);

export class Input {
  #bytes: Buffer = none;
  #start = 0;
  /** Invariant: the socket's own buffer ends here. What lies behind is of a buffer that was made here, and free. */
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  append(piece: Buffer): void {
    if (this.#start === this.#end) {
      this.#bytes = piece;
      this.#start = 0;
      this.#end = piece.length;
      return;
    }
    const length = this.length + piece.length;
    if (this.#end + piece.length > this.#bytes.length) {
      // Twice the size, so that what comes byte by byte is copied a few times only. Bytes taken before stay as they are.
      const larger = Buffer.allocUnsafeSlow(2 * length);
      this.#bytes.copy(larger, 0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.#end);
    this.#end += piece.length;
  }

  /** The byte at a place; `undefined` behind the last. */
  at(index: number): number | undefined {
    return index < this.length ? this.#bytes[this.#start + index] : undefined;
  }

  /** Place of a byte or of a sequence, not before `from`; -1 when it is not there. */
  indexOf(sought: number | Buffer, from: number): number {
    // Not in what lies behind the end, which may be long: for each byte that comes it would be searched again.
    const bytes = this.#end < this.#bytes.length ? this.#bytes.subarray(0, this.#end) : this.#bytes;
    const at = bytes.indexOf(sought, this.#start + from);
    return at < 0 ? -1 : at - this.#start;
  }

  /** The first bytes as text, one character a byte. */
  text(length: number): string {
    return this.#bytes.toString("latin1", this.#start, this.#start + length);
  }

  /** The first bytes, which are then used up. */
  take(length: number): Buffer {
    const from = this.#start;
    this.#start += length;
    const whole = from === 0 && length === this.#bytes.length;
    const taken = whole ? this.#bytes : this.#bytes.subarray(from, from + length);
    this.#letGo();
    return taken;
  }

  /** Uses up the first bytes. */
  skip(length: number): void {
    this.#start += length;
    this.#letGo();
  }

  clear(): void {
    this.#start = this.#end;
    this.#letGo();
  }

  #letGo(): void {
    if (this.#start === this.#end) this.#bytes = none;
    if (this.#bytes === none) {
      this.#start = 0;
      this.#end = 0;
    }
  }
}
