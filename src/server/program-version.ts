/** The version of this program, from its package. */
import { readFileSync } from "node:fs";

/** Looks upwards from this file, which lies elsewhere in the package than in the source tree. */
export function programVersion(): string {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as Record<
        string,
        string
      >;
      if (name === "binnacle" && version !== undefined) return version;
    } catch {
      // not here
    }
    if (folder.pathname === "/" || /^\/[A-Za-z]:\/$/.test(folder.pathname)) return "0.0.0";
  }
}
