/** `binnacle doctor`: looks for what is wrong in a cluster, and says what can be done. */
import { systemClock } from "#std/clock.ts";
import { refuseArguments } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { command, formFlag } from "./command.ts";
import { clusterFlags, withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import { isColoured, valueText } from "./print.ts";
import { examine, type Report } from "./doctor/examine.ts";

const { namespace: _, ...connection } = clusterFlags;
const flags = { ...connection, output: formFlag(["text", "json", "yaml"], "Findings in words, or the same as data.") };

const help = `Looks for what is wrong in a cluster: namespaces and objects that stay after their deletion, webhooks that fail or are slow,
certificates that expire, definitions and aggregated servers that do not work, quotas that are used up, claims without volumes,
bindings to roles that do not exist, owners of kinds that are not served, workloads that nobody runs, the store and the clock.

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

function reportText({ findings, checks: names, unread }: Report, colours: boolean): string {
  const lines = findings.flatMap(({ severity, about, what, next }) => {
    const mark = severity === "problem" ? "PROBLEM" : "WARNING";
    const colour = severity === "problem" ? 31 : 33;
    const shown = colours ? `\u001b[${colour}m${mark}\u001b[0m` : mark;
    return [`${shown}  ${printable(about)}`, `  ${printable(what)}`, `  ${printable(next)}`, ""];
  });
  const problems = findings.filter(({ severity }) => severity === "problem").length;
  const warnings = findings.length - problems;
  const sum =
    findings.length === 0
      ? `${unread.length === 0 ? "Nothing is wrong" : "Nothing is wrong in what could be looked at"}: ${names.length} checks.`
      : `${problems} ${problems === 1 ? "problem" : "problems"} and ${warnings} ${warnings === 1 ? "warning" : "warnings"} in ${names.length} checks.`;
  const missing = unread.map((text) => `Not looked at: ${printable(text)}`);
  return `${[...lines, sum, ...missing].join("\n")}\n`;
}
