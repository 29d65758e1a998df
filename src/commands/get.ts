/** `binnacle get`: prints objects as the server's own tables or in other forms, and watches them. */
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Status } from "#meta/status-error.ts";
import { refusal, Unreachable } from "#server/running-server.ts";
import { ApiError } from "#client/api-error.ts";
import { waitingClock } from "#client/clock.ts";
import { pagePath, pagesOf, withQuery } from "#client/pages.ts";
import { itemsOf } from "#client/rest-client.ts";
import { pause } from "#std/clock.ts";
import { binnacleFlag, boolean, optional, withShort } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, selectorFlag } from "./command.ts";
import { collectionPath, type DiscoveredResource } from "./discovery.ts";
import { clusterFlags, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { listOf, type Output, outputFlag, outputOf, withoutManagedFields } from "./output.ts";
import { hasNoHistory, needsBinnacle, pastPath } from "./past-events.ts";
import { valueText } from "./print.ts";
import { acceptTable, type ServerTable, TablePrinter } from "./table.ts";
import { type KindTarget, targetsOf } from "./targets.ts";

const flags = {
  ...clusterFlags,
  allNamespaces: withShort(boolean(binnacleFlag("all-namespaces"), false, "Objects of all namespaces."), "A"),
  selector: selectorFlag("Only objects with these labels: app=web,!old."),
  fieldSelector: optional(binnacleFlag("field-selector"), "fields", "Only objects with these fields: metadata.name=a."),
  at: optional(
    binnacleFlag("at"),
    "time",
    "Objects as they were then: a time like 10m, 2d or 2026-01-31T12:00:00Z, or a version. Needs a Binnacle server.",
  ),
  watch: withShort(boolean(binnacleFlag("watch"), false, "Goes on and prints every object that changes."), "w"),
  noHeaders: boolean(binnacleFlag("no-headers"), false, "Leaves out the head of the table."),
  ignoreNotFound: boolean(binnacleFlag("ignore-not-found"), false, "Does not fail when a named object is absent."),
  showManagedFields: boolean(
    binnacleFlag("show-managed-fields"),
    false,
    "Keeps metadata.managedFields in JSON and YAML.",
  ),
  output: outputFlag,
};

const help = `Prints objects of a server.

Usage: binnacle get KIND[,KIND]... [NAME]... [flags]
       binnacle get KIND/NAME... [flags]

  KIND                            plural, singular or short name of a kind, also with .GROUP; or a category, such as all
  -h, --help                      print this

Examples:
  binnacle get deployments -n shop -o wide
  binnacle get cm,secret -A -l app=web
  binnacle get all -n shop
  binnacle get pods -w
  binnacle get deploy -n shop --at 10m
  binnacle get deploy web -o jsonpath='{.status.readyReplicas}'
  binnacle get ns -o name

`;

interface Wanted {
  readonly output: Output;
  readonly isEverywhere: boolean;
  readonly selector: string;
  readonly fieldSelector: string;
  readonly noHeaders: boolean;
  readonly ignoresAbsent: boolean;
  readonly keepsManagers: boolean;
  /** The time or version in the past at which objects are read; empty for now. */
  readonly at: string;
  /** Whether several kinds are printed, whose names then begin with the kind. */
  readonly hasKinds: boolean;
}

/** Runs `binnacle get`. Rejects with `StartError`. */
export const get = command(flags, help, async (settings, rest) => {
  const output = outputOf(settings.output);
  const { watch = false, allNamespaces = false, selector = "", fieldSelector = "", at = "" } = settings;
  if (at !== "" && (watch || fieldSelector !== ""))
    throw new StartError("--at goes with neither -w nor --field-selector");
  await withCluster(settings, async (cluster) => {
    const targets = await targetsOf(cluster, "get", rest);
    const names = targets.flatMap((target) => target.names);
    if (names.length > 0 && (allNamespaces || selector !== "" || fieldSelector !== "")) {
      throw new StartError("a name says which object is meant: leave out -A, -l and --field-selector");
    }
    const wanted: Wanted = {
      output,
      isEverywhere: allNamespaces,
      selector,
      fieldSelector,
      noHeaders: settings.noHeaders ?? false,
      ignoresAbsent: settings.ignoreNotFound ?? false,
      keepsManagers: settings.showManagedFields ?? false,
      at,
      hasKinds: new Set(targets.map((target) => target.resource)).size > 1,
    };
    try {
      if (watch) await watchTargets(cluster, targets, wanted);
      else if (output.form === "table") await printTables(cluster, targets, wanted);
      else await printObjects(cluster, targets, wanted);
    } catch (error) {
      throw at !== "" && hasNoHistory(error) ? needsBinnacle("--at") : error;
    }
  });
});

/** Returns the path of a collection with its selectors. */
function listPath(cluster: OpenCluster, resource: DiscoveredResource, wanted: Wanted, name?: string): string {
  const query = new URLSearchParams();
  if (wanted.selector !== "") query.set("labelSelector", wanted.selector);
  const fields = name === undefined ? wanted.fieldSelector : `metadata.name=${name}`;
  if (fields !== "") query.set("fieldSelector", fields);
  if (wanted.at !== "") query.set("at", wanted.at);
  const text = query.toString();
  const namespace = wanted.isEverywhere ? "" : cluster.namespace;
  const path = wanted.at === "" ? collectionPath(resource, namespace) : pastPath(resource, namespace);
  return text === "" ? path : `${path}?${text}`;
}

/** Returns the path of one object, now or in the past. */
function objectPath(cluster: OpenCluster, resource: DiscoveredResource, name: string, { at }: Wanted): string {
  if (at === "") return cluster.address(resource, name).path;
  return withQuery(pastPath(resource, cluster.namespace, name), `at=${encodeURIComponent(at)}`);
}

interface Page {
  readonly kind?: string;
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string };
  readonly items?: readonly Unstructured[];
}

