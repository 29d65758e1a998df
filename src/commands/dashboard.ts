/** `binnacle dashboard`: a dashboard for Grafana and rules for Prometheus, over the metrics of a server. */
import { binnacleFlag, boolean, refuseArguments } from "#std/flags.ts";
import { command, formFlag } from "./command.ts";
import { alertRules } from "./dashboard/alerts.ts";
import { grafanaDashboard } from "./dashboard/grafana.ts";
import { valueText } from "./print.ts";

const flags = {
  alerts: boolean(binnacleFlag("alerts"), false, "Prints the rules for alerts of Prometheus instead of the dashboard."),
  output: formFlag(["json", "yaml"], "The form; rules for alerts are YAML by default."),
};

const help = `Prints a dashboard for Grafana, or rules for Prometheus, over the metrics of a server (/metrics).

Usage: binnacle dashboard [flags]

  -h, --help                      print this

Examples:
  binnacle dashboard > binnacle-dashboard.json         # Grafana: Dashboards, New, Import
  binnacle dashboard --alerts > binnacle-alerts.yaml   # Prometheus: rule_files

`;

/** Runs `binnacle dashboard`. Rejects with `StartError`. */
export const dashboard = command(flags, help, async ({ alerts: isAlerts = false, output }, rest) => {
  refuseArguments(rest, "dashboard takes flags only");
  const value = isAlerts ? alertRules() : grafanaDashboard();
  process.stdout.write(valueText(output ?? (isAlerts ? "yaml" : "json"), value));
  await Promise.resolve();
});
