/**
 * Checks the structure of the code: the layer map, `#` imports, private subfolders, a comment at the head of every
 * file, dead files, leftover notes, direct use of clock and randomness, tests that measure time, and machine-specific
 * paths. Imports are found by scanning text, so a scan that finds none is an error.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { isAbsolute, join, posix } from "node:path";
import {
  bundledPackages,
  guardedModules,
  guardedPackages,
  layers,
  mayReadClock,
  openFolders,
  outside,
  packageEntries,
} from "./layers.ts";
import { root } from "./steps.ts";
import type { Finding, Sources } from "./tidy-finding.ts";
import { findAliasedTypes, circles, moduleState, roomCircles, findSharedTypeNames } from "./tidy-shape.ts";
import { findMeasuredTimes } from "./tidy-tests.ts";
import { unknownFiles, findUnusedExports, findUnusedPermissions } from "./tidy-usage.ts";
import { firstWords, findRetiredWords, repeatedSentences } from "./tidy-words.ts";

export interface Packages {
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
  /** The source files that the package exports or runs, which are never dead. */
  readonly entries: readonly string[];
  /** The layer map. */
  readonly layers: Readonly<Record<string, readonly string[]>>;
  /** The paths of all files, which comments may name. */
  readonly files: ReadonlySet<string>;
}

/**
 * Returns all findings, in the order of file and line. Throws when `sources` have no import, since the scan is broken
 * then.
 */
export function tidy(sources: Sources, packages: Packages): Finding[] {
  const findings: Finding[] = [];
  const importers = new Map<string, Set<string>>();
  const imports = new Map<string, Set<string>>();
  const codes = new Map<string, string>();
  const all = new Map<string, string>();
  const edges = new Set<string>();
  let importCount = 0;
  for (const [file, text] of sources) {
    if (!/\.tsx?$/.test(file)) {
      findings.push(...checkWords(file, text));
      continue;
    }
    const code = blank(text, false);
    all.set(file, code);
    findings.push(
      ...checkHeader(file, text),
      ...checkWords(file, text),
      ...firstWords(file, text),
      ...repeatedSentences(file, text),
    );
    findings.push(...checkShape(file, code));
    const bare = blank(text, true);
    findings.push(...checkClock(file, bare), ...findMeasuredTimes(file, bare), ...findRetiredWords(file, bare));
    const isOwn = file.startsWith("src/") && !isTest(file);
    if (isOwn) codes.set(file, code);
    if (isOwn) findings.push(...moduleState(file, code));
    if (file.startsWith("src/")) findings.push(...findAliasedTypes(file, code));
    for (const found of importsOf(code)) {
      importCount += 1;
      const target = resolve(file, found.specifier);
      if (target !== undefined) {
        importers.set(target, (importers.get(target) ?? new Set()).add(file));
        if (file.startsWith("src/")) edges.add(`${locationOf(file).folder} ${locationOf(target).folder}`);
        if (isOwn && found.isImport) imports.set(file, (imports.get(file) ?? new Set()).add(target));
      }
      const message = checkImport(file, found, packages, sources);
      if (message !== undefined) findings.push({ file, line: found.line, message });
    }
  }
  if (importCount === 0) throw new Error("no imports seen: the import check is broken");
  findings.push(...deadFiles(sources, importers, packages), ...findSharedTypeNames(codes));
  findings.push(...circles(imports), ...roomCircles(imports));
  findings.push(...findUnusedPermissions(packages.layers, edges), ...unknownFiles(sources, packages.files));
  const isExempt = (file: string): boolean => packages.entries.includes(file) || isGenerated(sources.get(file)!);
  findings.push(...findUnusedExports(all, resolve, isExempt));
  return findings.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Whether it is an import, static or dynamic, and not only a name such as a thread's file. */
  readonly isImport: boolean;
}

