/**
 * Flag definitions, parsed into arguments, a configuration file and `--help`. Syntax is Go's: `--name=value`, `--name
 * value`, boolean flags alone or with `=value`, lists repeated or comma-separated.
 */
import { parseGoDuration, printGoDuration } from "./go-duration.ts";
import { StartError } from "./start-error.ts";

/** Sections of `--help`, in order; those of kube-apiserver keep its titles. */
export const flagGroups = [
  "Binnacle",
  "Generic",
  "Etcd",
  "Secure serving",
  "Auditing",
  "Features",
  "Authentication",
  "Authorization",
  "API enablement",
  "Admission",
  "Services",
  "Controllers",
  "Logs",
  "Misc",
] as const;

type FlagGroup = (typeof flagGroups)[number];

export interface Flag<T> {
  /** The name without dashes. */
  readonly name: string;
  /** One letter, without dash. */
  readonly short?: string;
  readonly group: FlagGroup;
  /** Shown in help after the name; empty for booleans. */
  readonly hint: string;
  readonly help: string;
  readonly default: T;
  /** Reads one value; `before` is what earlier ones gave (lists add up). Throws `StartError`. */
  read(text: string, before: T | undefined): T;
  /** Text of a value, as help shows the default; empty shows none. */
  print(value: T): string;
  /** Whether it takes several values, which a configuration file gives as a list or a map. */
  readonly isList?: true;
  /** The reason why a flag is accepted for compatibility and has no effect. */
  readonly inert?: string;
}

/** Flags by the name of their option. */
type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** The options a table describes. */
export type OptionsOf<Table> = { readonly [Name in keyof Table]: Table[Name] extends Flag<infer T> ? T : never };

type Base = readonly [name: string, group: FlagGroup];

const bad = (name: string, text: string, why: string): StartError =>
  new StartError(`invalid value ${JSON.stringify(text)} for --${name}: ${why}`);

/** A flag of one value, which `parse` reads; `refused` makes its error of a reason. */
function flag<T>(
  [name, group]: Base,
  shown: Pick<Flag<T>, "hint" | "help" | "default" | "print">,
  parse: (value: string, refused: (why: string) => StartError) => T,
): Flag<T> {
  return { name, group, ...shown, read: (value) => parse(value, (why) => bad(name, value, why)) };
}

export function text(base: Base, initial: string, hint: string, help: string): Flag<string> {
  return flag(base, { hint, help, default: initial, print: (value) => value }, (value, refused) => {
    if (value === "") throw refused("must not be empty");
    return value;
  });
}

/** A text that may be missing; the empty value means so too. */
export function optional(base: Base, hint: string, help: string): Flag<string | undefined> {
  const shown = { hint, help, default: undefined, print: (value: string | undefined) => value ?? "" };
  return flag(base, shown, (value) => (value === "" ? undefined : value));
}

