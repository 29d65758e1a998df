/**
 * `npm run build`: bundles `src/` and `bin/` to `dist/`, with the console for browsers in `dist/console/`, and the client
 * library to `packages/client/dist/`. A start loads a few files instead of seven hundred, in half the time. It prints nothing if it succeeds. With `--declarations` it also
 * writes the types of the packages. `npm run check` checks types, the build does not.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix, sep } from "node:path";
import { type ChunkingContext, type Plugin, rolldown } from "rolldown";
import { buildClient, otherEntries, ownImports } from "./build-client.ts";
import { allPlatforms, buildExecutables, ownPlatform, type Platform, threadEntries } from "./build-executable.ts";
import { bundleTypes } from "./bundle-types.ts";
import { buildConsole } from "./build-console.ts";
import { readCommandLine } from "./command-line.ts";
import { bundledPackages } from "./layers.ts";
import { licensesOf, packageOf } from "./licenses.ts";
import { root } from "./steps.ts";

const usage = `Bundles the program to dist/, and the client library to packages/client/dist/.

Usage: npm run build -- [options]

  --declarations  also write the types of the package's entry points
  --executable    also write dist/executable/: the program as one file that needs no Node.js
  --platform NAME a platform of the executable, "all" for all of them; default: that of this machine
                  (${allPlatforms.join(", ")}); Node for another one comes from the npm registry
  -h, --help      print this`;

/** The files that are started by name: the program, the package, and threads (`std/thread.ts`). */
const entries: Readonly<Record<string, string>> = {
  program: "bin/binnacle",
  plugin: "bin/kubectl-binnacle",
  package: "src/server/start-server",
  testing: "src/testing/testing",
  vitest: "src/testing/vitest",
  jest: "src/testing/jest",
  ...Object.fromEntries(threadEntries.map((path) => [path, path])),
};

const fileOf = (path: string): string => join(root, `${path}.ts`);
const program = fileOf("bin/program");
const server = fileOf("src/commands/serve");
const threads = threadEntries.map(fileOf);

interface BuildOptions {
  readonly declarations?: boolean;
  /** The platforms for which an executable is built. */
  readonly executables?: readonly Platform[];
}

