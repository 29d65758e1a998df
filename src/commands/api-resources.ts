/** `binnacle api-resources`: the kinds of a server. */
import { apiVersionOf, qualifiedResource } from "#meta/group-version.ts";
import { binnacleFlag, boolean, list, optional, refuseArguments } from "#std/flags.ts";
import { connectionFlags } from "#server/running-server.ts";
import { command, formFlag } from "./command.ts";
import { discover, type DiscoveredResource } from "./discovery.ts";
import { withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import { printWarnings, tableText, valueText } from "./print.ts";

const flags = {
  ...connectionFlags,
  apiGroup: optional(binnacleFlag("api-group"), "group", "Only kinds of this group."),
  namespaced: boolean(binnacleFlag("namespaced"), true, "Only kinds in namespaces, or with =false only others."),
  categories: list(binnacleFlag("categories"), "name", "Only kinds of all of these categories, such as all."),
  verbs: list(binnacleFlag("verbs"), "verb", "Only kinds with all of these verbs, such as list and get."),
  noHeaders: boolean(binnacleFlag("no-headers"), false, "Leaves out the head of the table."),
  output: formFlag(
    ["table", "wide", "name", "json", "yaml"],
    "A table, one with verbs and categories, names alone, or everything.",
  ),
};

const help = `Lists the kinds of a server, with the names that commands take.

Usage: binnacle api-resources [flags]

  -h, --help                      print this

Examples:
  binnacle api-resources
  binnacle api-resources --api-group=apps -o wide
  binnacle api-resources --categories=all --verbs=list -o name

`;

/** Runs `binnacle api-resources`. Rejects with `StartError`. */
export const apiResources = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "api-resources takes flags only");
  const { apiGroup, namespaced, categories = [], verbs = [], noHeaders = false, output = "table" } = settings;
  await withCluster(settings, async ({ rest: client }) => {
    const { resources, missing } = await discover(client, "preferred");
    printWarnings(missing.map((text) => `left out: ${text}`));
    const wanted = resources.filter(
      (one) =>
        (apiGroup === undefined || one.group === apiGroup) &&
        (namespaced === undefined || one.namespaced === namespaced) &&
        categories.every((category) => one.categories.includes(category)) &&
        verbs.every((verb) => one.verbs.includes(verb)),
    );
    if (isStructured(output)) process.stdout.write(valueText(output, wanted));
    else if (output === "name") process.stdout.write(wanted.map((one) => `${qualifiedResource(one)}\n`).join(""));
    else process.stdout.write(tableText(rowsOf(wanted, output === "wide", noHeaders), false));
  });
});

function rowsOf(resources: readonly DiscoveredResource[], isWide: boolean, noHeaders: boolean): string[][] {
  const head = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", ...(isWide ? ["VERBS", "CATEGORIES"] : [])];
  const rows = resources.map((one) => [
    one.resource,
    one.shortNames.join(","),
    apiVersionOf(one),
    String(one.namespaced),
    one.kind,
    ...(isWide ? [one.verbs.join(","), one.categories.join(",")] : []),
  ]);
  return noHeaders ? rows : [head, ...rows];
}
