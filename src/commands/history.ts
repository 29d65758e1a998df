/** `binnacle history`: shows old versions of an object, through a running server. */
import { ageOf } from "#meta/human-duration.ts";
import { namespaceWords, objectWords } from "#meta/printed-command.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, boolean, integer, optional } from "#std/flags.ts";
import { isObject } from "#std/is-object.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import type { DiscoveredResource } from "./discovery.ts";
import { clusterFlags, shownName, withCluster } from "./open-cluster.ts";
import type { PastItem, PastPage } from "#meta/past-item.ts";
import { differenceText, hasNoHistory, headlineOf, needsBinnacle, pastPath, readPast, whoOf } from "./past-events.ts";
import { type Cell, type Colour, isColoured, tableText, valueText } from "./print.ts";
import { checkOneTarget, oneTarget } from "./explain/one-target.ts";

const historyFlags = {
  ...clusterFlags,
  limit: integer(binnacleFlag("limit"), 20, { min: 1, max: 10_000 }, "How many versions to show, the newest ones."),
  version: optional(
    binnacleFlag("version"),
    "version",
    "Prints the object as it was in this version, and nothing else.",
  ),
  diff: boolean(binnacleFlag("diff"), false, "Shows the lines in which each version differs from the one before."),
  showSecrets: boolean(binnacleFlag("show-secrets"), false, "Shows the values of Secrets with --diff."),
  output: formFlag(["table", "wide", "json", "yaml"], "A table, one with more columns, or everything."),
};

const kindHelp = `  KIND                            plural, singular or short name of the kind, also with .GROUP: deploy, deploy.apps
  NAME                            name of the object
  -h, --help                      print this

`;

const historyHelp = `Shows the versions of an object that the server keeps, newest first, also of a deleted one.

Usage: binnacle history KIND NAME [flags]

${kindHelp}The server keeps versions for as long as its flag --history says. Reading them takes the right to get the object.

Examples:
  binnacle history deploy web -n shop
  binnacle history deploy web -n shop --diff
  binnacle history cm settings --version=1234

`;

/** Runs `binnacle history`: prints the versions of an object. Rejects with `StartError`. */
export const history = command(historyFlags, historyHelp, async (settings, rest) => {
  const { version, limit = historyFlags.limit.default, output = "table" } = settings;
  checkOneTarget("history", rest);
  await withCluster(settings, async (cluster) => {
    const { resource, name } = await oneTarget(cluster, "history", rest);
    const path = pastPath(resource, cluster.namespace, name);
    try {
      if (version !== undefined) {
        const query = `resourceVersion=${encodeURIComponent(version)}`;
        const { items } = await cluster.call<PastPage>({ method: "GET", path: `${path}?${query}` });
        const { object, problem } = items[0] ?? {};
        if (object === undefined)
          throw new StartError(problem ?? `version ${version} is the deletion, which has no object`);
        process.stdout.write(valueText(output === "json" ? "json" : "yaml", object));
        return;
      }
      const read = await readPast(cluster, path, limit);
      const isInColour = isColoured(process.stdout);
      if (output === "json" || output === "yaml") process.stdout.write(valueText(output, read));
      else if (settings.diff === true) {
        const shown = shownName(resource, name);
        process.stdout.write(differences(read, shown, settings.showSecrets ?? false, isInColour));
      } else {
        process.stdout.write(historyText(read, output === "wide", systemClock.now(), isInColour));
        process.stdout.write(deletionText(read, resource, name, cluster.namespace));
      }
    } catch (error) {
      throw hasNoHistory(error) ? needsBinnacle("history") : error;
    }
  });
});

/** Returns the lines in which each version differs from the one before. */
function differences(past: PastPage, name: string, showsSecrets: boolean, isInColour: boolean): string {
  const texts = past.items.map((item, i) => {
    const head = headlineOf(item, name, systemClock.now(), isInColour);
    const older = past.items[i + 1];
    const isKnown = item.event === "created" || older?.object !== undefined;
    if (item.problem !== undefined) return `${head}${printable(item.problem)}\n`;
    if (item.event === "deleted") return head;
    if (!isKnown) return `${head}the version before is not shown\n`;
    const before = item.event === "created" ? undefined : older?.object;
    return head + differenceText({ before, after: item.object }, showsSecrets, isInColour);
  });
  return `${texts.join("")}${endText(past)}\n`;
}

const eventColours: Readonly<Record<string, Colour>> = { created: "green", deleted: "red" };

/** Returns the versions as a table, with a line about the oldest one that is stored. */
function historyText(past: PastPage, isWide: boolean, nowMs: number, colours: boolean): string {
  const { items } = past;
  const head = ["VERSION", "EVENT", "AGE", "BY", ...(isWide ? ["TIME", "UID"] : []), "CHANGED"];
  const rows = items.map((item, i): Cell[] => {
    const { resourceVersion, event, time, user, manager, uid } = item;
    return [
      resourceVersion,
      { text: event, colour: eventColours[event] },
      time === undefined ? "-" : ageOf(time, nowMs),
      user ?? manager ?? item.endedBy?.user ?? "-",
      ...(isWide ? [time ?? "-", uid ?? "-"] : []),
      item.problem ?? changedText(item, items[i + 1], isWide),
    ];
  });
  return `${tableText([head, ...rows], colours)}${endText(past)}\n`;
}

/** Returns the line about the oldest version that is kept. */
function endText({ since, metadata }: PastPage): string {
  if (metadata.continue !== undefined) return "there are older versions: see them with --limit";
  if (since.resourceVersion === "0") return "no version has been dropped";
  return `the server keeps versions since ${since.time ?? `version ${since.resourceVersion}`}`;
}

/** Returns a sentence about the deletion that is the newest event, and how to undo it; empty without one. */
function deletionText({ items }: PastPage, resource: DiscoveredResource, name: string, namespace: string): string {
  const [newest] = items;
  if (newest?.event !== "deleted") return "";
  const where = namespaceWords(resource.namespaced ? namespace : undefined);
  const back = `binnacle undelete ${objectWords(resource.resource, name)}${where}`;
  return `${printable(`It was deleted ${whoOf(newest)}. Bring it back: ${back}`)}\n`;
}

const shownPathsMax = 3;
/** The fields that change with every write. */
const ownFields = new Set(["metadata.managedFields", "metadata.resourceVersion", "metadata.generation"]);

/** Returns the fields in which a version differs from the one before. */
function changedText({ object, event }: PastItem, older: PastItem | undefined, isWide: boolean): string {
  if (event !== "updated" || object === undefined || older?.object === undefined) return "-";
  const paths = changedPaths(object, older.object, "", 2).filter((path) => !ownFields.has(path));
  if (paths.length === 0) return "-";
  const shown = isWide ? paths : paths.slice(0, shownPathsMax);
  const rest = paths.length - shown.length;
  return shown.join(", ") + (rest === 0 ? "" : ` and ${rest} more`);
}

/** Returns the paths at which two objects differ, down to a depth. */
function changedPaths(one: object, other: object, prefix: string, depth: number): string[] {
  const left = one as Readonly<Record<string, unknown>>; // a JSON object
  const right = other as Readonly<Record<string, unknown>>; // a JSON object
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) => {
    const [a, b] = [left[key], right[key]];
    const path = prefix === "" ? key : `${prefix}.${key}`;
    if (depth > 1 && isObject(a) && isObject(b)) return changedPaths(a, b, path, depth - 1);
    return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
  });
}
