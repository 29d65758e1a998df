/** The licences of packages whose code is part of a bundle. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the folder of the package of a file, with `/` at its end; `undefined` for our own files. */
export const packageOf = (file: string): string | undefined =>
  /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+[\\/]/.exec(file)?.[0];

/** Returns the text of the licences of all packages that these files are of. Throws for a package without one. */
export function licensesOf(modules: readonly string[]): string {
  const packages = new Set(modules.map(packageOf).filter((folder) => folder !== undefined));
  const texts = [...packages].toSorted().map((folder) => {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const { name, version } = manifest as Readonly<Record<string, string>>; // every package has both texts
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} has no licence that the bundle could name`);
    return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