/** Yields the pages of a list: tables if they are asked for, and lists otherwise. */
function pagesAt<T extends Page | ServerTable>(cluster: OpenCluster, path: string, accept?: string): AsyncGenerator<T> {
  return pagesOf((token) => cluster.call<T>({ method: "GET", path: pagePath(path, token), accept }));
}

/** Calls `read` for each name, and prints what is absent, which makes the exit code 1. */
async function eachNamed(
  names: readonly string[],
  wanted: Wanted,
  read: (name: string) => Promise<void>,
): Promise<void> {
  for (const name of names) {
    try {
      await read(name);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error;
      if (wanted.at !== "" && hasNoHistory(error)) throw error;
      if (wanted.ignoresAbsent) continue;
      process.stderr.write(`binnacle: ${error.message}\n`);
      process.exitCode = 1;
    }
  }
}

function printerOf({ resource }: KindTarget, wanted: Wanted, isWide: boolean): TablePrinter {
  return new TablePrinter({
    isWide,
    hasNamespaces: wanted.isEverywhere && resource.namespaced,
    noHeaders: wanted.noHeaders,
    namePrefix: wanted.hasKinds ? shownName(resource, "") : "",
  });
}

/** Returns a table for the answer of a server that makes none. */
function tableOf(answer: ServerTable | Page | Unstructured): ServerTable {
  if (answer.kind === "Table") return answer as ServerTable;
  const objects = "items" in answer && Array.isArray(answer.items) ? answer.items : [answer];
  const rows = (objects as readonly Unstructured[]).map((object) => ({
    cells: [object.metadata.name, object.metadata.creationTimestamp ?? ""],
    object,
  }));
  return { kind: "Table", columnDefinitions: [{ name: "Name" }, { name: "Created" }], rows };
}

async function printTables(cluster: OpenCluster, targets: readonly KindTarget[], wanted: Wanted): Promise<void> {
  const isWide = wanted.output.form === "table" && wanted.output.isWide;
  const texts: string[] = [];
  for (const target of targets) {
    const { resource, names } = target;
    const tables: ServerTable[] = [];
    const take = (answer: ServerTable | Page): void => void tables.push(tableOf(answer));
    await eachNamed(names, wanted, async (name) => {
      const path = objectPath(cluster, resource, name, wanted);
      take(await cluster.call<ServerTable>({ method: "GET", path, accept: acceptTable }));
    });
    if (names.length === 0) {
      for await (const page of pagesAt<ServerTable>(cluster, listPath(cluster, resource, wanted), acceptTable))
        take(page);
    }
    const rows = tables.flatMap((table) => table.rows ?? []);
    const columnDefinitions = tables[0]?.columnDefinitions ?? [];
    const text = printerOf(target, wanted, isWide).lines({ kind: "Table", columnDefinitions, rows });
    if (text !== "") texts.push(text);
  }
  process.stdout.write(texts.join("\n"));
  const hasNames = targets.some(({ names }) => names.length > 0);
  if (texts.length === 0 && !hasNames) process.stderr.write(`${nothingText(cluster, targets, wanted)}\n`);
}

function nothingText(cluster: OpenCluster, targets: readonly KindTarget[], wanted: Wanted): string {
  const isOfNamespace = !wanted.isEverywhere && targets.some(({ resource }) => resource.namespaced);
  return isOfNamespace ? `No resources found in ${cluster.namespace} namespace.` : "No resources found";
}

