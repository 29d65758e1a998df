/**
 * `node scripts/requirements.ts [--check]`: the requirement index, `docs/requirements.md`: every row of this step's
 * sections with the tests that prove it, found by the IDs in their names (`[PVC-01, PVC-04..07]`), or the step it waits
 * for (`requirements-later.json`). With `--check` nothing is written; it fails when a row has neither, when a test names
 * a row there is not, or when the page is not up to date.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { findTests } from "./run-tests.ts";
import { root } from "./steps.ts";

/** Sections that are complete with this step; of `VER` the rows about what is served. */
const sections = [
  "GEN",
  "NAME",
  "META",
  "LIST",
  "WATCH",
  "TABLE",
  "DELOPT",
  "DELST",
  "PVC",
  "RCT",
  "VAC",
  "GATE",
  "EP",
  "QP",
  "PATCH",
  "MF",
  "SSA",
  "MEDIA",
  "SEM",
  "DRY",
  "FV",
  "HEALTH",
  "EVENT",
  "ERR",
  "LIMIT",
  "AUTHRES",
  "BOOT",
  "REVIEW",
  "AUTHN",
  "ACERT",
  "ATOK",
  "ABEAR",
  "ABOOT",
  "ASA",
  "AOIDC",
  "APROXY",
  "AWH",
  "APLUG",
  "AANON",
  "IMP",
  "AUTHZ",
  "RBAC",
];
const versionRows = { from: 2, to: 11 };

const page = join(root, "docs/requirements.md");
const shared = join(root, "../shared");

export interface Row {
  readonly id: string;
  readonly text: string;
}

export interface Later {
  readonly step: string;
  readonly reason: string;
}

/** A test that says it proves something. */
export interface Proof {
  readonly ids: readonly string[];
  /** Where it is: a file of this repository, or a case file of the recorded scenarios. */
  readonly file: string;
  readonly name: string;
}

/** Rows of the specification's table, `| ID | text | check |`. */
export function readRows(text: string): Row[] {
  const rows: Row[] = [];
  for (const [, id, sentence] of text.matchAll(/^\| ([A-Z]+-\d+) \| (.*?) \| /gm))
    rows.push({ id: id!, text: sentence! });
  return rows.filter(({ id }) => isWanted(id));
}

function isWanted(id: string): boolean {
  const [section, number] = split(id);
  if (section === "VER") return number >= versionRows.from && number <= versionRows.to;
  return sections.includes(section);
}

function split(id: string): [string, number] {
  const [section, number] = id.split("-");
  return [section!, Number(number)];
}

/** The IDs in brackets in every string of a test file, with the string as name. */
export function proofsIn(file: string, text: string): Proof[] {
  const proofs: Proof[] = [];
  const ids = String.raw`[A-Z]+-\d+(?:\.\.(?:[A-Z]+-)?\d+)?`;
  const pattern = new RegExp(
    String.raw`(["'\`])((?:(?!\1)[^\n\\]|\\.)*?\[${ids}(?:,\s*${ids})*\](?:(?!\1)[^\n\\]|\\.)*)\1`,
    "g",
  );
  for (const [, , name] of text.matchAll(pattern)) {
    const found = [...name!.matchAll(new RegExp(String.raw`\[(${ids}(?:,\s*${ids})*)\]`, "g"))];
    proofs.push({ ids: found.flatMap(([, list]) => list!.split(/,\s*/).flatMap(expand)), file, name: tidyName(name!) });
  }
  return proofs;
}

/** `PVC-04..07` is four rows. */
function expand(text: string): string[] {
  const match = /^([A-Z]+)-(\d+)\.\.(?:[A-Z]+-)?(\d+)$/.exec(text);
  if (match === null) return [text];
  const [, section, from, to] = match;
  const width = from!.length;
  const count = Number(to) - Number(from) + 1;
  return Array.from({ length: count }, (_, i) => `${section}-${String(Number(from) + i).padStart(width, "0")}`);
}

const tidyName = (name: string): string =>
  name
    .replaceAll(/\s*\[[A-Z]+-\d[^\]]*\]/g, "")
    .replaceAll(/\$\{[^}]*\}/g, "…")
    .trim();

async function scenarioProofs(): Promise<Proof[]> {
  const { exceptions, later, promised } = await import("./conformance.ts");
  const skip = new RegExp(later.join("|"));
  const proofs: Proof[] = [];
  for (const file of globSync(promised.map((name) => join(shared, "conformance/cases", `${name}.mjs`))).sort()) {
    interface Scenario {
      readonly name: string;
      readonly covers?: readonly string[];
    }
    const { default: scenarios } = (await import(pathToFileURL(file).href)) as { default: readonly Scenario[] };
    for (const scenario of scenarios) {
      if (skip.test(JSON.stringify(scenario)) || scenario.name in exceptions) continue;
      proofs.push({ ids: scenario.covers ?? [], file: `conformance ${basename(file, ".mjs")}`, name: scenario.name });
    }
  }
  return proofs;
}

