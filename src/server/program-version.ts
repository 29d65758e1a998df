/** The version of this program, from its package. */
import { readFileSync } from "node:fs";

/**
 * Looks for the package in the folders above this file, whose depth differs between the package and the source tree.
 */
export function programVersion(): string {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as Record<
        string,
        string
      >;
      if (name === "binnacle" && version !== undefined) return version;
    } catch {
      // The file is not in this folder.
    }
    if (folder.pathname === "/" || /^\/[A-Za-z]:\/$/.test(folder.pathname)) return "0.0.0";
  }
}
