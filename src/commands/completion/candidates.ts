/**
 * Finds the words that can follow on a command line: commands, flags and their values, and the kinds and objects of the
 * cluster that the line is about. A cluster that does not answer has no candidates.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { type Flag, type FlagTable, parseArguments, type Settings } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import type { Command } from "../command.ts";
import { collectionPath, type DiscoveredResource } from "../discovery.ts";
import { clusterFlags, type OpenCluster, withCluster } from "../open-cluster.ts";
import { type Slot, usageSlots } from "./usage-slots.ts";

/** A text that can stand for the word under the cursor. */
interface Offer {
  readonly text: string;
  readonly help: string;
}

/** Offers, or that the shell is to offer files. */
type Completion = readonly Offer[] | "files";

/** The commands by name; each is loaded when a line is about it. */
export type CommandLoaders = Readonly<Record<string, () => Promise<Command>>>;

/** Returns what can stand for the last of the words, which follow the program's name. */
export async function complete(
  words: readonly string[],
  loaders: CommandLoaders,
  helpOf: (command: string) => string,
): Promise<Completion> {
  const [name = "", ...rest] = words;
  if (words.length < 2) return commandsNamed(Object.keys(loaders), helpOf);
  const command = Object.hasOwn(loaders, name) ? await loaders[name]!() : undefined;
  return command === undefined ? [] : completeCommand(command, [name], rest);
}

const commandsNamed = (names: readonly string[], helpOf: (name: string) => string): Offer[] =>
  names.map((text) => ({ text, help: helpOf(text) }));

async function completeCommand(
  command: Command,
  path: readonly string[],
  words: readonly string[],
): Promise<Completion> {
  const { commands, flags, help } = command;
  const [word = "", ...rest] = words;
  if (commands !== undefined) {
    if (words.length < 2) return commandsNamed(Object.keys(commands), () => "");
    return Object.hasOwn(commands, word) ? completeCommand(commands[word]!, [...path, word], rest) : [];
  }
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const flag = valueFlag(flags, before, last);
  if (flag !== undefined) return valuesOf(flag, before);
  if (last.startsWith("-")) return flagsOf(flags);
  return argumentsAt(usageSlots(help, path), argumentsOf(flags, before), last, before);
}

/** Returns the flag whose value the last word is: after `--flag` alone, or behind `--flag=`. */
function valueFlag(flags: FlagTable, before: readonly string[], last: string): Flag<unknown> | undefined {
  const equals = last.startsWith("-") ? last.indexOf("=") : -1;
  if (equals > 0) return flagNamed(flags, last.slice(0, equals));
  const flag = flagNamed(flags, before.at(-1) ?? "");
  return flag?.hint === "" ? undefined : flag;
}

function flagNamed(flags: FlagTable, word: string): Flag<unknown> | undefined {
  const name = /^--?([^=]+)$/.exec(word)?.[1];
  return name === undefined
    ? undefined
    : Object.values(flags).find((flag) => flag.name === name || flag.short === name);
}

const flagsOf = (flags: FlagTable): Offer[] => [
  ...Object.values(flags)
    .filter(({ inert, deprecated }) => inert === undefined && deprecated === undefined)
    .map(({ name, hint, help }) => ({ text: hint === "" ? `--${name}` : `--${name}=`, help })),
  { text: "--help", help: "Prints the help of the command." },
];

const fileHints: ReadonlySet<string> = new Set(["file", "folder", "files"]);

async function valuesOf(
  { name, hint, help, values = [] }: Flag<unknown>,
  before: readonly string[],
): Promise<Completion> {
  if (hint === "") return ["true", "false"].map((text) => ({ text, help }));
  if (fileHints.has(hint) || name === "filename") return "files";
  if (name === "namespace") return onCluster(before, (cluster) => namesOf(cluster, "namespaces"));
  return values.map((text) => ({ text, help: "" }));
}

/** Returns the words before the last that are no flags and no values of flags. */
function argumentsOf(flags: FlagTable, before: readonly string[]): readonly string[] {
  return before.filter((word, at) => {
    if (word.startsWith("-")) return false;
    const flag = flagNamed(flags, before[at - 1] ?? "");
    return flag === undefined || flag.hint === "";
  });
}

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/** Returns the candidates for an argument, by the forms that the command's help shows. */
async function argumentsAt(
  forms: readonly (readonly Slot[])[],
  given: readonly string[],
  last: string,
  before: readonly string[],
): Promise<Completion> {
  const candidates = new Map<string, Offer>();
  for (const form of forms) {
    const slot = slotAt(form, given);
    if (slot === undefined) continue;
    const found = await candidatesOf(slot.is, kindIn(form, given), last, before);
    if (found === "files") return "files";
    for (const one of found) candidates.set(one.text, one);
  }
  return [...candidates.values()];
}

