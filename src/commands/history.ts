/**
 * `binnacle history` and `binnacle undelete`: show old versions of an object, and restore one, through a running
 * server.
 */
import { ageOf } from "#meta/human-duration.ts";
import { pagePath, pagesOf } from "#client/pages.ts";
import { jsonBody, type RestClient } from "#client/rest-client.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { connectionFlags, findServer, withServer } from "#server/running-server.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, boolean, integer, optional, text, withShort } from "#std/flags.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { discover, pathPart, resourceNamed, type DiscoveredResource } from "./discovery.ts";
import { type Cell, type Colour, isColoured, printWarnings, tableText, valueText } from "./print.ts";

const namespace = withShort(text(binnacleFlag("namespace"), "default", "name", "Where the object is, or was."), "n");

const historyFlags = {
  ...connectionFlags,
  namespace,
  limit: integer(binnacleFlag("limit"), 20, { min: 1, max: 10_000 }, "How many versions to show, the newest ones."),
  version: optional(
    binnacleFlag("version"),
    "version",
    "Prints the object as it was in this version, and nothing else.",
  ),
  output: formFlag(["table", "wide", "json", "yaml"], "A table, one with more columns, or everything."),
};

const undeleteFlags = {
  ...connectionFlags,
  namespace,
  toVersion: optional(
    binnacleFlag("to-version"),
    "version",
    "Which version; default: the last one before the deletion.",
  ),
  overwrite: boolean(
    binnacleFlag("overwrite"),
    false,
    "Replaces an object that is there by the version of --to-version.",
  ),
  dryRun: boolean(binnacleFlag("dry-run"), false, "Has the server check it and write nothing."),
  output: formFlag(["text", "json", "yaml"], "A sentence, or the restored object."),
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
  binnacle history cm settings --version=1234

`;

const undeleteHelp = `Brings a deleted object back, or with --overwrite an older version of one that is there.

Usage: binnacle undelete KIND NAME [flags]

${kindHelp}It is a new object of that content, without its status and without owners that are gone. That takes the rights to
restore, get and create (with --overwrite: update) it.

Examples:
  binnacle undelete deploy web -n shop
  binnacle undelete cm settings --to-version=1234 --overwrite --dry-run

`;

interface Item {
  readonly resourceVersion: string;
  readonly event: string;
  readonly uid?: string;
  readonly time?: string;
  readonly timeSource?: string;
  readonly manager?: string;
  readonly operation?: string;
  readonly problem?: string;
  readonly object?: Unstructured;
}

interface History {
  readonly metadata: { readonly continue?: string };
  readonly since: { readonly resourceVersion: string; readonly time?: string };
  readonly items: readonly Item[];
}

/** Runs `binnacle history`: prints the versions of an object. Rejects with `StartError`. */
export const history = command(historyFlags, historyHelp, async (settings, rest) => {
  const { version, limit = historyFlags.limit.default, output = "table" } = settings;
  const target = targetOf("history", rest, settings.namespace);
  await withServer(await findServer(settings), async ({ rest: client }) => {
    const path = await historyPath(client, target);
    if (version !== undefined) {
      const query = `resourceVersion=${encodeURIComponent(version)}`;
      const { items } = await client.exact<History>({ method: "GET", path: `${path}?${query}` });
      const { object, problem } = items[0] ?? {};
      if (object === undefined)
        throw new StartError(problem ?? `version ${version} is the deletion, which has no object`);
      process.stdout.write(valueText(output === "json" ? "json" : "yaml", object));
      return;
    }
    const read = await readHistory(client, path, limit);
    if (output === "json" || output === "yaml") process.stdout.write(valueText(output, read));
    else process.stdout.write(historyText(read, output === "wide", systemClock.now(), isColoured(process.stdout)));
  });
});

/** Runs `binnacle undelete`: restores a version of an object. Rejects with `StartError`. */
export const undelete = command(undeleteFlags, undeleteHelp, async (settings, rest) => {
  const { toVersion, overwrite = false, dryRun = false, output = "text" } = settings;
  if (overwrite && toVersion === undefined) throw new StartError("--overwrite needs --to-version");
  const target = targetOf("undelete", rest, settings.namespace);
  const restore = async (client: RestClient): Promise<void> => {
    const path = await historyPath(client, target);
    const body = {
      ...(toVersion === undefined ? {} : { resourceVersion: toVersion }),
      ...(overwrite ? { overwrite } : {}),
    };
    const query = dryRun ? "?dryRun=All" : "";
    const value = await client.exact<Unstructured>({
      method: "POST",
      path: `${path}/restore${query}`,
      ...jsonBody(body),
    });
    if (output === "json" || output === "yaml") process.stdout.write(valueText(output, value));
    else process.stdout.write(`${restoredText(value, dryRun)}\n`);
  };
  await withServer(await findServer(settings), ({ rest }) => restore(rest), { warned: printWarnings });
});

function restoredText({ kind = "object", metadata }: Unstructured, dryRun: boolean): string {
  const { name = "", namespace: ns, resourceVersion } = metadata;
  const where = ns === undefined ? "" : ` in ${ns}`;
  const what = `${kind} ${JSON.stringify(name)}${where}`;
  return dryRun ? `${what} would be restored (dry run)` : `${what} restored, now in version ${resourceVersion ?? "?"}`;
}

interface Target {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Parses `KIND NAME` or `KIND/NAME`. Throws `StartError`. */
function targetOf(command: string, rest: readonly string[], ns = namespace.default): Target {
  const [first = "", ...more] = rest;
  const words = rest.length === 1 ? first.split("/") : [first, ...more];
  const [kind = "", name = ""] = words;
  if (words.length !== 2 || kind === "" || name === "") {
    throw new StartError(`${command} takes a kind and a name: binnacle ${command} KIND NAME`);
  }
  return { kind, name, namespace: ns };
}

async function historyPath(client: RestClient, { kind, name, namespace: ns }: Target): Promise<string> {
  const { group, version, resource, namespaced }: DiscoveredResource = resourceNamed(
    await discover(client, "all"),
    kind,
  );
  const namespacePath = namespaced ? `/namespaces/${pathPart(ns)}` : "";
  return `/binnacle/v1/history/${group === "" ? "core" : group}/${version}${namespacePath}/${resource}/${pathPart(name)}`;
}

/** Reads pages until there are `limit` items, and joins them. */
async function readHistory(client: RestClient, path: string, limit: number): Promise<History> {
  const items: Item[] = [];
  const read = (token: string): Promise<History> =>
    client.exact({ method: "GET", path: pagePath(path, token, Math.min(limit - items.length, 500)) });
  let last: History | undefined;
  for await (const page of pagesOf(read)) {
    items.push(...page.items);
    last = page;
    if (items.length >= limit) break;
  }
  return { ...last!, items }; // there is one page at least
}

const eventColours: Readonly<Record<string, Colour>> = { created: "green", deleted: "red" };

/** Returns the versions as a table, with a line about the oldest one that is stored. */
function historyText({ items, since, metadata }: History, isWide: boolean, nowMs: number, colours: boolean): string {
  const head = ["VERSION", "EVENT", "AGE", "BY", ...(isWide ? ["TIME", "UID"] : []), "CHANGED"];
  const rows = items.map((item, i): Cell[] => {
    const { resourceVersion, event, time, manager, uid } = item;
    return [
      resourceVersion,
      { text: event, colour: eventColours[event] },
      time === undefined ? "-" : ageOf(time, nowMs),
      manager ?? "-",
      ...(isWide ? [time ?? "-", uid ?? "-"] : []),
      item.problem ?? changedText(item, items[i + 1], isWide),
    ];
  });
  const from = since.time === undefined ? `version ${since.resourceVersion}` : since.time;
  const dropped =
    since.resourceVersion === "0" ? "no version has been dropped" : `the server keeps versions since ${from}`;
  const more = metadata.continue === undefined ? dropped : "there are older versions: see them with --limit";
  return `${tableText([head, ...rows], colours)}${more}\n`;
}

const shownPathsMax = 3;
/** The fields that change with every write. */
const ownFields = new Set(["metadata.managedFields", "metadata.resourceVersion", "metadata.generation"]);

/** Returns the fields in which a version differs from the one before. */
function changedText({ object, event }: Item, older: Item | undefined, isWide: boolean): string {
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
