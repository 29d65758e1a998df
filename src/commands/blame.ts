/** `binnacle blame`: an object with the manager of each field, who can also be changed. */
import { encodeYaml } from "#codec/yaml.ts";
import { ApiError } from "#client/api-error.ts";
import { jsonBody } from "#client/rest-client.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { ageOf } from "#meta/human-duration.ts";
import { masked } from "#meta/masked-secret.ts";
import type { ManagedFieldsEntry, Unstructured } from "#meta/object-meta.ts";
import { namespaceWords, objectWords, shellWord } from "#meta/printed-command.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, boolean, optional, text, withShort } from "#std/flags.ts";
import { isObject } from "#std/is-object.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { clusterFlags, type ObjectAddress, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { isStructured, withoutManagedFields } from "./output.ts";
import { hasNoHistory, pastPath, readPast } from "./past-events.ts";
import { type Cell, isColoured, printWarnings, tableText, valueText } from "./print.ts";
import { checkOneTarget, oneTarget } from "./explain/one-target.ts";
import { fieldsAt, type KeyPath, FieldOwners, withFields, withoutFields } from "#meta/field-owners.ts";
import { type Fight, fightsOf, memberPath } from "./explain/fights.ts";
import { untoldBy } from "./explain/old-servers.ts";
import { keyPathOf } from "./explain/field-path.ts";

const flags = {
  ...clusterFlags,
  take: optional(binnacleFlag("take"), "field", "Makes --manager the only owner of a field, whose value stays."),
  giveUp: optional(binnacleFlag("give-up"), "field", "Takes a field away from --manager; its value stays."),
  manager: text(binnacleFlag("manager"), "binnacle", "name", "The manager that --take and --give-up are about."),
  dryRun: boolean(binnacleFlag("dry-run"), false, "Has the server check --take or --give-up and write nothing."),
  showSecrets: boolean(binnacleFlag("show-secrets"), false, "Shows the values of Secrets."),
  output: withShort(
    formFlag(["text", "json", "yaml"], "Lines with their managers, or the managers of each path as data."),
    "o",
  ),
};

const help = `Prints an object with the manager of each field, and the time of the manager's last change.

Usage: binnacle blame KIND NAME [flags]
       binnacle blame KIND NAME --take=FIELD [flags]
       binnacle blame KIND NAME --give-up=FIELD --manager=NAME [flags]

  FIELD                           spec.replicas, spec.template.spec.containers[name=app].image, metadata.labels["a.b/c"]
  -h, --help                      print this

A field with two managers has the same value for both. Whoever applies another value to a field of somebody else gets a
conflict: --take ends it for you, and --give-up for the others. Fields without a manager come from the server itself.
Where the server keeps history, fields that managers take from each other again and again are named at the end. Values
of Secrets are masked.

Examples:
  binnacle blame deploy web -n shop
  binnacle blame deploy web --give-up=spec.replicas --manager=kubectl-client-side-apply
  binnacle blame deploy web --take=spec.replicas --manager=autoscaler --dry-run

`;

/** Runs `binnacle blame`. Rejects with `StartError`. */
export const blame = command(flags, help, async (settings, rest) => {
  const {
    output = "text",
    take,
    giveUp,
    manager = flags.manager.default,
    dryRun = false,
    showSecrets = false,
  } = settings;
  if (take !== undefined && giveUp !== undefined) throw new StartError("give --take or --give-up, not both");
  checkOneTarget("blame", rest);
  await withCluster(settings, async (cluster) => {
    const address = await oneTarget(cluster, "blame", rest);
    const object = await cluster.call<Unstructured>({ method: "GET", path: address.path });
    const entries = object.metadata.managedFields ?? [];
    if (entries.length === 0) {
      throw new StartError("the server keeps no managers of this object, as before 1.18 or where they were removed");
    }
    if (take !== undefined || giveUp !== undefined) {
      const change = take === undefined ? givenUp(object, giveUp!, manager) : taken(object, take, manager, address);
      const written = await write(cluster, address, { object, entries: change.entries, manager, dryRun });
      const said = `${shownName(address.resource, address.name)}: ${change.said}${dryRun ? " (dry run)" : ""}`;
      process.stdout.write(isStructured(output) ? valueText(output, shownObject(written, showSecrets)) : `${said}\n`);
      return;
    }
    const whole = { apiVersion: apiVersionOf(address.resource), kind: address.resource.kind, ...object };
    const lines = linesOf(withoutManagedFields(shownObject(whole, showSecrets)), FieldOwners.of(entries));
    const past = await readFights(cluster, address, showSecrets);
    if (isStructured(output)) {
      process.stdout.write(valueText(output, { ...asData(lines), ...past }));
      return;
    }
    process.stdout.write(asText(lines) + fightsText(past.fights ?? [], address));
    printWarnings(past.unknown);
  });
});

