/**
 * `binnacle changes`: the last changes of a namespace or of the cluster, with the lines that differ and who made them. On
 * a server without history it tells what the field managers of the present objects say.
 */
import { ageOf } from "#meta/human-duration.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { namespaceWords, objectWords } from "#meta/printed-command.ts";
import { ApiError } from "#client/api-error.ts";
import { pagePath, pagesOf, withQuery } from "#client/pages.ts";
import { itemsOf } from "#client/rest-client.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, boolean, integer, text, withShort } from "#std/flags.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { collectionPath, discover, type DiscoveredResource } from "./discovery.ts";
import { clusterFlags, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import type { PastItem } from "#meta/past-item.ts";
import { differenceText, hasNoHistory, headlineOf, nameOfItem, pastPath, readPast, shownItem } from "./past-events.ts";
import { isColoured, valueText } from "./print.ts";
import { untoldBy } from "./explain/old-servers.ts";
import { targetsOf } from "./targets.ts";

const flags = {
  ...clusterFlags,
  allNamespaces: withShort(boolean(binnacleFlag("all-namespaces"), false, "Changes in all namespaces."), "A"),
  since: text(
    binnacleFlag("since"),
    "10m",
    "time",
    "Changes since then: a time like 10m, 2d or 2026-01-31T12:00:00Z, or a version.",
  ),
  limit: integer(binnacleFlag("limit"), 100, { min: 1, max: 1000 }, "How many changes to show, the newest ones."),
  showSecrets: boolean(binnacleFlag("show-secrets"), false, "Shows the values of Secrets."),
  output: formFlag(["text", "json", "yaml"], "Lines that differ, or everything."),
};

const help = `Shows who changed what, newest first, with the lines that differ.

Usage: binnacle changes [KIND[,KIND]...] [flags]

  KIND                            plural, singular or short name of a kind; default: all that you may list, but for
                                  events and leases
  -h, --help                      print this

Objects outside of namespaces are shown with -A, or when their kind is named. Values of Secrets are masked. On a server
other than Binnacle, only what the present objects say of their last changes can be shown.

Examples:
  binnacle changes -n shop --since 10m
  binnacle changes deploy,cm -A --since 2d
  binnacle changes secrets -n shop --show-secrets -o json

`;

interface Wanted {
  readonly since: string;
  readonly limit: number;
  /** The namespace; empty for all. */
  readonly namespace: string;
  readonly showsSecrets: boolean;
}

/** An event, and the resource that it belongs to. */
interface Change {
  readonly resource: DiscoveredResource;
  readonly item: PastItem;
}

/** Runs `binnacle changes`. Rejects with `StartError`. */
export const changes = command(flags, help, async (settings, rest) => {
  const { allNamespaces = false, since = flags.since.default, limit = flags.limit.default, output = "text" } = settings;
  await withCluster(settings, async (cluster) => {
    const namespace = allNamespaces ? "" : cluster.namespace;
    const wanted: Wanted = { since, limit, namespace, showsSecrets: settings.showSecrets ?? false };
    const resources = await resourcesOf(cluster, rest, allNamespaces);
    const found = await readChanges(cluster, resources, wanted);
    if (found === undefined) return printPresent(cluster, resources, wanted, output);
    if (isStructured(output)) {
      const items = found.map(({ resource: { group, version, kind }, item }) => ({
        group,
        version,
        kind,
        ...shownItem(item, wanted.showsSecrets),
      }));
      process.stdout.write(valueText(output, { kind: "Changes", apiVersion: "binnacle/v1", items }));
      return;
    }
    const isInColour = isColoured(process.stdout);
    for (const { resource, item } of found) {
      const name = nameOfItem(resource, item, allNamespaces);
      process.stdout.write(headlineOf(item, name, systemClock.now(), isInColour));
      if (item.problem !== undefined) process.stdout.write(`${printable(item.problem)}\n`);
      if (item.event !== "updated") continue;
      const states = { before: item.previous, after: item.object };
      process.stdout.write(differenceText(states, wanted.showsSecrets, isInColour));
    }
    if (found.length === 0) process.stderr.write(`no changes since ${printable(since)}\n`);
    const gone = found.find(({ item }) => item.event === "deleted");
    if (gone !== undefined) {
      const { resource, item } = gone;
      const back = `binnacle undelete ${objectWords(resource.resource, item.name ?? "")}${namespaceWords(item.namespace)}`;
      process.stderr.write(`what was deleted comes back with undelete, such as: ${printable(back)}\n`);
    }
    if (found.length === limit) process.stderr.write("there may be older changes: see them with --limit\n");
  });
});

/** The kinds that change all the time without a person who changes them. */
const noisy = new Set(["events", "leases"]);

/** Returns the resources that are meant, each once. */
async function resourcesOf(
  cluster: OpenCluster,
  rest: readonly string[],
  isEverywhere: boolean,
): Promise<readonly DiscoveredResource[]> {
  if (rest.length > 1)
    throw new StartError("changes takes kinds, with commas between them: binnacle changes cm,deploy");
  if (rest.length === 1) return (await targetsOf(cluster, "changes", rest)).map(({ resource }) => resource);
  const { resources } = await discover(cluster.rest, "preferred");
  return resources.filter(
    ({ verbs, namespaced, resource }) =>
      verbs.includes("list") && (namespaced || isEverywhere) && verbs.includes("watch") && !noisy.has(resource),
  );
}

/** Returns the newest changes of all resources, newest first; `undefined`: the server has no history. */
async function readChanges(
  cluster: OpenCluster,
  resources: readonly DiscoveredResource[],
  { since, limit, namespace }: Wanted,
): Promise<readonly Change[] | undefined> {
  let found: Change[] = [];
  const hidden = new HiddenKinds(resources.length);
  for (const resource of resources) {
    const path = withQuery(pastPath(resource, namespace), `previous=true&since=${encodeURIComponent(since)}`);
    try {
      const { items } = await readPast(cluster, path, limit);
      found.push(...items.map((item) => ({ resource, item })));
    } catch (error) {
      if (hasNoHistory(error)) return undefined;
      if (!(error instanceof ApiError)) throw error;
      // Kinds that another server serves, or that are not stored, have no history here.
      if (resources.length === 1 || ![404, 405].includes(error.code)) hidden.add(resource, error);
    }
    // Revisions are those of the whole store.
    found.sort((one, other) => Number(other.item.resourceVersion) - Number(one.item.resourceVersion));
    found = found.slice(0, limit);
  }
  hidden.print();
  return found;
}

/** The kinds whose changes could not be read. */
class HiddenKinds {
  readonly #asked: number;
  readonly #forbidden: string[] = [];
  readonly #failed: string[] = [];

  /** `asked` is the number of kinds that are read. */
  constructor(asked: number) {
    this.#asked = asked;
  }

  /** Remembers why a kind is not shown. Throws the error when it is the only kind. */
  add({ resource, group }: DiscoveredResource, error: ApiError): void {
    if (error.code === 403) this.#forbidden.push(resource);
    else if (this.#asked === 1) throw error;
    else this.#failed.push(`${resource}${group === "" ? "" : `.${group}`} (${error.said})`);
  }

  /** Names them. Throws `StartError` when the caller may list none of the kinds. */
  print(): void {
    if (this.#forbidden.length === this.#asked) throw new StartError(`you may not list ${this.#forbidden.join(", ")}`);
    if (this.#forbidden.length > 0) {
      process.stderr.write(`not shown, since you may not list them: ${this.#forbidden.join(", ")}\n`);
    }
    for (const text of this.#failed) process.stderr.write(`not shown, since they cannot be read: ${printable(text)}\n`);
  }
}

/** A change that a present object tells of. */
interface PresentChange {
  readonly time: string;
  readonly resource: DiscoveredResource;
  readonly object: Unstructured;
  readonly manager: string;
  readonly operation: string;
}

interface PresentPage {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly Unstructured[] | null;
}

/** Prints what the field managers of present objects say, for servers without history. */
async function printPresent(
  cluster: OpenCluster,
  resources: readonly DiscoveredResource[],
  { since, limit, namespace }: Wanted,
  output: "text" | "json" | "yaml",
): Promise<void> {
  const sinceMs = momentOf(since);
  let found: PresentChange[] = [];
  const hidden = new HiddenKinds(resources.length);
  for (const resource of resources) {
    const path = collectionPath(resource, namespace);
    const read = (token: string): Promise<PresentPage> => cluster.call({ method: "GET", path: pagePath(path, token) });
    try {
      for await (const page of pagesOf(read)) {
        for (const object of itemsOf(page)) found.push(...changesOf(resource, object, sinceMs));
        found.sort((one, other) => Date.parse(other.time) - Date.parse(one.time));
        found = found.slice(0, limit);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      hidden.add(resource, error);
    }
  }
  hidden.print();
  const unknown = [
    "this server keeps no history: deletions, and values before a change, cannot be known here, nor all but the last change of each manager",
    ...(await untoldBy(cluster, "changes")),
  ];
  for (const text of unknown) process.stderr.write(`${text}\n`);
  if (isStructured(output)) {
    const items = found.map(({ resource: { group, version, kind }, object, time, manager, operation }) => {
      const { name, namespace: ns, uid } = object.metadata;
      return { group, version, kind, name, namespace: ns, uid, time, timeSource: "managedFields", manager, operation };
    });
    process.stdout.write(valueText(output, { kind: "Changes", apiVersion: "binnacle/v1", items, unknown }));
    return;
  }
  for (const { resource, object, time, manager, operation } of found) {
    const { name = "", namespace: ns } = object.metadata;
    const where = namespace === "" && ns !== undefined ? ` in ${ns}` : "";
    const when = `${time} (${ageOf(time, systemClock.now())} ago)`;
    const line = `${shownName(resource, name)}${where} changed by ${manager} (${operation}), ${when}`;
    process.stdout.write(`${printable(line)}\n`);
  }
  if (found.length === 0) process.stderr.write(`no changes since ${printable(since)}\n`);
}

const changesOf = (resource: DiscoveredResource, object: Unstructured, sinceMs: number): PresentChange[] =>
  (object.metadata.managedFields ?? []).flatMap(({ time, manager = "unknown", operation = "Update" }) =>
    time === undefined || !(Date.parse(time) >= sinceMs) ? [] : [{ time, resource, object, manager, operation }],
  );

/** Reads a time for a server that does not understand it. Throws `StartError`. */
function momentOf(since: string): number {
  const [, days, rest = ""] = /^(?:(\d{1,5})d)?(.*)$/s.exec(since) ?? [];
  const restMs = rest === "" && days !== undefined ? 0 : parseGoDuration(rest);
  if (restMs !== undefined) return systemClock.now() - Number(days ?? 0) * 86_400_000 - restMs;
  const ms = /^\d{4}-/.test(since) ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new StartError(
      `invalid value ${JSON.stringify(since)} for --since: must be a time like 10m or 2026-01-31T12:00:00Z`,
    );
  }
  return ms;
}
