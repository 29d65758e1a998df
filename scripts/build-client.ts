/**
 * Bundles the client library to `packages/client/dist/`: a file for each entry, source maps, and the types, bundled as
 * well. `build.ts` calls it; alone, `node scripts/build-client.ts` builds code and types.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { bundleTypes } from "./bundle-types.ts";
import { root } from "./steps.ts";

const source = join(root, "src", "client");
const target = join(root, "packages", "client", "dist");

/** The entries by the names of their files: the library, controllers, the kinds, and the kinds of each group version. */
function entries(): Record<string, string> {
  const kinds = readdirSync(join(source, "kinds"), { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".ts"))
    .map((name) => [`kinds/${name.replace(/\.ts$/, "")}`, join(source, "kinds", name)] as const);
  return {
    index: join(source, "exports.ts"),
    controllers: join(source, "controllers.ts"),
    kinds: join(source, "kinds.ts"),
    ...Object.fromEntries(kinds),
  };
}

/** Finds the files of imports that begin with `#`. */
export const ownImports: Plugin = {
  name: "own-imports",
  resolveId: (id) => (id.startsWith("#") ? join(root, "src", id.slice(1)) : null),
};

/**
 * Makes 64-bit integers plain numbers in the types of the package: what the library returns was read by `JSON.parse`,
 * which knows nothing else.
 */
const plainIntegers: Plugin = {
  name: "plain-integers",
  generateBundle(_options, files) {
    const wide = "type Int64 = number | RawNumber;";
    const chunks = Object.values(files).flatMap((file) =>
      file.type === "chunk" && file.code.includes(wide) ? [file] : [],
    );
    if (chunks.length !== 1) throw new Error(`the types of the client have ${chunks.length} declarations of Int64`);
    chunks[0]!.code = chunks[0]!.code.replace(wide, "type Int64 = number;");
  },
};

/** Halves the indentation of the types: the size of the package is bounded, and editors show types in their own way. */
const narrowTypes: Plugin = {
  name: "narrow-types",
  generateBundle(_options, files) {
    for (const file of Object.values(files))
      if (file.type === "chunk") file.code = file.code.replace(/^(?: {2})+/gm, ({ length }) => " ".repeat(length / 2));
  },
};

const isOutside = (id: string): boolean => /^(?:node:|js-yaml$|undici(?:$|\/))/.test(id);

/** Returns the entries beside the library itself: `controllers`, `kinds`, `kinds/apps/v1`. */
export const otherEntries = (): string[] => Object.keys(entries()).filter((name) => name !== "index");

/** Writes the code, and the types if they are asked for. Code of earlier builds is removed. */
export async function buildClient({ declarations = false } = {}): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  const code = await rolldown({
    cwd: root,
    input: entries(),
    platform: "node",
    external: isOutside,
    plugins: [ownImports],
  });
  await code.write({
    dir: target,
    format: "esm",
    sourcemap: true,
    // Declarations have the comments.
    comments: false,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
  });
  await code.close();
  removeMapsOfKinds();
  blankCommentsOfMaps();
  if (declarations)
    await bundleTypes({ input: entries(), target, isOutside, plugins: [ownImports, plainIntegers, narrowTypes] });
}

/** Removes the source maps of kinds, which are tables and not code: nobody steps through them. */
function removeMapsOfKinds(): void {
  const folder = join(target, "kinds");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, name);
    if (file.endsWith(".map")) rmSync(file);
    else if (file.endsWith(".js"))
      writeFileSync(file, readFileSync(file, "utf8").replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n"));
  }
}

/** A comment on lines of its own, as the formatter leaves them. */
const comment = /^ *(?:\/\*\*?[^]*?\*\/|\/\/.*)$/gm;

/**
 * Makes comments in the sources of maps blank lines: they would be a tenth of the package, and debuggers need the lines only.
 */
function blankCommentsOfMaps(): void {
  for (const name of readdirSync(target, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js.map")) continue;
    const file = join(target, name);
    const map = JSON.parse(readFileSync(file, "utf8")) as { readonly sourcesContent: readonly string[] };
    const sourcesContent = map.sourcesContent.map((text) =>
      text.replace(comment, (lines) => lines.replace(/[^\n]+/g, "")),
    );
    writeFileSync(file, JSON.stringify({ ...map, sourcesContent }));
  }
}

if (import.meta.main) await buildClient({ declarations: true });
