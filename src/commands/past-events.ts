/** The history of a server, as the commands about the past read and print it (`docs/history.md`). */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageOf } from "#meta/human-duration.ts";
import { ApiError } from "#client/api-error.ts";
import { pagePath, pagesOf } from "#client/pages.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { type DiscoveredResource, pathPart } from "./discovery.ts";
import { lineDiff } from "#std/line-diff.ts";
import { masked } from "#meta/masked-secret.ts";
import type { PastItem, PastPage } from "#meta/past-item.ts";
import { type OpenCluster, shownName } from "./open-cluster.ts";
import { withoutManagedFields } from "./output.ts";
import { type Colour, painted, valueText } from "./print.ts";

/** Returns the path of the history of a collection, or of one object. An empty namespace stands for all. */
export function pastPath(resource: DiscoveredResource, namespace: string, name?: string): string {
  const { group, version, namespaced } = resource;
  const namespacePath = namespaced && namespace !== "" ? `/namespaces/${pathPart(namespace)}` : "";
  const objectPath = name === undefined ? "" : `/${pathPart(name)}`;
  return `/binnacle/v1/history/${group === "" ? "core" : group}/${version}${namespacePath}/${resource.resource}${objectPath}`;
}

/** Reads the newest items of a history, at most `limit`, page by page. */
export async function readPast(cluster: Pick<OpenCluster, "rest">, path: string, limit: number): Promise<PastPage> {
  const items: PastItem[] = [];
  const read = (token: string): Promise<PastPage> =>
    cluster.rest.exact({ method: "GET", path: pagePath(path, token, Math.min(limit - items.length, 500)) });
  let last: PastPage | undefined;
  for await (const page of pagesOf(read)) {
    items.push(...page.items);
    last = page;
    if (items.length >= limit) break;
  }
  return { ...last!, items }; // there is one page at least
}

/** Whether a refusal says that the server has no paths of the history: it is not Binnacle. It then names no kind. */
export const hasNoHistory = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 404 || error.code === 403) && (error.status.details?.kind ?? "") === "";

/** The error about a server without history. */
export const needsBinnacle = (what: keyof typeof elsewhere): StartError =>
  new StartError(`${what} needs the history of a Binnacle server, which this server does not have: ${elsewhere[what]}`);

/** The places where other clusters may have what is asked for. */
const elsewhere = {
  "--at": "it has the present objects only",
  history: "its audit log, if there is one, tells who changed or deleted what",
  undelete: "what was deleted comes back from a backup, or from the file that made it",
};

const eventColours: Readonly<Record<string, Colour>> = { created: "green", updated: "yellow", deleted: "red" };

/** Returns the line about an event: its time, what happened to which object, who did it. */
export function headlineOf(item: PastItem, name: string, nowMs: number, isColoured: boolean): string {
  const { event, time, timeSource, resourceVersion } = item;
  const about = timeSource === "log" ? "up to ten seconds before " : "";
  const when = time === undefined ? "at an unknown time" : `${about}${time} (${ageOf(time, nowMs)} ago)`;
  const colour = eventColours[event];
  const shownEvent = isColoured && colour !== undefined ? painted(event, colour) : event;
  return `${printable(name)} ${shownEvent} ${printable(whoOf(item))}, ${printable(when)}, version ${printable(resourceVersion)}\n`;
}

/** Returns who made an event, as far as it is known. */
export function whoOf({ event, user, manager, endedBy }: PastItem): string {
  const by = (one: { readonly user?: string; readonly manager?: string }): string =>
    [one.user, one.manager && `with ${one.manager}`].filter((text) => text !== undefined).join(" ");
  if (user !== undefined) return `by ${by({ user, ...(manager === undefined ? {} : { manager }) })}`;
  if (endedBy !== undefined) return `(removed in the end by ${by(endedBy)})`;
  if (manager !== undefined) return `by ${manager}`;
  return event === "deleted" ? "by somebody unknown" : "by an unknown manager";
}

/** Returns the name of the object of an event, with its namespace if all are meant. */
export const nameOfItem = (resource: DiscoveredResource, item: PastItem, showsNamespace: boolean): string => {
  const name = shownName(resource, item.name ?? "");
  return showsNamespace && item.namespace !== undefined ? `${name} in ${item.namespace}` : name;
};

/** Returns the lines in which two states of an object differ. */
export function differenceText(
  states: { readonly before: Unstructured | undefined; readonly after: Unstructured | undefined },
  showsSecrets: boolean,
  isColoured: boolean,
): string {
  const [before, after] = showsSecrets ? [states.before, states.after] : masked(states.before, states.after);
  const text = (object: Unstructured | undefined): string =>
    object === undefined ? "" : valueText("yaml", withoutOwnFields(object));
  const difference = lineDiff(text(before), text(after));
  return isColoured ? colouredDiff(difference) : difference;
}

/** Returns an object without the fields that change with every write. */
function withoutOwnFields(object: Unstructured): Unstructured {
  const { resourceVersion: _version, generation: _generation, ...metadata } = withoutManagedFields(object).metadata;
  const { [lastApplied]: copy, ...annotations } = metadata.annotations ?? {};
  if (copy === undefined) return { ...object, metadata };
  // It repeats the object.
  const { annotations: _all, ...rest } = metadata;
  return { ...object, metadata: { ...rest, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) } };
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

const lineColours: Readonly<Record<string, Colour>> = { "+": "green", "-": "red", "@": "dim" };

const colouredDiff = (text: string): string =>
  text
    .split("\n")
    .map((line) => {
      const colour = lineColours[line.charAt(0)];
      return colour === undefined ? line : painted(line, colour);
    })
    .join("\n");

/** Returns an item whose objects are as they may be shown. */
export function shownItem(item: PastItem, showsSecrets: boolean): PastItem {
  if (showsSecrets) return item;
  const { object, previous, ...facts } = item;
  const [before, after] = masked(previous, object);
  return {
    ...facts,
    ...(after === undefined ? {} : { object: after }),
    ...(before === undefined ? {} : { previous: before }),
  };
}
