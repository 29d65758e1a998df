/**
 * `npm run test:packages [-- NAME…]`: packs the package, installs it in empty folders as projects of its users do, and runs a small
 * test in each, on two versions of Node; an older one says in a sentence that it is too old. It needs the npm registry
 * or npm's cache, so it is no part of `npm run test:more`.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { oldNode, type Project, projects } from "./projects.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "binnacle-packages-"));
process.once("exit", () => rmSync(work, { recursive: true, force: true }));

let failures = 0;

interface Output {
  readonly ok: boolean;
  readonly text: string;
}

function run(command: string, args: readonly string[], cwd: string, path = ""): Output {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...rest } = process.env;
  const env = { ...rest, PATH: `${path}:${process.env["PATH"] ?? ""}`, CI: "true", npm_config_audit: "false" };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8", timeout: 300_000 });
  return { ok: status === 0, text: `${stdout}${stderr}` };
}

function must(command: string, args: readonly string[], cwd: string): string {
  const { ok, text } = run(command, args, cwd);
  if (!ok) throw new Error(`${command} ${args.join(" ")} failed:\n${text}`);
  return text;
}

function report(what: string, ok: boolean, text: string): void {
  process.stdout.write(`${ok ? "ok  " : "FAIL"} ${what}\n`);
  if (ok) return;
  failures++;
  process.stdout.write(`${text.replaceAll(/^/gm, "     ")}\n`);
}

/** Installs a version of Node. Returns the folder of its program. */
function installNode(version: string): string {
  const folder = join(work, `node-${version}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), "{}");
  must("npm", ["install", "--prefer-offline", "--no-fund", `node@${version}`], folder);
  return join(folder, "node_modules/.bin");
}

/** Packs the package, and the client library that it needs. Returns the paths of the files. */
function pack(): readonly string[] {
  return [root, join(root, "packages/client")].map((folder, at) => {
    // The first one builds both.
    const scripts = at === 0 ? [] : ["--ignore-scripts"];
    const text = must("npm", ["pack", "--silent", ...scripts, "--pack-destination", work], folder);
    return join(work, text.trim().split("\n").at(-1) ?? "");
  });
}

function writeProject(name: string, files: Readonly<Record<string, string>>, manifest: object = {}): string {
  const folder = join(work, name);
  for (const [path, text] of Object.entries({ ...files, "package.json": JSON.stringify({ name, ...manifest }) })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const install = (folder: string, what: readonly string[]): string =>
  must("npm", ["install", "--prefer-offline", "--no-fund", ...what], folder);

function tryProject({ name, needs, manifest, files, runs, failing }: Project): void {
  const folder = writeProject(name, files, manifest);
  install(folder, [...tarballs, ...needs]);
  for (const [version, path] of nodes) {
    for (const args of runs) {
      const { ok, text } = run("node", args, folder, path);
      report(`${name}: node ${args.join(" ")} (Node ${version})`, ok, text);
    }
    if (failing === undefined) continue;
    const { ok, text } = run("node", failing.run, folder, path);
    const isShown = failing.shows.every((pattern) => pattern.test(text));
    report(`${name}: a test that fails shows what was asked (Node ${version})`, !ok && isShown, text);
  }
}

function tryOldNode(path: string): void {
  const folder = writeProject("old-node", oldNode.files);
  install(folder, tarballs);
  for (const file of Object.keys(oldNode.files)) {
    const { text } = run("node", [file], folder, path);
    report(`old-node: node ${file} (Node 20)`, oldNode.says.test(text), text);
  }
}

const tarballs = pack();
const nodes: readonly (readonly [string, string])[] = ["26", "24"].map((version) => [version, installNode(version)]);
const wanted = process.argv.slice(2);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
for (const project of projects) if (isWanted(project.name)) tryProject(project);
if (isWanted("old-node")) tryOldNode(installNode("20"));
process.stdout.write(failures === 0 ? "all projects pass\n" : `${failures} failed\n`);
process.exitCode = failures === 0 ? 0 : 1;
