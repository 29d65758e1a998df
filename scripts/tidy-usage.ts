/**
 * Three checks of `tidy.ts` for unused things: exports without an import, permissions of the layer map without an
 * import, and names of files in comments that do not exist.
 */
import type { Finding, Sources } from "./tidy-finding.ts";

const declared = /^export (?:async )?(?:abstract )?(?:function\*?|class|const|let|interface|type) (\w+)/gm;
const listed = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*["']([^"']+)["']/g;
const taken = /\{([^{}]*)\}\s*=\s*await import\(\s*["']([^"']+)["']/g;
const loaded = /\bimport\(\s*["']([^"']+)["']|\bnew URL\(\s*["'](\.[^"']*\.ts)["']/g;

/**
 * Returns exports that no other file imports by name; imports of tests count. All exports of a module that is loaded as
 * a whole (`await import(…)` without names) count as used. `codes` are sources without comments, `resolve` returns the
 * file that an import names.
 */
export function findUnusedExports(
  codes: ReadonlyMap<string, string>,
  resolve: (file: string, specifier: string) => string | undefined,
  isExempt: (file: string) => boolean,
): Finding[] {
  const used = new Set<string>();
  const whole = new Set<string>();
  for (const [file, code] of codes) {
    const destructured = new Set<number>();
    for (const pattern of [listed, taken]) {
      for (const { 0: text, 1: names = "", 2: specifier = "", index } of code.matchAll(pattern)) {
        if (pattern === taken) destructured.add(index + text.indexOf("import", text.indexOf("=")));
        const target = resolve(file, specifier);
        for (const name of names.matchAll(/(?:^|,)\s*(?:type )?(\w+)/g)) used.add(`${target}#${name[1]}`);
      }
    }
    for (const { 1: module, 2: url, index } of code.matchAll(loaded)) {
      if (!destructured.has(index)) whole.add(resolve(file, (module ?? url)!) ?? ""); // one of the two exists
    }
  }
  const findings: Finding[] = [];
  for (const [file, code] of codes) {
    if (isExempt(file) || whole.has(file)) continue;
    for (const { 1: name, index } of code.matchAll(declared)) {
      if (used.has(`${file}#${name}`)) continue;
      const line = code.slice(0, index).split("\n").length;
      findings.push({ file, line, message: `${name} is exported, and nobody imports it` });
    }
  }
  return findings;
}

/** Returns edges of the layer map that no import needs. `edges` are the used ones: `storage meta`. */
export function findUnusedPermissions(
  layers: Readonly<Record<string, readonly string[]>>,
  edges: ReadonlySet<string>,
): Finding[] {
  return Object.entries(layers).flatMap(([folder, allowed]) =>
    allowed
      .filter((other) => !edges.has(`${folder} ${other}`))
      .map((other) => ({ file: "scripts/layers.ts", line: 1, message: `${folder} need not import ${other}` })),
  );
}

const fileName = /(?<![\w/.@>-])((?:[\w-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:ts|mjs))(?![\w-])/g;

/** Names of example files, and a program of the recorded conformance. */
const examples = /^(?:x|name|kebab-case|replay)\./;

/**
 * Returns names of files in comments and documents that do not exist. A name may omit the first folders. Files of
 * upstream end in `.go` and are not checked; `<name>.ts` and similar names are examples.
 */
export function unknownFiles(sources: Sources, existing: ReadonlySet<string>): Finding[] {
  const known = new Set<string>();
  for (const path of existing) {
    for (let rest = path; rest !== ""; rest = rest.includes("/") ? rest.slice(rest.indexOf("/") + 1) : "")
      known.add(rest);
  }
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    const isDocument = file.endsWith(".md");
    if (/^CHANGELOG|^docs\/decisions\//.test(file)) continue;
    for (const [at, line] of text.split("\n").entries()) {
      if (!isDocument && !/^\s*(?:\/\*\*|\*|\/\/)/.test(line)) continue;
      for (const [, name = ""] of line.matchAll(fileName)) {
        if (known.has(name) || examples.test(name)) continue;
        findings.push({ file, line: at + 1, message: `${name} is no file of this repository` });
      }
    }
  }
  return findings;
}