async function printObjects(cluster: OpenCluster, targets: readonly KindTarget[], wanted: Wanted): Promise<void> {
  const found: { readonly object: Unstructured; readonly resource: DiscoveredResource }[] = [];
  for (const { resource, names } of targets) {
    await eachNamed(names, wanted, async (name) => {
      const path = objectPath(cluster, resource, name, wanted);
      found.push({ object: await cluster.call<Unstructured>({ method: "GET", path }), resource });
    });
    if (names.length > 0) continue;
    for await (const page of pagesAt<Page>(cluster, listPath(cluster, resource, wanted))) {
      // Items of typed lists have neither kind nor version.
      const type = { apiVersion: apiVersionOf(resource), kind: resource.kind };
      for (const object of itemsOf(page)) found.push({ object: { ...type, ...object }, resource });
    }
  }
  const isOne = targets.length === 1 && targets[0]!.names.length === 1;
  if (isOne && found.length === 0) return;
  const objects = found.map(({ object }) => (wanted.keepsManagers ? object : withoutManagedFields(object)));
  const { output } = wanted;
  if (output.form === "name") {
    process.stdout.write(found.map(({ object, resource }) => `${nameOf(resource, object)}\n`).join(""));
    return;
  }
  const value = isOne ? objects[0] : listOf(objects);
  if (output.form === "jsonpath") process.stdout.write(output.template(value));
  else if (output.form !== "table") process.stdout.write(valueText(output.form, value));
}

const nameOf = (resource: DiscoveredResource, { metadata: { name = "" } }: Unstructured): string =>
  shownName(resource, name);

async function watchTargets(cluster: OpenCluster, targets: readonly KindTarget[], wanted: Wanted): Promise<void> {
  const [target, ...others] = targets;
  if (target === undefined || others.length > 0 || target.names.length > 1) {
    throw new StartError("-w watches one object, or the objects of one kind");
  }
  const { output } = wanted;
  const printer = printerOf(target, wanted, output.form === "table" && output.isWide);
  const print = (answer: ServerTable | Page | Unstructured): void => {
    process.stdout.write(
      output.form === "table" ? printer.lines(tableOf(answer)) : watchedText(output, target.resource, answer, wanted),
    );
  };
  const [name] = target.names;
  const path = listPath(cluster, target.resource, wanted, name);
  const accept = output.form === "table" ? acceptTable : "application/json";
  let version = "";
  for await (const page of pagesAt<ServerTable | Page>(cluster, path, accept)) {
    version = page.metadata?.resourceVersion ?? version;
    if (page.kind === "Table") print(page);
    else for (const object of itemsOf(page as Page)) print(object);
  }
  await watchFrom(cluster, { path, accept, version, print });
}

function watchedText(
  output: Output,
  resource: DiscoveredResource,
  answer: ServerTable | Page | Unstructured,
  wanted: Wanted,
): string {
  const type = { apiVersion: apiVersionOf(resource), kind: resource.kind };
  const whole = { ...type, ...(answer as Unstructured) }; // it was asked for as an object
  const object = wanted.keepsManagers ? whole : withoutManagedFields(whole);
  if (output.form === "name") return `${nameOf(resource, object)}\n`;
  if (output.form === "jsonpath") return `${output.template(object)}\n`;
  if (output.form === "yaml") return `---\n${valueText("yaml", object)}`;
  return valueText("json", object);
}

interface Watched {
  readonly path: string;
  readonly accept: string;
  readonly version: string;
  print(answer: ServerTable | Unstructured): void;
}

/** The number of attempts in a row without an event, and the time between them. */
const attemptsMax = 30;
const pauseMs = 1000;

/** Prints changes for ever: it goes on from the last version when the watch ends or the connection is lost. */
async function watchFrom(cluster: OpenCluster, { path, accept, version, print }: Watched): Promise<void> {
  let last = version;
  let attempts = 0;
  let failure: unknown;
  while (attempts < attemptsMax) {
    attempts++;
    try {
      const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(last)}`;
      await cluster.rest.watch({ method: "GET", path: withQuery(path, query), accept }, (event) => {
        const object = event.object() as Unstructured & Partial<ServerTable>; // what watches write
        if (event.type === "ERROR") {
          const status = event.object() as unknown as Status; // what an event of this type has
          failure = refusal(cluster.url, { method: "GET", path }, status.code, status);
          return;
        }
        attempts = 0;
        last = versionOf(object) || last;
        if (event.type !== "BOOKMARK") print(object);
      });
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      failure = error;
    }
    if (failure instanceof ApiError) throw failure;
    await pause(waitingClock, pauseMs, new AbortController().signal);
  }
  throw failure ?? new StartError("the server ends each watch at once");
}

const versionOf = ({ metadata, rows }: Unstructured & Partial<ServerTable>): string =>
  rows?.[0]?.object?.metadata.resourceVersion ?? metadata?.resourceVersion ?? "";