const isWord = ({ is }: Slot): boolean => /^[a-z]/.test(is);

/** Returns the slot after the given arguments; `undefined` if they do not fit the form, or nothing may follow. */
function slotAt(form: readonly Slot[], given: readonly string[]): Slot | undefined {
  for (const [at, argument] of given.entries()) {
    const slot = form[at];
    if (slot === undefined) continue;
    const isPair = slot.is === "KIND/NAME" && slot.isRepeated;
    if (isPair ? !argument.includes("/") : isWord(slot) && slot.is !== argument) return undefined;
  }
  const end = form.at(-1);
  return form[given.length] ?? (end?.isRepeated === true ? end : undefined);
}

/** Returns the kind that the given arguments name; empty if they name none. */
const kindIn = (form: readonly Slot[], given: readonly string[]): string =>
  given[form.findIndex(({ is }) => is === "KIND")] ?? "";

async function candidatesOf(is: string, kind: string, last: string, before: readonly string[]): Promise<Completion> {
  switch (is) {
    case "FILE":
    case "FOLDER":
      return "files";
    case "VERB":
      return verbs.map((text) => ({ text, help: "" }));
    case "NAME":
      return kind === "" ? [] : onCluster(before, (cluster) => namesOf(cluster, kind));
    case "KIND":
      return onCluster(before, kindsOf);
    case "KIND/NAME": {
      const slash = last.indexOf("/");
      if (slash < 0) return onCluster(before, kindsOf);
      const own = last.slice(0, slash);
      const names = await onCluster(before, (cluster) => namesOf(cluster, own));
      return names.map(({ text, help }) => ({ text: `${own}/${text}`, help }));
    }
    default:
      return /^[a-z]/.test(is) ? [{ text: is, help: "" }] : [];
  }
}

/** Asks the cluster that the line names. A cluster that does not answer, or refuses, has no candidates. */
async function onCluster(
  before: readonly string[],
  ask: (cluster: OpenCluster) => Promise<Offer[]>,
): Promise<readonly Offer[]> {
  try {
    return await withCluster(clusterSettings(before), ask);
  } catch (error) {
    if (error instanceof StartError) return [];
    throw error;
  }
}

/** Returns the settings that lead to the cluster, without the other flags of the line. */
function clusterSettings(before: readonly string[]): Settings<typeof clusterFlags> {
  const own = before.flatMap((word, at) => {
    const flag = flagNamed(clusterFlags, word.split("=", 1)[0]!);
    if (flag === undefined) return [];
    return word.includes("=") ? [word] : [word, before[at + 1] ?? ""];
  });
  return parseArguments(clusterFlags, own).settings;
}

async function kindsOf(cluster: OpenCluster): Promise<Offer[]> {
  const { resources } = await cluster.discovered();
  const listed = new Map<string, DiscoveredResource>();
  for (const one of resources) {
    const isOffered = one.verbs.includes("list") && harmless.test(one.resource);
    if (isOffered && !listed.has(one.resource)) listed.set(one.resource, one);
  }
  return [...listed.values()].map(({ resource, kind, group }) => ({
    text: resource,
    help: group === "" ? kind : `${kind} of ${group}`,
  }));
}

/**
 * Matches names that mean nothing to a shell. Others are not offered: a role may be called `$(reboot)`, and the line that
 * a shell completes is run as it stands.
 */
const harmless = /^[\w.:@+-]+$/;

/** The maximum number of objects whose names are candidates. */
const namesMax = 500;

async function namesOf(cluster: OpenCluster, word: string): Promise<Offer[]> {
  const resource = await cluster.resource(word.split(",", 1)[0]!);
  const path = collectionPath(resource, resource.namespaced ? cluster.namespace : "");
  const { items } = await cluster.call<{ readonly items: readonly Unstructured[] }>({
    method: "GET",
    path: `${path}?limit=${namesMax}`,
    accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
  });
  return items.flatMap(({ metadata: { name = "" } }) =>
    harmless.test(name) ? [{ text: name, help: resource.kind }] : [],
  );
}
