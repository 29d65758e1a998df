/**
 * `npm run conformance`: builds, starts one server per API domain and replays the recorded scenarios of
 * `../shared/conformance` against both. See the usage below.
 */
import { spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { build } from "./build.ts";
import { readCommandLine } from "./command-line.ts";
import { type Program, startProgram } from "./program.ts";
import { addTallies, emptyTally, type Tally } from "./run-tests.ts";
import { report, root } from "./steps.ts";

const shared = join(root, "../shared/conformance");

/** Case files whose scenarios pass by now; the rest belongs to later steps. */
export const promised: readonly string[] = [
  "core-create",
  "core-delete",
  "core-list",
  "core-metadata",
  "core-representation",
  "core-update",
  "core-watch",
  "write-json-patch",
  "write-merge-patch",
  "write-strategic-patch",
  "write-field-validation",
  "write-dry-run",
  "write-apply",
  "write-apply-lists",
  "write-managed-fields",
  "ext-crd-life",
  "ext-crd-refused",
  "ext-schema-refused",
  "ext-defaults",
  "ext-pruning",
  "ext-validation",
  "ext-subresources",
  "ext-columns",
  "ext-versions",
  "ext-publishing",
  "ext-ratcheting",
  "ext-operators",
  "proto-discovery",
  "proto-openapi",
  "proto-negotiation",
  "proto-http",
  "proto-namespaces",
  "proto-tables",
  "proto-storage",
  "proto-authn",
  "proto-accounts",
  "proto-bootstrap",
  "proto-certificates",
  "proto-rbac",
  "proto-reviews",
];

/** Scenarios with these words in them need what later steps bring. */
export const later: readonly string[] = ["protobuf", "cbor", "x-kubernetes-validations"];

const told = "answers 400, where the recorded server says 500 (docs/compatibility.md)";

/** Scenarios of promised files that cannot pass: name and reason. */
export const exceptions: Readonly<Record<string, string>> = {
  "fields the schema does not name are pruned at every level": `an unknown field in an apply ${told}`,
  "field validation warns by default, fails when strict and stays silent when ignored": `an unknown field in an apply ${told}`,
  "sets and maps refuse duplicates": `a duplicate in an apply ${told}`,
  "query parameters: unknown ones are ignored, of repeated ones the first counts, wrong values are refused":
    "it counts a namespace's config maps without the root certificates, which are there at once (test/objects/query.test.ts holds the rest)",
};

const usage = `Replays the recorded scenarios (../shared/conformance) against a server for each API domain.

Usage: npm run conformance -- [options]

  --only REGEXP   scenarios whose file and name match this
  --all           every scenario, not only those that are promised by now
  --domain NAME   this domain alone; may be given several times (k8s.io, platform.io)
  -v, --verbose   name the scenarios that pass as well
  -h, --help      print this`;

export interface ConformanceOptions {
  /** Only scenarios whose file and name match this expression. */
  readonly only?: string;
  /** Every case file and scenario. */
  readonly all?: boolean;
  readonly domains?: readonly string[];
  /** Name the scenarios that pass as well. */
  readonly verbose?: boolean;
}

/** Why the scenarios cannot be replayed here; undefined when they can. */
export const missingReason = (): string | undefined =>
  existsSync(join(shared, "replay.mjs")) ? undefined : "the recorded scenarios (../shared/conformance) are not here";

/** Replays against servers started from `dist/`. */
export async function conformance(options: ConformanceOptions = {}): Promise<Tally> {
  const domains = options.domains ?? ["k8s.io", "platform.io"];
  const results = await Promise.all(domains.map((domain) => replayDomain(domain, options)));
  return results.reduce(addTallies, emptyTally);
}

async function replayDomain(domain: string, options: ConformanceOptions): Promise<Tally> {
  const start = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "binnacle-conformance-"));
  const server = await startFor(domain, folder);
  try {
    const tally = await replay(domain, server.url, options);
    const detail = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
    const seconds = (performance.now() - start) / 1000;
    report(domain, tally.failed === 0, seconds, [detail, ...tally.failures].join("\n"));
    return tally;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts the built program with the flags the scenarios were written for. */
function startFor(domain: string, folder: string): Promise<Program> {
  const betas = ["storage", "resource"].map((group) => `${group}.${domain}/v1beta1=true`).join(",");
  return startProgram([
    `--data-dir=${join(folder, "data")}`,
    `--api-domain=${domain}`,
    `--token-auth-file=${join(shared, "tokens.csv")}`,
    "--enable-bootstrap-token-auth",
    "--controllers=*,bootstrapsigner,tokencleaner",
    "--feature-gates=VolumeAttributesClass=true,DynamicResourceAllocation=true,RecoverVolumeExpansionFailure=true",
    `--runtime-config=${betas}`,
    "--authorization-mode=RBAC",
  ]);
}

async function replay(domain: string, url: string, options: ConformanceOptions): Promise<Tally> {
  const wanted = options.all === true ? ["*"] : promised;
  const files = globSync(wanted.map((name) => join(shared, "cases", `${name}.mjs`))).sort();
  const skip = [...later, ...Object.keys(exceptions).map((name) => `"name":${JSON.stringify(name)}`)];
  const args = [
    join(shared, "replay.mjs"),
    "--server",
    url,
    ...(domain === "k8s.io" ? [] : ["--domain", domain]),
    ...(options.only === undefined ? [] : ["--only", options.only]),
    ...(options.all === true ? [] : ["--skip", skip.join("|")]),
    "--max-diff",
    options.verbose === true ? "40" : "6",
    ...(options.verbose === true ? ["-v"] : []),
    ...files,
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const blocks: string[] = [];
  let counts = "";
  for await (const line of createInterface({ input: child.stdout })) {
    if (/^\d+ passed, \d+ failed/.test(line)) counts = line;
    else if (/^\s/.test(line) && blocks.length > 0) blocks[blocks.length - 1] += `\n${line}`;
    else if (line.startsWith("ok ")) process.stdout.write(`${domain.padEnd(12)} ${line}\n`);
    else blocks.push(line);
  }
  const [passed, failed, skipped] = [...counts.matchAll(/\d+/g)].map(Number);
  if (passed === undefined || failed === undefined) {
    return { ...emptyTally, failed: 1, failures: [...blocks, "replay.mjs did not finish"] };
  }
  return { passed, failed, skipped: skipped ?? 0, failures: blocks, skips: [] };
}

if (import.meta.main) {
  const { values } = readCommandLine(usage, {
    only: { type: "string" },
    all: { type: "boolean" },
    domain: { type: "string", multiple: true },
    verbose: { type: "boolean", short: "v" },
  });
  const missing = missingReason();
  const problems = missing === undefined ? await build() : "";
  if (missing !== undefined) process.stdout.write(`skipped: ${missing}\n`);
  else if (problems !== "") {
    process.stderr.write(`${problems}\nbuild failed\n`);
    process.exitCode = 1;
  } else {
    const tally = await conformance({
      ...(values.only === undefined ? {} : { only: values.only }),
      ...(values.domain === undefined ? {} : { domains: values.domain }),
      all: values.all === true,
      verbose: values.verbose === true,
    });
    const line = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
    for (const [name, reason] of Object.entries(exceptions)) process.stdout.write(`left out: ${name} (${reason})\n`);
    process.stdout.write(`${styleText(tally.failed === 0 ? "green" : "red", line)}\n`);
    process.exitCode = tally.failed === 0 ? 0 : 1;
  }
}
