/** Where the bytes of versions live. */
import type { Version } from "./version.ts";

export class Arena {
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** A lasting copy of `bytes`. */
  keep(version: Version, bytes: Uint8Array): void {
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    copy.set(bytes);
    version.value = copy;
    this.#bytes += bytes.length;
  }

  /** The version is no longer reachable through the store; readers that still hold its value keep it. */
  release(version: Version): void {
    this.#bytes -= version.value.length;
  }
}