export interface Index {
  readonly page: string;
  /** Rows with neither test nor step. */
  readonly open: readonly string[];
  /** IDs in test names or in the list of later rows that no row has. */
  readonly unknown: readonly string[];
}

/** Builds the page. */
export function requirementIndex(
  rows: readonly Row[],
  proofs: readonly Proof[],
  later: Readonly<Record<string, Later>>,
  known: ReadonlySet<string>,
): Index {
  const byRow = new Map<string, Proof[]>();
  for (const proof of proofs) for (const id of proof.ids) byRow.set(id, [...(byRow.get(id) ?? []), proof]);
  const open: string[] = [];
  const lines = [
    "# Requirement index",
    "",
    "Every row of the sections that are complete, and what proves it. Generated by `node scripts/requirements.ts` from",
    "the IDs in test names; `conformance` names a recorded scenario that `npm run conformance` replays.",
  ];
  let section = "";
  for (const { id, text } of rows) {
    const [name] = split(id);
    if (name !== section) lines.push("", `## ${name}`, "", "| Row | Requirement | Proved by |", "| --- | --- | --- |");
    section = name;
    const tests = byRow.get(id) ?? [];
    const waits = later[id];
    if (tests.length === 0 && waits === undefined) open.push(id);
    const shown = tests.slice(0, 3).map((proof) => `${proof.file}: ${proof.name}`);
    if (tests.length > 3) shown.push(`and ${tests.length - 3} more`);
    if (tests.length === 0)
      shown.push(waits === undefined ? "**nothing yet**" : `${stepName(waits.step)}: ${waits.reason}`);
    lines.push(`| ${id} | ${text} | ${shown.map((part) => part.replaceAll("|", "\\|")).join("<br>")} |`);
  }
  const named = [...byRow.keys(), ...Object.keys(later)];
  const unknown = [...new Set(named.filter((id) => known.size > 0 && !known.has(id)))].sort();
  return { page: `${lines.join("\n")}\n`, open, unknown };
}

function stepName(step: string): string {
  if (step === "client") return "not the server's";
  return step === "later" ? "a later step" : `step ${step}`;
}

/** Reads everything and builds the index; undefined when the specification is not here. */
async function buildIndex(): Promise<Index | undefined> {
  const source = join(shared, "spec/requirements.md");
  if (!existsSync(source)) return undefined;
  const text = readFileSync(source, "utf8");
  const known = new Set([...text.matchAll(/^\| ([A-Z]+-\d+) \|/gm)].map(([, id]) => id!));
  const files = findTests(["src/**/*.{test,fuzz,contract}.ts", "test/**/*.ts"]);
  const own = files.flatMap((file) => proofsIn(file, readFileSync(join(root, file), "utf8")));
  const later = JSON.parse(readFileSync(join(root, "scripts/requirements-later.json"), "utf8")) as Record<
    string,
    Later
  >;
  return requirementIndex(readRows(text), [...own, ...(await scenarioProofs())], later, known);
}

/** What is wrong with the index, one line each; empty when nothing is, or when the specification is not here. */
export async function requirementProblems(): Promise<string[]> {
  const index = await buildIndex();
  if (index === undefined) return [];
  const committed = existsSync(page) ? readFileSync(page, "utf8") : "";
  return [
    ...index.open.map((id) => `${id} has no test and waits for no step (scripts/requirements-later.json)`),
    ...index.unknown.map((id) => `${id} is no row of the specification`),
    ...(index.page === committed ? [] : ["docs/requirements.md is out of date: node scripts/requirements.ts"]),
  ];
}

if (import.meta.main) {
  if (process.argv.includes("--check")) {
    const problems = await requirementProblems();
    process.stdout.write(problems.map((line) => `${line}\n`).join(""));
    process.exitCode = problems.length === 0 ? 0 : 1;
  } else {
    const index = await buildIndex();
    if (index === undefined) process.stdout.write("the specification (../shared/spec) is not here; nothing written\n");
    else {
      writeFileSync(page, index.page);
      process.stdout.write(`docs/requirements.md written; ${index.open.length} rows open ${index.open.join(" ")}\n`);
      if (index.unknown.length > 0) process.stdout.write(`no such rows: ${index.unknown.join(" ")}\n`);
    }
  }
}
