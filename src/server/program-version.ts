/** The package of this program: its folder, and its version. */
import { readFileSync } from "node:fs";

/**
 * Looks for the package in the folders above this file, whose depth differs between the package and the source tree.
 * `undefined` when it is in none of them.
 */
function ownPackage(): { readonly folder: URL; readonly version: string } | undefined {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as Record<
        string,
        string
      >;
      if (name === "binnacle" && version !== undefined) return { folder, version };
    } catch {
      // The file is not in this folder.
    }
    if (folder.pathname === "/" || /^\/[A-Za-z]:\/$/.test(folder.pathname)) return undefined;
  }
}

/** Returns the version of this program. */
export const programVersion = (): string => ownPackage()?.version ?? "0.0.0";

/** Returns the URL of a folder of the package, with a slash at its end; `undefined` when there is no package. */
export function packageFolder(path: string): URL | undefined {
  const found = ownPackage();
  return found === undefined ? undefined : new URL(`${path}/`, found.folder);
}