/** Builds the bundle. Returns the error, or an empty text. */
export async function build({ declarations = false, executables = [] }: BuildOptions = {}): Promise<string> {
  try {
    await bundle();
    await buildClient({ declarations });
    await buildConsole();
    writeClientEntries();
    if (declarations) await writeTypes();
    if (executables.length > 0) await buildExecutables(executables);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}

/** The entries of the package that have types. */
const typed = ["package", "testing", "vitest", "jest"] as const;

/** Writes the types of the entries beside their code. */
function writeTypes(): Promise<void> {
  return bundleTypes({
    input: Object.fromEntries(typed.map((name) => [entries[name], fileOf(entries[name]!)])),
    target: join(root, "dist"),
    isOutside: (id) => /^(?:node:|[a-z@])/.test(id),
    plugins: [clientPackage, ownImports],
  });
}

/**
 * Writes the entries by which the package offers the client library under its own name: `binnacle/client/kinds`. Those
 * for `require` ask Node's own loader, as those of the test kit do, so that Jest has the library of the test server.
 */
function writeClientEntries(): void {
  for (const name of ["", ...otherEntries().map((entry) => `/${entry}`)]) {
    const path = `client${name}`;
    const file = join(root, "dist", path);
    mkdirSync(dirname(file), { recursive: true });
    for (const end of ["js", "d.ts", "d.cts"]) {
      writeFileSync(`${file}.${end}`, `export * from "binnacle-client${name}";\n`);
    }
    const loader = `./${posix.relative(posix.dirname(path), "src/testing/load-module.cjs")}`;
    const required = `loadModule("binnacle/${path}", __filename, "./${posix.basename(path)}.js")`;
    writeFileSync(`${file}.cjs`, `"use strict";\nmodule.exports = require("${loader}").${required};\n`);
  }
}

/**
 * Returns the name of the group of a file: its folder, and the entries that need it at once. The code that a server
 * needs is in few files, since every loaded file takes memory and time; code that it loads later may share them. There
 * are at least as many files as folders, since parsing a large file takes memory that is never freed. Threads and other
 * commands load no other files of a server.
 */
function groupOf(file: string, graph: ChunkingContext): string | null {
  const folder = packageOf(file) === undefined ? /[\\/]src[\\/](\w+)[\\/]/.exec(file)?.[1] : "packages";
  if (folder === undefined) return null;
  const starts = startsOf(file, graph);
  if (!starts.has(server)) return `${folder}~${[...starts].sort().join()}`;
  const others = [...threads, program, ...(graph.getModuleInfo(program)?.dynamicallyImportedIds ?? [])];
  const withServer = startsOf(server, graph);
  return `${folder}~server,${others.filter((one) => starts.has(one) && !withServer.has(one)).join()}`;
}

/** Returns the entries and the files loaded on demand that import a file, directly or not. */
function startsOf(file: string, graph: ChunkingContext): Set<string> {
  const seen = new Set([file]);
  for (const one of seen) for (const importer of graph.getModuleInfo(one)?.importers ?? []) seen.add(importer);
  return new Set(
    [...seen].filter((one) => {
      const { isEntry = false, dynamicImporters = [] } = graph.getModuleInfo(one) ?? {};
      return isEntry || dynamicImporters.length > 0;
    }),
  );
}

/** Whether an import stays outside the bundle: the runtime finds the package beside the program. */
function isOutside(id: string, importer: string | undefined): boolean {
  if (id.startsWith("node:")) return true;
  if (!/^@?[a-z]/.test(id) || (importer !== undefined && packageOf(importer) !== undefined)) return false;
  return !bundledPackages.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * Lets the test kit use the package of the client library, as tests do: two copies of a class are different classes, for
 * `instanceof` and for the compiler.
 */
const clientPackage: Plugin = {
  name: "client-package",
  resolveId: (id, importer) =>
    id === "#client/cluster.ts" && importer?.includes(`${sep}testing${sep}`) === true
      ? { id: "binnacle-client", external: true }
      : null,
};

/**
 * Escapes characters above Latin-1: with a single one, the runtime stores the text of a file in two bytes a character.
 */
const asciiOnly: Plugin = {
  name: "ascii-only",
  generateBundle(_options, files) {
    for (const file of Object.values(files)) if (file.type === "chunk") file.code = escape(file.code);
  },
};

const escape = (code: string): string =>
  code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * Writes the paths of thread files into the bundle. At run time they would be resolved by the conditions of the
 * process: with `--conditions=source`, which other packages use too, the runtime would look for them in `src/`.
 */
const threadFiles: Plugin = {
  name: "thread-files",
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      file.code = file.code.replace(/import\.meta\.resolve\("#(.+?)\.ts"\)/g, (_match, path: string) => {
        const wanted = `src/${path}.js`;
        if (!(wanted in files)) throw new Error(`${wanted} is started by name and is no entry of the bundle`);
        return `new URL("${posix.relative(posix.dirname(file.fileName), wanted)}", import.meta.url).href`;
      });
    }
  },
};

/** Adds the tables to the bundle: `api/tables.ts` reads them from its own folder. */
const tables: Plugin = {
  name: "tables",
  generateBundle() {
    const folder = join(root, "src/api/tables");
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".json")) continue;
      const fileName = `chunks/tables/${name.replaceAll("\\", "/")}`;
      this.emitFile({ type: "asset", fileName, source: readFileSync(join(folder, name)) });
    }
  },
};

/** Adds the entries for `require`, which stay as they are, and their types. */
const requiredEntries: Plugin = {
  name: "required-entries",
  generateBundle() {
    const folder = "src/testing";
    for (const name of readdirSync(join(root, folder))) {
      if (!/\.(?:cjs|d\.cts)$/.test(name)) continue;
      this.emitFile({ type: "asset", fileName: `${folder}/${name}`, source: readFileSync(join(root, folder, name)) });
    }
  },
};