function importsOf(code: string): Import[] {
  const imports: Import[] = [];
  const patterns: readonly [RegExp, boolean][] = [
    [/(?:^|[;}\s])(?:import|export)\b[^"'`;]*?\bfrom\s*["']([^"']+)["']/g, true],
    [/(?:^|[;}\s])import\s*["']([^"']+)["']/g, true],
    [/\bimport\(\s*["']([^"']+)["']/g, true],
    [/\bimport\.meta\.resolve\(\s*["'](#[^"']+)["']/g, false],
    [/\bnew URL\(\s*["'](\.[^"']*)["']/g, false],
  ];
  for (const [pattern, isImport] of patterns) {
    for (const match of code.matchAll(pattern)) {
      const start = match.index + match[0].lastIndexOf(match[1]!);
      imports.push({ specifier: match[1]!, line: lineAt(code, start), isImport });
    }
  }
  return imports;
}

/** Returns the repository file that an import names; `undefined` for packages and built-in modules. */
function resolve(file: string, specifier: string): string | undefined {
  if (specifier.startsWith("#")) return `src/${specifier.slice(1)}`;
  if (!specifier.startsWith(".")) return undefined;
  const path = posix.join(posix.dirname(file), specifier);
  return /\.[a-z]+$/.test(path) ? path : `${path.replace(/\.$/, "")}.ts`;
}

function checkImport(file: string, imports: Import, packages: Packages, sources: Sources): string | undefined {
  if (!imports.isImport) return undefined;
  const { specifier } = imports;
  const location = locationOf(file);
  const target = resolve(file, specifier);
  if (target === undefined) return checkPackage(file, specifier, packages);
  if (!sources.has(target)) return `${specifier} does not exist`;
  const there = locationOf(target);
  if (specifier.startsWith(".")) {
    // Only files of `src/` have another name.
    if (there.top !== "src" && outside[location.top] === "all") return undefined;
    if (there.top !== location.top || there.folder !== location.folder)
      return `relative import leaves its folder: write #${target.replace(/^src\//, "")}`;
    return undefined;
  }
  if (location.top === "src" && there.folder === location.folder)
    return `inside a folder imports are relative: ${specifier}`;
  const allowed = location.top === "src" ? layers[location.folder] : outside[location.top];
  if (allowed === undefined) return `${location.top}/${location.folder} is not in scripts/layers.ts`;
  if (allowed === "all") return undefined;
  if (!allowed.includes(there.folder))
    return `${location.folder || location.top} may not import ${there.folder} (scripts/layers.ts)`;
  if (there.inSubfolder && !openFolders.includes(there.folder)) return `${specifier} is private to ${there.folder}`;
  return undefined;
}

function checkPackage(file: string, specifier: string, packages: Packages): string | undefined {
  const { top, folder } = locationOf(file);
  if (specifier.startsWith("node:")) {
    const guarded = guardedModules[specifier];
    const free = guarded === undefined || top !== "src" || isTest(file) || guarded.includes(folder);
    return free ? undefined : `${specifier} may be imported by ${guarded.join(" and ") || "no folder"} only`;
  }
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const shipped = (top === "src" || top === "bin") && !isTest(file);
  const guarded = shipped ? guardedPackages[name] : undefined;
  if (guarded !== undefined && !guarded.some((place) => file.startsWith(`src/${place}/`)))
    return `${name} may be imported by ${guarded.join(" and ")} only`;
  const others = shipped ? bundledPackages : packages.devDependencies;
  if (packages.dependencies.includes(name) || others.includes(name)) return undefined;
  return `${name} is not ${shipped ? "a dependency" : "installed"} (package.json)`;
}

interface SourceLocation {
  /** The top folder: src, bin, scripts, test or bench. */
  readonly top: string;
  /** The folder of `src/`; empty elsewhere. */
  readonly folder: string;
  readonly inSubfolder: boolean;
}

function locationOf(file: string): SourceLocation {
  const parts = file.split("/");
  if (parts[0] !== "src") return { top: parts[0]!, folder: "", inSubfolder: false };
  return { top: "src", folder: parts[1]!, inSubfolder: parts.length > 3 };
}

const isTest = (file: string): boolean => /\.(test|fuzz|contract)\.ts$/.test(file) || /\/fake-[^/]*\.ts$/.test(file);

function checkHeader(file: string, text: string): Finding[] {
  const start = text.startsWith("#!") ? text.indexOf("\n") + 1 : 0;
  const opens = text.startsWith("/**", start) || text.startsWith("//", start);
  return opens ? [] : [{ file, line: 1, message: "no header: say in one to five lines what this file is" }];
}

/** Returns findings about words that do not belong in the repository, neither in code nor in comments. */
function checkWords(file: string, text: string): Finding[] {
  const findings: Finding[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.includes(`FIX${"ME"}`))
      findings.push({ file, line: index + 1, message: "a note that must not reach the main branch" });
    if (/(?:^|[\s"'`(=])\/(?:work|tmp|home|root)\/[a-z]/i.test(line))
      findings.push({ file, line: index + 1, message: "a path of somebody's machine" });
  }
  return findings;
}

function checkShape(file: string, code: string): Finding[] {
  const findings: Finding[] = [];
  for (const match of code.matchAll(/^export default\b/gm))
    findings.push({ file, line: lineAt(code, match.index), message: "default export: give it a name" });
  for (const match of code.matchAll(/^export (?:type )?\*/gm))
    findings.push({
      file,
      line: lineAt(code, match.index),
      message: "barrel: import names from the file that defines them",
    });
  return findings;
}

function checkClock(file: string, bare: string): Finding[] {
  if (!file.startsWith("src/") || isTest(file)) return [];
  const path = file.slice("src/".length);
  if (mayReadClock.some((free) => (free.endsWith("/") ? path.startsWith(free) : path === free))) return [];
  const findings: Finding[] = [];
  const pattern =
    /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|(?<![.\w])set(?:Timeout|Interval)\(|\bMath\.random\b|\bAbortSignal\.timeout\b|\brandom(?:Bytes|UUID|Int)\(/g;
  for (const match of bare.matchAll(pattern)) {
    const message = `${match[0].replace("(", "")} used directly: take a Clock or Random`;
    findings.push({ file, line: lineAt(bare, match.index), message });
  }
  return findings;
}

/** Whether a file holds generated types, which are complete even where unused. */
const isGenerated = (text: string): boolean => text.startsWith("// Generated by ");

/** Returns the files of `src/` that only their own tests name. */
function deadFiles(sources: Sources, importers: ReadonlyMap<string, Set<string>>, packages: Packages): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    if (!file.startsWith("src/") || !/\.tsx?$/.test(file) || packages.entries.includes(file)) continue;
    if (isGenerated(text)) continue;
    if (/\.(test|fuzz)\.ts$/.test(file)) continue;
    const stem = file.replace(/\.tsx?$/, "");
    const users = [...(importers.get(file) ?? [])].filter((user) => !user.startsWith(`${stem}.`));
    if (users.length === 0)
      findings.push({ file, line: 1, message: "dead file: nothing but its own tests imports it" });
  }
  return findings;
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split("\n").length;

/**
 * Returns `text` with comments (and, if asked, the contents of strings) replaced by spaces. Line breaks stay, so that
 * positions stay too. A slash starts a regular expression if an operand may be at its position.
 */
export function blank(text: string, strings: boolean): string {
  const out = text.split("");
  const erase = (from: number, to: number): void => {
    for (let i = from; i < to; i++) if (out[i] !== "\n") out[i] = " ";
  };
  /** The brace depths at which `${` of a template began. */
  const templates: number[] = [];
  let depth = 0;
  let operand = true;
  let i = 0;
  const template = (from: number): number => {
    let at = from;
    while (at < text.length && text[at] !== "`" && !(text[at] === "$" && text[at + 1] === "{"))
      at += text[at] === "\\" ? 2 : 1;
    if (strings) erase(from, at);
    if (text[at] === "`") return at + 1;
    templates.push(depth);
    depth += 1;
    return at + 2;
  };
  while (i < text.length) {
    const char = text[i]!;
    const pair = text.slice(i, i + 2);
    if (pair === "//" || (i === 0 && pair === "#!")) {
      const end = text.indexOf("\n", i);
      erase(i, end < 0 ? text.length : end);
      i = end < 0 ? text.length : end;
    } else if (pair === "/*") {
      const end = text.indexOf("*/", i + 2);
      erase(i, end < 0 ? text.length : end + 2);
      i = end < 0 ? text.length : end + 2;
    } else if (char === '"' || char === "'") {
      let end = i + 1;
      while (end < text.length && text[end] !== char && text[end] !== "\n") end += text[end] === "\\" ? 2 : 1;
      if (strings) erase(i + 1, end);
      i = end + 1;
      operand = false;
    } else if (char === "`") {
      i = template(i + 1);
      operand = text[i - 1] !== "`";
    } else if (char === "/" && operand) {
      let inClass = false;
      let end = i + 1;
      while (end < text.length && text[end] !== "\n" && (inClass || text[end] !== "/")) {
        if (text[end] === "[") inClass = true;
        if (text[end] === "]") inClass = false;
        end += text[end] === "\\" ? 2 : 1;
      }
      erase(i + 1, end);
      i = end + 1;
      operand = false;
    } else if (char === "}" && templates.at(-1) === depth - 1) {
      templates.pop();
      depth -= 1;
      i = template(i + 1);
      operand = text[i - 1] !== "`";
    } else {
      if (char === "{") depth += 1;
      if (char === "}") depth -= 1;
      if (/[\w$]/.test(char)) {
        const word = /^[\w$]+/.exec(text.slice(i, i + 64))![0];
        operand = /^(?:return|typeof|case|of|in|yield|await|void|delete|throw|else|do)$/.test(word);
        i += word.length;
        continue;
      }
      if (!/\s/.test(char)) operand = char !== ")" && char !== "]" && char !== "}";
      i += 1;
    }
  }
  return out.join("");
}

/** Returns the files of this repository that are checked. */
export function readSources(): Sources {
  const sources = new Map<string, string>();
  const add = (path: string): void => void sources.set(path, readFileSync(join(root, path), "utf8"));
  for (const top of ["src", ...Object.keys(outside)]) {
    if (!existsSync(join(root, top))) continue;
    for (const name of readdirSync(join(root, top), { recursive: true, encoding: "utf8" })) {
      const path = posix.join(top, name.replaceAll("\\", "/"));
      if (/\.(tsx?|mjs)$/.test(path)) add(path);
    }
  }
  for (const name of ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]) {
    if (existsSync(join(root, name))) add(name);
  }
  return sources;
}

function readPackages(): Packages {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
    devDependencies: Record<string, string>;
    exports: Record<string, ExportTarget>;
  };
  return {
    dependencies: [
      ...Object.keys(manifest.dependencies),
      ...Object.keys(manifest.peerDependencies),
      ...Object.keys(guardedPackages),
    ],
    devDependencies: Object.keys(manifest.devDependencies),
    entries: Object.values(manifest.exports)
      .flatMap(filesOfExport)
      .filter((path) => !isAbsolute(path) && path.startsWith("./dist/"))
      .map((path) => path.replace("./dist/", "").replace(/\.c?js$/, ".ts"))
      .concat(packageEntries),
    layers,
    files: new Set(["src", "runtime", ...Object.keys(outside)].flatMap(filesOf)),
  };
}

/** The target of an entry of a package: a file, or a file for each condition. */
type ExportTarget = string | { readonly [condition: string]: ExportTarget };

/** Returns the files that an entry of a package may load. */
function filesOfExport(target: ExportTarget): string[] {
  if (typeof target === "string") return [target];
  return Object.entries(target).flatMap(([condition, inner]) => (condition === "types" ? [] : filesOfExport(inner)));
}

/** Returns the paths of all files below a folder of the repository. */
function filesOf(top: string): string[] {
  return readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
    .map((name) => posix.join(top, name.replaceAll("\\", "/")))
    .filter((path) => !path.includes("/node_modules/"));
}

/** Returns the findings about the whole repository, one line for each. */
export function tidyReport(): string[] {
  return tidy(readSources(), readPackages()).map(({ file, line, message }) => `${file}:${line}: ${message}`);
}

if (import.meta.main) {
  const lines = tidyReport();
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  process.exitCode = lines.length === 0 ? 0 : 1;
}