/** Returns an object as it may be shown. */
const shownObject = (object: Unstructured, showsSecrets: boolean): Unstructured =>
  showsSecrets ? object : masked(undefined, object)[1]!;

interface FightsRead {
  /** `undefined` where they cannot be known. */
  readonly fights?: readonly Fight[];
  /** Sentences about what cannot be known. */
  readonly unknown: readonly string[];
}

/** The number of versions in which fights are looked for. */
const versionsMax = 50;

/** Looks into the history for managers who take a field from each other. */
async function readFights(
  cluster: OpenCluster,
  { resource, namespace, name }: ObjectAddress,
  showsSecrets: boolean,
): Promise<FightsRead> {
  const untold = await untoldBy(cluster, "blame");
  try {
    const { items } = await readPast(cluster, pastPath(resource, namespace, name), versionsMax);
    return { fights: fightsOf(items, (object) => shownObject(object, showsSecrets)), unknown: untold };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const reason = hasNoHistory(error) ? "this server keeps no history" : `the history cannot be read (${error.said})`;
    return { unknown: [...untold, `${reason}: who wrote these fields before their present managers cannot be known`] };
  }
}

/** Returns sentences about fields that managers take from each other, and what ends it. */
function fightsText(fights: readonly Fight[], { resource, name, namespace }: ObjectAddress): string {
  const now = systemClock.now();
  const object = objectWords(resource.resource, name) + namespaceWords(namespace);
  const lines = fights.flatMap(({ path, managers, changes, values, since }) => {
    const span = since === undefined ? "" : ` in the last ${ageOf(since, now)}`;
    const shown = values.map((value) => shortText(value)).join(", ");
    const giveUp = `binnacle blame ${object} ${shellWord(`--give-up=${path}`)} --manager=NAME`;
    return [
      "",
      `FOUGHT OVER  ${path}: ${managers.join(" and ")} changed it in turn, ${changes} times${span} (values: ${shown}).`,
      `  Only one of them should write it. Take it out of what the other applies, then: ${giveUp}`,
    ];
  });
  return lines.map((line) => `${printable(line)}\n`).join("");
}

const valueLengthMax = 40;

/** Returns a value as JSON, cut if it is long. */
function shortText(value: unknown): string {
  const text = value === undefined ? "none" : JSON.stringify(value);
  return text.length > valueLengthMax ? `${text.slice(0, valueLengthMax)}…` : text;
}

/** A line of YAML, with the path of what stands in it. */
interface Line {
  readonly text: string;
  readonly path: string;
  readonly managers: readonly ManagedFieldsEntry[];
}

/** Returns the lines of a value; `indent` stands before each of them. */
function linesOf(value: unknown, part: FieldOwners, path = "", indent = ""): Line[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => {
      const inner = part.item(item, at);
      const below = `${path}[${at}]`;
      if (!hasParts(item)) return scalarLines([item], inner, below, indent);
      const [first, ...more] = linesOf(item, inner, below, `${indent}  `);
      // The owner of an item stands beside its first line.
      const managers = first!.managers.length > 0 ? first!.managers : inner.managers;
      return [{ ...first!, managers, text: `${indent}- ${first!.text.slice(indent.length + 2)}` }, ...more];
    });
  }
  return Object.entries(value as object).flatMap(([name, one]) => {
    const inner = part.member(name);
    const below = memberPath(path, name);
    if (!hasParts(one)) return scalarLines({ [name]: one }, inner, below, indent);
    const head = yaml({ [name]: null })[0]!.replace(/ null$/, "");
    const inList = Array.isArray(one) ? indent : `${indent}  `;
    return [{ text: indent + head, path: below, managers: inner.managers }, ...linesOf(one, inner, below, inList)];
  });
}

/** Whether a value has members or items, which get lines of their own. */
const hasParts = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;

const scalarLines = (value: unknown, { managers }: FieldOwners, path: string, indent: string): Line[] =>
  yaml(value).map((line) => ({ text: indent + line, path, managers }));

const yaml = (value: unknown): readonly string[] => encodeYaml(value).toString().trimEnd().split("\n");