/** Adds the licences of all packages whose code is in the bundle, as the licences demand. */
const licenses: Plugin = {
  name: "licenses",
  generateBundle(_options, files) {
    const modules = Object.values(files).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
    this.emitFile({ type: "asset", fileName: "third-party-licenses.txt", source: licensesOf(modules) });
  },
};

/**
 * Replaces imports of built-in modules by calls. An import reads all properties of the module, so that the runtime
 * loads parts that nobody uses: the promises of files with a line editor, the web's interface of crypto, a list of root
 * certificates.
 */
const builtInModules: Plugin = {
  name: "built-in-modules",
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      file.code = file.code.replace(
        /^import \{ (.+) \} from ("node:.+");$/gm,
        (_match, names: string, module: string) =>
          `const { ${names.replaceAll(" as ", ": ")} } = process.getBuiltinModule(${module});`,
      );
    }
  },
};

async function bundle(): Promise<void> {
  const bundler = await rolldown({
    cwd: root,
    input: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, fileOf(path)])),
    platform: "node",
    preserveEntrySignatures: "allow-extension",
    external: isOutside,
    // Packages have two forms; these names select the one for bundlers.
    resolve: { mainFields: ["module", "main"], conditionNames: ["module", "import", "node"] },
    // The bundle has only the used parts of packages, whose files only declare.
    treeshake: { moduleSideEffects: (id) => packageOf(id) === undefined },
    plugins: [clientPackage, ownImports, asciiOnly, threadFiles, tables, requiredEntries, licenses, builtInModules],
  });
  const { output } = await bundler.write({
    dir: join(root, "dist"),
    format: "esm",
    sourcemap: true,
    sourcemapExcludeSources: true,
    entryFileNames: ({ name }) => `${entries[name]}.js`,
    // Chunks are `.mjs` files, since for a `.js` file the runtime looks for a package file in every folder above. The
    // hash prevents that a server whose files are replaced while it runs loads a chunk of another version.
    chunkFileNames: ({ name }) => `chunks/${name.split("~")[0]}-[hash].mjs`,
    comments: false,
    codeSplitting: {
      groups: [{ name: groupOf, debugName: "folders" }],
      includeDependenciesRecursively: false,
    },
  });
  await bundler.close();
  sweep(new Set(output.map(({ fileName }) => fileName)));
  for (const name of ["program", "plugin"]) chmodSync(join(root, `dist/${entries[name]}.js`), 0o755);
}

/** Deletes the code and tables of earlier builds that this build did not write. */
function sweep(written: ReadonlySet<string>): void {
  const dist = join(root, "dist");
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (name.startsWith(`console${sep}`)) continue;
    if (/\.(?:[mc]?js|json|map)$/.test(name) && !written.has(name.replaceAll("\\", "/"))) rmSync(join(dist, name));
  }
}

/** Returns the platforms that the command line names. Throws for an unknown one. */
function platformsNamed(name: string | undefined): readonly Platform[] {
  if (name === "all") return allPlatforms;
  const platform = name === undefined ? ownPlatform() : allPlatforms.find((one) => one === name);
  if (platform === undefined)
    throw new Error(`there is no executable for ${name ?? "this machine"}: only for ${allPlatforms.join(", ")}`);
  return [platform];
}

async function main(): Promise<string> {
  const { values } = readCommandLine(usage, {
    declarations: { type: "boolean" },
    executable: { type: "boolean" },
    platform: { type: "string" },
  });
  const { declarations = false, executable = false, platform } = values;
  if (!executable && platform !== undefined) return "--platform is about the executable: add --executable";
  try {
    return await build({ declarations, executables: executable ? platformsNamed(platform) : [] });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

if (import.meta.main) {
  const problem = await main();
  if (problem !== "") {
    process.stderr.write(`${problem}\nbuild failed\n`);
    process.exitCode = 1;
  }
}
