/**
 * Bundles the console for browsers to `dist/console/`: scripts and styles with a hash of their content in their names,
 * the page that names them, and each file once more as gzip. What a page needs at first is in one script; the rest is
 * loaded by the pages that need it.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { ownImports } from "./build-client.ts";
import { licensesOf } from "./licenses.ts";
import { root } from "./steps.ts";

const source = join(root, "src/console");

interface ConsoleFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Builds the console. Returns the sizes in bytes, as gzip: of what the page loads at first, and of everything. */
export async function buildConsole(): Promise<{ readonly first: number; readonly all: number }> {
  const bundler = await rolldown({
    cwd: root,
    input: { main: join(source, "main.tsx") },
    platform: "browser",
    resolve: { conditionNames: ["module", "import", "browser", "default"] },
    transform: {
      define: { "process.env.NODE_ENV": '"production"' },
    },
    plugins: [ownImports],
  });
  const { output } = await bundler.generate({
    format: "esm",
    minify: true,
    comments: false,
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
  });
  await bundler.close();
  const scripts = output.flatMap((one) => (one.type === "chunk" ? [one] : []));
  const main = scripts.find(({ isEntry }) => isEntry)!;
  const style = hashed("style.css", readFileSync(join(source, "style.css")));
  const icon = hashed("icon.svg", readFileSync(join(source, "icon.svg")));
  const page = readFileSync(join(source, "index.html"), "utf8")
    .replace("style.css", style.name)
    .replace("icon.svg", icon.name)
    .replace("main.js", main.fileName);
  const files: ConsoleFile[] = [
    { name: "index.html", bytes: Buffer.from(page) },
    style,
    icon,
    ...scripts.map(({ fileName, code }) => ({ name: fileName, bytes: Buffer.from(code) })),
    { name: "licenses.txt", bytes: Buffer.from(licensesOf(scripts.flatMap(({ moduleIds }) => moduleIds))) },
  ];
  const folder = join(root, "dist/console");
  mkdirSync(folder, { recursive: true });
  const sizes = new Map(files.map((file) => [file.name, write(folder, file)]));
  const written = new Set(files.flatMap(({ name }) => [name, `${name}.gz`]));
  for (const name of readdirSync(folder)) {
    if (!written.has(name) && !name.endsWith(unfinished)) rmSync(join(folder, name), { force: true });
  }
  const atFirst = ["index.html", style.name, main.fileName, ...main.imports];
  const sum = (names: Iterable<string>): number => [...names].reduce((all, name) => all + (sizes.get(name) ?? 0), 0);
  return { first: sum(atFirst), all: sum([...sizes.keys()].filter((name) => name !== "licenses.txt")) };
}

function hashed(name: string, bytes: Buffer): ConsoleFile {
  const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 8);
  return { name: name.replace(".", `-${hash}.`), bytes };
}

/** Writes a file and its packed form. Returns the bytes of the latter. */
function write(folder: string, { name, bytes }: ConsoleFile): number {
  const packed = gzipSync(bytes, { level: 9 });
  replace(join(folder, name), bytes);
  replace(join(folder, `${name}.gz`), packed);
  return packed.length;
}

const unfinished = ".unfinished";

/** Writes a file unless it is there already. Tests that run side by side build and read the same files. */
function replace(path: string, bytes: Buffer): void {
  if (existsSync(path) && readFileSync(path).equals(bytes)) return;
  const own = `${path}.${process.pid}${unfinished}`;
  writeFileSync(own, bytes);
  renameSync(own, path);
}

if (import.meta.main) {
  const { first, all } = await buildConsole();
  process.stdout.write(`${first} bytes at first, ${all} in all, as gzip\n`);
}