export function boolean(base: Base, initial: boolean, help: string): Flag<boolean> {
  const print = (value: boolean): string => (value ? "true" : "");
  return flag(base, { hint: "", help, default: initial, print }, (value, refused) => {
    if (/^(?:1|t|true)$/i.test(value)) return true;
    if (/^(?:0|f|false)$/i.test(value)) return false;
    throw refused("must be true or false");
  });
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

export function integer(base: Base, initial: number, { min, max }: Bounds, help: string): Flag<number> {
  return flag(base, { hint: "int", help, default: initial, print: String }, (value, refused) => {
    const number = /^[+-]?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw refused(`must be a whole number from ${min} to ${max}`);
  });
}

export function fraction(base: Base, initial: number, { min, max }: Bounds, help: string): Flag<number> {
  const print = (value: number): string => (value === 0 ? "" : String(value));
  return flag(base, { hint: "float", help, default: initial, print }, (value, refused) => {
    const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw refused(`must be a number from ${min} to ${max}`);
  });
}

/** The option's value is in milliseconds; never negative. */
export function duration(base: Base, initialMs: number, help: string): Flag<number> {
  return flag(base, { hint: "duration", help, default: initialMs, print: printGoDuration }, (value, refused) => {
    const ms = parseGoDuration(value);
    if (ms === undefined) throw refused("must be a duration such as 300ms, 30s or 1h30m");
    if (ms < 0) throw refused("must not be negative");
    return ms;
  });
}

const sizeUnits: Readonly<Record<string, number>> = { "": 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** A number of bytes, with an optional Ki, Mi or Gi. */
export function bytes(base: Base, initialBytes: number, minBytes: number, help: string): Flag<number> {
  return flag(base, { hint: "size", help, default: initialBytes, print: printSize }, (value, refused) => {
    const match = /^(\d{1,12})(Ki|Mi|Gi|)$/.exec(value);
    if (match === null) throw refused("must be a size such as 64Mi");
    const size = Number(match[1]) * sizeUnits[match[2]!]!;
    if (size < minBytes) throw refused(`must be at least ${printSize(minBytes)}`);
    return size;
  });
}

function printSize(size: number): string {
  const unit = ["Gi", "Mi", "Ki"].find((candidate) => size > 0 && size % sizeUnits[candidate]! === 0) ?? "";
  return `${size / sizeUnits[unit]!}${unit}`;
}

export function choice<T extends string>(base: Base, initial: NoInfer<T>, values: readonly T[], help: string): Flag<T> {
  return flag(base, { hint: values.join("|"), help, default: initial, print: (value) => value }, (value, refused) => {
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) throw refused(`must be one of ${values.join(", ")}`);
    return found;
  });
}

/** Comma-separated values; repetitions add up. `check` returns the error of a value, if any. */
export function list(
  [name, group]: Base,
  hint: string,
  help: string,
  check: (value: string) => string | undefined = () => undefined,
): Flag<readonly string[]> {
  return {
    name,
    group,
    hint,
    help,
    default: [],
    isList: true,
    read: (value, before) => {
      const added = value.split(",").map((part) => part.trim());
      const wanted = added.filter((part) => part !== "");
      for (const part of wanted) {
        const why = check(part);
        if (why !== undefined) throw bad(name, part, why);
      }
      return [...(before ?? []), ...wanted];
    },
    print: (value) => value.join(","),
  };
}

/** Marks a flag as having no effect. */
export function inert<T>(flag: Flag<T>, why: string): Flag<T> {
  return { ...flag, inert: why };
}

/** The flag, also under one letter. */
export function withShort<T>(flag: Flag<T>, short: string): Flag<T> {
  return { ...flag, short };
}

/** Values given, by option name. Also the form in which layers of settings are merged. */
export type Settings<Table> = Partial<OptionsOf<Table>>;

interface Arguments<Table> {
  readonly settings: Settings<Table>;
  /** `--help` or `-h` was among them. */
  readonly help: boolean;
  /** Arguments that are not flags, in order. */
  readonly rest: readonly string[];
}

/** Reads command-line arguments. Throws `StartError` at the first that is wrong. */
export function parseArguments<Table extends FlagTable>(table: Table, args: readonly string[]): Arguments<Table> {
  const settings: Record<string, unknown> = {};
  const rest: string[] = [];
  let help = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--") {
      rest.push(...args.slice(i + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      rest.push(arg);
      continue;
    }
    const { name, value } = splitArgument(arg);
    if (name === "help" || name === "h") {
      help = true;
      continue;
    }
    const option = findFlag(table, name);
    if (option === undefined) throw new StartError(`unknown flag ${arg.split("=")[0]}${suggestion(table, name)}`);
    const [key, flag] = option;
    let given = value;
    if (given === undefined && flag.hint === "") given = "true";
    if (given === undefined) {
      i += 1;
      given = args[i];
    }
    if (given === undefined) throw new StartError(`flag --${flag.name} needs a value`);
    settings[key] = flag.read(given, settings[key]);
  }
  return { settings: settings as Settings<Table>, help, rest }; // every value came from its flag's read
}

/** `--name=value`, `-v=2`, `-v2` or without a value. */
function splitArgument(arg: string): { name: string; value: string | undefined } {
  const body = arg.replace(/^--?/, "");
  const equals = body.indexOf("=");
  if (equals >= 0) return { name: body.slice(0, equals), value: body.slice(equals + 1) };
  const glued = arg.startsWith("--") ? null : /^([a-z])(\d+)$/.exec(body);
  return glued === null ? { name: body, value: undefined } : { name: glued[1]!, value: glued[2]! };
}

function findFlag(table: FlagTable, name: string): [string, Flag<unknown>] | undefined {
  return Object.entries(table).find(([, flag]) => flag.name === name || flag.short === name);
}

/** ` (did you mean --x?)` when a flag's name is at most two changes, and less than half of it, away. */
function suggestion(table: FlagTable, name: string): string {
  const near = Object.values(table)
    .map((flag) => ({ flag, distance: editDistance(flag.name, name) }))
    .filter(({ flag, distance }) => distance <= 2 && distance < flag.name.length / 2)
    .sort((a, b) => a.distance - b.distance)[0];
  return near === undefined ? "" : ` (did you mean --${near.flag.name}?)`;
}

function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/**
 * Settings of a parsed configuration file: the flags' names as keys, lists and maps where a flag takes several values.
 * `file` is for messages.
 */
export function readConfig<Table extends FlagTable>(table: Table, file: string, config: unknown): Settings<Table> {
  if (config === null || config === undefined) return {};
  if (typeof config !== "object" || Array.isArray(config)) {
    throw new StartError(`${file}: must be a map from flag names to values`);
  }
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config)) {
    const option = findFlag(table, name);
    if (option === undefined)
      throw new StartError(`${file}: unknown option ${JSON.stringify(name)}${suggestion(table, name)}`);
    const [key, flag] = option;
    if (typeof value === "object" && value !== null && flag.isList !== true)
      throw new StartError(`${file}: option ${name} takes one value`);
    try {
      for (const part of configValues(value)) settings[key] = flag.read(part, settings[key]);
    } catch (error) {
      if (error instanceof StartError) throw new StartError(`${file}: ${error.message}`);
      throw error;
    }
  }
  return settings as Settings<Table>; // every value came from its flag's read
}

