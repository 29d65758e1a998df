/** The private folder of the serving processes, for what exists while they run: the socket of the log. */
import { lstatSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";

/** The maximum length of the path of a socket in bytes. */
const socketPathMax = process.platform === "linux" ? 107 : 103;

export class RuntimeFolder {
  readonly path: string;

  /**
   * Makes the folder. Throws `StartError` when that cannot be, or when the path of the socket in it would be too long.
   */
  constructor({ hasSocket }: { readonly hasSocket: boolean }) {
    const parent = tmpdir();
    const length = Buffer.byteLength(join(parent, "binnacle-XXXXXX/log.sock"));
    if (hasSocket && length > socketPathMax) {
      throw new StartError(
        `${parent} is too long for a socket of the processes: its path would have ${length} bytes, ${socketPathMax} are possible: set TMPDIR to a shorter one`,
      );
    }
    try {
      this.path = mkdtempSync(join(parent, "binnacle-"));
    } catch (error) {
      throw new StartError(`cannot make a folder in ${parent} (TMPDIR): ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Makes the folder again where somebody has removed it. Throws when another program has made one of its name. */
  restore(): void {
    mkdirSync(this.path, { mode: 0o700, recursive: true });
    const found = lstatSync(this.path);
    if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
      throw new Error(`${this.path} is no private folder of this program any more`);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
