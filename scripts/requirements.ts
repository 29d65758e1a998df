/**
 * `node scripts/requirements.ts [--check]` writes the requirement index, `docs/requirements.md`: every row of the
 * finished sections with the tests and scenarios that cite its ID (`[PVC-01, PVC-04..07]`), or the later step that
 * covers it (`requirements-later.json`). With `--check` nothing is written; it fails when a row has neither, when a
 * test cites an unknown row, or when the page is out of date. Without the specification (`../shared/spec`) it checks
 * that everything the page cites exists.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readScenarios } from "../test/scenarios/scenario.ts";
import { readSkips, reasonFor } from "../test/scenarios/skips.ts";
import { findTests } from "./run-tests.ts";
import { root } from "./steps.ts";

/** The sections that are complete in this step; of `VER`, only the rows about served versions. */
const sections = [
  "GEN",
  "NAME",
  "META",
  "LIST",
  "WATCH",
  "TABLE",
  "DELOPT",
  "DELST",
  "FORCE",
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
  "EXPR",
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
const versionRows = [
  { from: 2, to: 11 },
  { from: 59, to: 75 },
];

const page = join(root, "docs/requirements.md");

interface Row {
  readonly id: string;
  readonly text: string;
}

interface Later {
  readonly step: string;
  readonly reason: string;
}

/** A test that cites requirement IDs. */
interface Proof {
  readonly ids: readonly string[];
  readonly file: string;
  readonly name: string;
}

/** Returns the rows of the specification's table, `| ID | text | check |`. */
export function readRows(text: string): Row[] {
  const rows: Row[] = [];
  for (const [, id, sentence] of text.matchAll(/^\| ([A-Z]+-\d+) \| (.*?) \| /gm))
    rows.push({ id: id!, text: sentence! });
  return rows.filter(({ id }) => isWanted(id));
}

function isWanted(id: string): boolean {
  const [section, number] = split(id);
  if (section === "VER") return versionRows.some(({ from, to }) => number >= from && number <= to);
  return sections.includes(section);
}

function split(id: string): [string, number] {
  const [section, number] = id.split("-");
  return [section!, Number(number)];
}

/** Returns the IDs in brackets in every string of a test file, with the string as the name. */
export function proofsIn(file: string, text: string): Proof[] {
  const proofs: Proof[] = [];
  const ids = String.raw`[A-Z]+-\d+(?:\.\.(?:[A-Z]+-)?\d+)?`;
  const pattern = new RegExp(
    String.raw`(["'\`])((?:(?!\1)[^\n\\]|\\.)*?\[${ids}(?:,\s*${ids})*\](?:(?!\1)[^\n\\]|\\.)*)\1`,
    "g",
  );
  for (const [, , name] of text.matchAll(pattern)) {
    const groups = [...name!.matchAll(new RegExp(String.raw`\[(${ids}(?:,\s*${ids})*)\]`, "g"))];
    proofs.push({
      ids: groups.flatMap(([, list]) => list!.split(/,\s*/).flatMap(expand)),
      file,
      name: tidyName(name!),
    });
  }
  return proofs;
}

/** Returns all IDs of a range: `PVC-04..07` is four rows. */
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

/** Returns the scenarios that are run. */
function scenarioProofs(): Proof[] {
  const skips = readSkips();
  return readScenarios().flatMap(({ path, scenarios }) =>
    scenarios
      .filter(({ name }) => reasonFor(skips, "scenarios", path, name) === undefined)
      .map(({ name, rows }) => ({ ids: rows, file: `test/scenarios/${path}.yaml`, name })),
  );
}

interface Index {
  readonly page: string;
  /** Rows with neither a test nor a later step. */
  readonly open: readonly string[];
  /** Rows that have a later step and also a test. */
  readonly proven: readonly string[];
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
    "Every row of the completed sections, and the tests that prove it. Generated by `node scripts/requirements.ts` from",
    "the IDs in test names and in the scenarios of `test/scenarios/`. `npm test` and `npm run test:more` run all of them.",
  ];
  let section = "";
  for (const { id, text } of rows) {
    const [name] = split(id);
    if (name !== section) lines.push("", `## ${name}`, "", "| Row | Requirement | Proved by |", "| --- | --- | --- |");
    section = name;
    const tests = byRow.get(id) ?? [];
    const waits = later[id];
    if (tests.length === 0 && waits === undefined) open.push(id);
    const examples = tests.slice(0, 3).map(formatProof);
    if (tests.length > 3) examples.push(`and ${tests.length - 3} more`);
    if (tests.length === 0)
      examples.push(waits === undefined ? "**nothing yet**" : `${stepName(waits.step)}: ${waits.reason}`);
    lines.push(`| ${id} | ${text} | ${examples.join("<br>")} |`);
  }
  const named = [...byRow.keys(), ...Object.keys(later)];
  const unknown = [...new Set(named.filter((id) => known.size > 0 && !known.has(id)))].sort();
  const proven = Object.keys(later).filter((id) => byRow.has(id));
  return { page: `${lines.join("\n")}\n`, open, proven, unknown };
}

