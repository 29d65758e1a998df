/** `binnacle doctor`: looks for what is wrong in a cluster, and says what can be done. */
import { systemClock } from "#std/clock.ts";
import { refuseArguments } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { command, formFlag } from "./command.ts";
import { clusterFlags, withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import { isColoured, valueText } from "./print.ts";
import { examine, type Report } from "./doctor/examine.ts";
import type { DoctorFinding } from "./doctor/finding.ts";
import { counted } from "./doctor/words.ts";

const { namespace: _, ...connection } = clusterFlags;
const flags = { ...connection, output: formFlag(["text", "json", "yaml"], "Findings in words, or the same as data.") };

const help = `Looks for what is wrong in a cluster: namespaces and objects that stay after their deletion, webhooks that fail or are slow,
certificates that expire, definitions, conversions and aggregated servers that do not work, quotas that are used up, claims
without volumes, rights that controllers lack, bindings to roles that do not exist, owners of kinds that are not served,
workloads that nobody runs, the store and the clock.

Usage: binnacle doctor [flags]

  -h, --help                      print this

It reads only. The exit code is 1 when there is a problem, and 0 otherwise; warnings do not count.

Examples:
  binnacle doctor
  binnacle doctor --kubeconfig ~/.kube/config -o json

`;

/** Runs `binnacle doctor`; ends the process with 1 if there is a problem. Rejects with `StartError`. */
export const doctor = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "doctor takes flags only");
  const { output = "text" } = settings;
  await withCluster(settings, async (cluster) => {
    const report = await examine(cluster, systemClock.now());
    process.stdout.write(
      isStructured(output) ? valueText(output, report) : reportText(report, isColoured(process.stdout)),
    );
    if (report.findings.some(({ severity }) => severity === "problem")) process.exitCode = 1;
  });
});

/** The number of findings of one check that are shown; a cluster may have thousands of one kind. */
const shownMax = 10;

function reportText({ findings, checks, unread }: Report, colours: boolean): string {
  const lines = [...Map.groupBy(findings, ({ check }) => check)].flatMap(([check, found]) => {
    const hidden = found.length - shownMax;
    const more = hidden > 0 ? [`and ${hidden} more of: ${check} (-o json shows all)`, ""] : [];
    return [...found.slice(0, shownMax).flatMap((one) => findingLines(one, colours)), ...more];
  });
  const problems = findings.filter(({ severity }) => severity === "problem").length;
  const sum =
    findings.length === 0
      ? `Nothing is wrong${unread.length === 0 ? "" : " in what could be looked at"}: ${checks.length} checks.`
      : `${counted(problems, "problem")} and ${counted(findings.length - problems, "warning")} in ${checks.length} checks.`;
  const missing = unread.map((text) => `Not looked at: ${printable(text)}`);
  return `${[...lines, sum, ...missing].join("\n")}\n`;
}

function findingLines({ severity, about, what, next }: DoctorFinding, colours: boolean): readonly string[] {
  const mark = severity === "problem" ? "PROBLEM" : "WARNING";
  const shown = colours ? `\u001b[${severity === "problem" ? 31 : 33}m${mark}\u001b[0m` : mark;
  return [`${shown}  ${printable(about)}`, `  ${printable(what)}`, `  ${printable(next)}`, ""];
}
