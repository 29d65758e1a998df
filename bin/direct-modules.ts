/**
 * Loads the program's own compiled modules straight from their files. For each import, Node looks up the package, its
 * map of imports, the file, and whether it is a link; skipping this makes the start faster (docs/performance.md).
 * Everything else, and source that is not compiled, is loaded by Node.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

/** Does nothing in source that is not compiled. */
export function loadOwnModulesDirectly(): void {
  // Any name will do: whether there is such a file is not asked.
  const probe = import.meta.resolve("#any.ts");
  if (!probe.startsWith("file:") || !probe.endsWith("/any.js")) return;
  const root = probe.slice(0, -"any.js".length);
  registerHooks({
    resolve(specifier, context, next) {
      const url = ownUrl(root, specifier, context.parentURL);
      return url === undefined ? next(specifier, context) : { url, format: "module", shortCircuit: true };
    },
    load(url, context, next) {
      if (!url.startsWith(root)) return next(url, context);
      return { source: readFileSync(new URL(url), "utf8"), format: "module", shortCircuit: true };
    },
  });
}

/** Says the same as `imports` in `package.json`; `undefined` for what is not ours. */
function ownUrl(root: string, specifier: string, parent: string | undefined): string | undefined {
  if (specifier.startsWith("#") && specifier.endsWith(".ts")) return `${root}${specifier.slice(1, -3)}.js`;
  if (parent === undefined || !parent.startsWith(root) || !/^\.\.?\/[^?#]*\.js$/.test(specifier)) return undefined;
  const { href } = new URL(specifier, parent);
  return href.startsWith(root) ? href : undefined;
}