/** Returns the proof as a cell of the page. */
const formatProof = ({ file, name }: Proof): string => `${file}: ${name}`.replaceAll("|", "\\|");

function stepName(step: string): string {
  if (step === "client") return "not the server's";
  return step === "later" ? "a later step" : `step ${step}`;
}

/** Returns all tests and scenarios of the repository that cite requirement IDs. */
function allProofs(): Proof[] {
  const files = findTests(["src/**/*.{test,fuzz,contract}.ts", "test/**/*.ts"]);
  return [...files.flatMap((file) => proofsIn(file, readFileSync(join(root, file), "utf8"))), ...scenarioProofs()];
}

/** Builds the index; `undefined` if the specification is not here. */
function buildIndex(proofs: readonly Proof[]): Index | undefined {
  const source = join(root, "../shared/spec/requirements.md");
  if (!existsSync(source)) return undefined;
  const text = readFileSync(source, "utf8");
  const known = new Set([...text.matchAll(/^\| ([A-Z]+-\d+) \|/gm)].map(([, id]) => id!));
  const later = JSON.parse(readFileSync(join(root, "scripts/requirements-later.json"), "utf8")) as Record<
    string,
    Later
  >;
  return requirementIndex(readRows(text), proofs, later, known);
}

/** Returns the tests and scenarios that a page cites but `proofs` does not contain. */
export function findUnknownCitations(text: string, proofs: readonly Proof[]): string[] {
  const known = new Set(proofs.map(formatProof));
  const cells = [...text.matchAll(/^\| [A-Z]+-\d+ \| .* \| (.*) \|$/gm)].map(([, cell]) => cell!);
  return cells.flatMap((cell) => cell.split("<br>").filter((cited) => isProof.test(cited) && !known.has(cited)));
}

const isProof = /^\S+\.(?:ts|yaml): /;

/** Returns the problems of the index, one line for each. */
export function requirementProblems(): string[] {
  const proofs = allProofs();
  const committed = existsSync(page) ? readFileSync(page, "utf8") : "";
  const missing = findUnknownCitations(committed, proofs).map(
    (cited) => `docs/requirements.md cites what is not there: ${cited}`,
  );
  const index = buildIndex(proofs);
  if (index === undefined) return missing;
  return [
    ...missing,
    ...index.open.map((id) => `${id} has no test and waits for no step (scripts/requirements-later.json)`),
    ...index.proven.map((id) => `${id} has a test and is said to wait for a step (scripts/requirements-later.json)`),
    ...index.unknown.map((id) => `${id} is no row of the specification`),
    ...(index.page === committed ? [] : ["docs/requirements.md is out of date: node scripts/requirements.ts"]),
  ];
}

if (import.meta.main) {
  if (process.argv.includes("--check")) {
    const problems = requirementProblems();
    process.stdout.write(problems.map((line) => `${line}\n`).join(""));
    process.exitCode = problems.length === 0 ? 0 : 1;
  } else {
    const index = buildIndex(allProofs());
    if (index === undefined) process.stdout.write("the specification (../shared/spec) is not here; nothing written\n");
    else {
      writeFileSync(page, index.page);
      process.stdout.write(`docs/requirements.md written; ${index.open.length} rows open ${index.open.join(" ")}\n`);
      if (index.unknown.length > 0) process.stdout.write(`no such rows: ${index.unknown.join(" ")}\n`);
    }
  }
}