function asText(lines: readonly Line[]): string {
  const now = systemClock.now();
  let before = "";
  const rows = lines.map(({ text: line, managers }): Cell[] => {
    const names = [...new Set(managers.map(managerText))].join(", ");
    const newest =
      managers
        .map(({ time = "" }) => time)
        .sort()
        .at(-1) ?? "";
    // A manager of many lines in a row is named at the first.
    const isSame = names === before;
    before = names;
    const [who, age] = isSame && names !== "" ? ['  "', ""] : [names, newest === "" ? "" : ageOf(newest, now)];
    return [{ text: who, colour: "dim" }, { text: age, colour: "dim" }, line];
  });
  return tableText([["MANAGER", "AGE", "FIELD"], ...rows], isColoured(process.stdout));
}

/** Returns the name of a manager, with the subresource that it writes through. */
const managerText = ({ manager = "unknown", subresource = "" }: ManagedFieldsEntry): string =>
  subresource === "" ? manager : `${manager} (${subresource})`;

const asData = (lines: readonly Line[]): object => ({
  fields: [...Map.groupBy(lines, ({ path }) => path)]
    .filter(([, [first]]) => first!.managers.length > 0)
    .map(([path, [first]]) => ({
      path,
      managers: first!.managers.map(({ manager, operation, subresource, time }) => ({
        manager,
        operation,
        ...(subresource === undefined ? {} : { subresource }),
        time,
      })),
    })),
});

interface Change {
  readonly entries: readonly ManagedFieldsEntry[];
  /** The change in words. */
  readonly said: string;
}

/** Returns the entries after a manager has given up a field. Throws `StartError`. */
function givenUp(object: Unstructured, field: string, manager: string): Change {
  const path = keyPathOf(object, field);
  const entries = object.metadata.managedFields ?? [];
  if (!entries.some((entry) => entry.manager === manager && fieldsAt(entry.fieldsV1, path) !== undefined)) {
    throw new StartError(`${JSON.stringify(manager)} does not own ${field}: binnacle blame shows who does`);
  }
  const left = entries.flatMap((entry) => (entry.manager === manager ? without(entry, path) : [entry]));
  return { entries: left, said: `${manager} does not own ${field} any more` };
}

/** Returns the entries after a manager has become the only owner of a field. Throws `StartError`. */
function taken(object: Unstructured, field: string, manager: string, { resource }: ObjectAddress): Change {
  const path = keyPathOf(object, field);
  const entries = object.metadata.managedFields ?? [];
  const holders = entries.filter((entry) => fieldsAt(entry.fieldsV1, path) !== undefined);
  const others = [...new Set(holders.map(({ manager: name = "unknown" }) => name).filter((name) => name !== manager))];
  const own = entries.find((entry) => entry.manager === manager && entry.operation === "Apply");
  let fields: Readonly<Record<string, unknown>> = own?.fieldsV1 ?? {};
  for (const { fieldsV1 } of holders) fields = withFields(fields, path, fieldsAt(fieldsV1, path)!);
  if (holders.length === 0) fields = withFields(fields, path, {});
  const entry: ManagedFieldsEntry = {
    manager,
    operation: "Apply",
    apiVersion: apiVersionOf(resource),
    fieldsType: "FieldsV1",
    ...own,
    time: new Date(systemClock.now()).toISOString().replace(/\.\d+Z$/, "Z"),
    fieldsV1: fields,
  };
  const left = entries.filter((one) => one !== own).flatMap((one) => without(one, path));
  const from = others.length === 0 ? "" : `, and ${others.join(", ")} no longer`;
  return { entries: [...left, entry], said: `${manager} owns ${field}${from}` };
}

function without(entry: ManagedFieldsEntry, path: KeyPath): readonly ManagedFieldsEntry[] {
  const left = withoutFields(entry.fieldsV1 ?? {}, path);
  return left === undefined ? [] : [{ ...entry, fieldsV1: left }];
}

interface NewManagers {
  readonly object: Unstructured;
  readonly entries: readonly ManagedFieldsEntry[];
  readonly manager: string;
  readonly dryRun: boolean;
}

/** Writes the managers, if nobody has changed the object since it was read. */
function write(cluster: OpenCluster, { path }: ObjectAddress, change: NewManagers): Promise<Unstructured> {
  const { object, entries, manager, dryRun } = change;
  const patch = [
    { op: "test", path: "/metadata/resourceVersion", value: object.metadata.resourceVersion },
    // Without any manager the server keeps one empty entry, since an empty list means that it makes new ones.
    { op: "replace", path: "/metadata/managedFields", value: entries.length === 0 ? [{}] : entries },
  ];
  const query = `fieldManager=${encodeURIComponent(manager)}${dryRun ? "&dryRun=All" : ""}`;
  return cluster.rest.exact<Unstructured>({
    method: "PATCH",
    path: `${path}?${query}`,
    ...jsonBody(patch, "application/json-patch+json"),
  });
}