function configValues(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(configValues);
  if (typeof value === "object" && value !== null)
    return Object.entries(value).map(([key, part]) => `${key}=${String(part)}`);
  return [value === null || value === undefined ? "" : `${value as string | number | boolean}`];
}

/** Help for all flags, grouped, `width` columns wide. */
export function printHelp(table: FlagTable, width: number): string {
  const flags = Object.values(table);
  const label = (flag: Flag<unknown>): string =>
    `  ${flag.short === undefined ? "    " : `-${flag.short}, `}--${flag.name}${flag.hint === "" ? "" : ` ${flag.hint}`}`;
  const indent = Math.min(34, Math.max(...flags.map((flag) => label(flag).length)) + 2);
  const sections = flagGroups.map((group) => {
    const lines = flags
      .filter((flag) => flag.group === group)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((flag) => {
        const initial = flag.print(flag.default);
        const note = flag.inert === undefined ? "" : ` (accepted, does nothing: ${flag.inert})`;
        const body = wrap(`${flag.help}${initial === "" ? "" : ` (default ${initial})`}${note}`, width - indent);
        const head = label(flag);
        const first = head.length + 2 > indent ? `${head}\n${" ".repeat(indent)}` : head.padEnd(indent);
        return first + body.join(`\n${" ".repeat(indent)}`);
      });
    return lines.length === 0 ? "" : `${group} flags:\n\n${lines.join("\n")}\n`;
  });
  return sections.filter((section) => section !== "").join("\n");
}

function wrap(sentence: string, width: number): string[] {
  const lines = [""];
  for (const word of sentence.split(" ")) {
    const line = lines.at(-1)!;
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= Math.max(width, 24)) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
