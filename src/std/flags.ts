/**
 * Flag definitions, parsed into arguments, a configuration file and `--help`. Syntax is Go's: `--name=value`, `--name
 * value`, boolean flags alone or with `=value`, lists repeated or comma-separated.
 */
import { inspect } from "node:util";
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
  "Traces",
  "Authentication",
  "Authorization",
  "API enablement",
  "Admission",
  "Metrics",
  "Services",
  "Controllers",
  "Logs",
  "Misc",
] as const;

type FlagGroup = (typeof flagGroups)[number];

/** Makes the error for a value: `why` it is refused, and the wrong `part` if that is not the whole value. */
type Refuse = (why: string, part?: unknown) => StartError;

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
  /**
   * Reads a text, and leaves the check to `check`. `before` is the value of earlier texts (lists add up). Throws what
   * `refuse` makes.
   */
  parse(text: string, refuse: Refuse, before: T | undefined): unknown;
  /** Returns a value, from a text or from code, if it is one that the flag takes. Throws what `refuse` makes. */
  check(value: unknown, refuse: Refuse): T;
  /** Text of a value, as help shows the default; empty shows none. */
  print(value: T): string;
  /** Some or all of its values, which completion offers. */
  readonly values?: readonly string[];
  /** Whether it takes several values, which a configuration file gives as a list or a map. */
  readonly isList?: true;
  /** The reason why a flag is accepted for compatibility and has no effect. */
  readonly inert?: string;
  /** The reason why a flag should not be given any more. */
  readonly deprecated?: string;
}

/** Flags by the name of their option. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** The options a table describes. */
export type OptionsOf<Table> = { readonly [Name in keyof Table]: Table[Name] extends Flag<infer T> ? T : never };

/** Says what is wrong with a text; `undefined` when it is a value of the flag. */
type MistakeOf = (text: string) => string | undefined;

const noMistake: MistakeOf = () => undefined;

type Base = readonly [name: string, group: FlagGroup];

/** The base of a flag that kube-apiserver does not have. */
export const binnacleFlag = (name: string) => [name, "Binnacle"] as const;

/** `name` is that of a flag, with its dashes, or of a setting. */
const refusal =
  (name: string, value: unknown): Refuse =>
  (why, part = value) => {
    const shown = typeof part === "string" ? JSON.stringify(part) : inspect(part, { depth: 0, breakLength: Infinity });
    return new StartError(`invalid value ${shown} for ${name}: ${why}`);
  };

/** A flag of one value. */
function flag<T>(
  [name, group]: Base,
  shown: Pick<Flag<T>, "hint" | "help" | "default" | "print">,
  check: Flag<T>["check"],
  parse: Flag<T>["parse"] = (value) => value,
): Flag<T> {
  return { name, group, ...shown, parse, check };
}

export function text(
  base: Base,
  initial: string,
  hint: string,
  help: string,
  mistakeOf: MistakeOf = noMistake,
): Flag<string> {
  return flag(base, { hint, help, default: initial, print: (value) => value }, (value, refuse) => {
    if (value === "") throw refuse("must not be empty");
    return checkText(value, mistakeOf, refuse);
  });
}

function checkText(value: unknown, mistakeOf: MistakeOf, refuse: Refuse): string {
  if (typeof value !== "string") throw refuse("must be a text", value);
  const mistake = mistakeOf(value);
  if (mistake !== undefined) throw refuse(mistake, value);
  return value;
}

/** A text that may be missing; an empty value counts as missing. */
export function optional(
  base: Base,
  hint: string,
  help: string,
  mistakeOf: MistakeOf = noMistake,
): Flag<string | undefined> {
  const shown = { hint, help, default: undefined, print: (value: string | undefined) => value ?? "" };
  return flag(base, shown, (value, refuse) =>
    value === "" || value === undefined ? undefined : checkText(value, mistakeOf, refuse),
  );
}

export function boolean(base: Base, initial: boolean, help: string): Flag<boolean> {
  const print = (value: boolean): string => (value ? "true" : "");
  return flag(
    base,
    { hint: "", help, default: initial, print },
    (value, refuse) => {
      if (typeof value !== "boolean") throw refuse("must be true or false");
      return value;
    },
    (value) => /^(?:1|t|true)$/i.test(value) || (/^(?:0|f|false)$/i.test(value) ? false : value),
  );
}

/** A boolean that may be missing: then something else decides. */
export function optionalBoolean(base: Base, help: string): Flag<boolean | undefined> {
  const { print, ...given } = boolean(base, false, help);
  return {
    ...given,
    default: undefined,
    check: (value, refuse) => (value === undefined ? undefined : given.check(value, refuse)),
    print: (value) => (value === undefined ? "" : print(value)),
  };
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

export function integer(base: Base, initial: number, { min, max }: Bounds, help: string): Flag<number> {
  return flag(
    base,
    { hint: "int", help, default: initial, print: String },
    (value, refuse) => {
      if (Number.isInteger(value) && isWithin(value, min, max)) return value;
      throw refuse(`must be a whole number from ${min} to ${max}`);
    },
    (value) => (/^[+-]?\d{1,15}$/.test(value) ? Number(value) : value),
  );
}

export function fraction(base: Base, initial: number, { min, max }: Bounds, help: string): Flag<number> {
  const print = (value: number): string => (value === 0 ? "" : String(value));
  return flag(
    base,
    { hint: "float", help, default: initial, print },
    (value, refuse) => {
      if (isWithin(value, min, max)) return value;
      throw refuse(`must be a number from ${min} to ${max}`);
    },
    (value) => (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(value) ? Number(value) : value),
  );
}

const isWithin = (value: unknown, min: number, max: number): value is number =>
  typeof value === "number" && value >= min && value <= max;

/** The option's value is in milliseconds; never negative. */
export function duration(base: Base, initialMs: number, help: string): Flag<number> {
  return flag(
    base,
    { hint: "duration", help, default: initialMs, print: printGoDuration },
    (value, refuse) => {
      if (typeof value !== "number" || !Number.isFinite(value)) throw refuse("must be a number of milliseconds");
      if (value < 0) throw refuse("must not be negative");
      return value;
    },
    (value, refuse) => {
      const ms = parseGoDuration(value);
      if (ms === undefined) throw refuse("must be a duration such as 300ms, 30s or 1h30m");
      return ms;
    },
  );
}

/** A duration that may be missing. */
export function optionalDuration(base: Base, help: string): Flag<number | undefined> {
  const { print, ...given } = duration(base, 0, help);
  return {
    ...given,
    default: undefined,
    check: (value, refuse) => (value === undefined ? undefined : given.check(value, refuse)),
    print: (value) => (value === undefined ? "" : print(value)),
  };
}

const sizeUnits: Readonly<Record<string, number>> = { "": 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** A number of bytes, with an optional Ki, Mi or Gi. */
export function bytes(base: Base, initialBytes: number, minBytes: number, help: string): Flag<number> {
  return flag(
    base,
    { hint: "size", help, default: initialBytes, print: printSize },
    (value, refuse) => {
      if (!Number.isInteger(value)) throw refuse("must be a whole number of bytes");
      if (!isWithin(value, minBytes, Infinity)) throw refuse(`must be at least ${printSize(minBytes)}`);
      return value;
    },
    (value, refuse) => {
      const match = /^(\d{1,12})(Ki|Mi|Gi|)$/.exec(value);
      if (match === null) throw refuse("must be a size such as 64Mi");
      return Number(match[1]) * sizeUnits[match[2]!]!;
    },
  );
}

function printSize(size: number): string {
  const unit = ["Gi", "Mi", "Ki"].find((candidate) => size > 0 && size % sizeUnits[candidate]! === 0) ?? "";
  return `${size / sizeUnits[unit]!}${unit}`;
}

export function choice<T extends string>(base: Base, initial: NoInfer<T>, values: readonly T[], help: string): Flag<T> {
  const shown = { hint: values.join("|"), help, default: initial, print: (value: T) => value };
  const chosen = flag<T>(base, shown, (value, refuse) => {
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) throw refuse(`must be one of ${values.join(", ")}`);
    return found;
  });
  return withValues(chosen, values);
}

/** Returns the flag with values that completion offers. */
export const withValues = <T>(one: Flag<T>, values: readonly string[]): Flag<T> => ({ ...one, values });

/** Comma-separated values, without the empty ones; repetitions add up. */
export function list(
  base: Base,
  hint: string,
  help: string,
  mistakeOf: MistakeOf = noMistake,
): Flag<readonly string[]> {
  const listed = flag<readonly string[]>(
    base,
    { hint, help, default: [], print: (value) => value.join(",") },
    (value, refuse) => {
      if (!Array.isArray(value)) throw refuse("must be a list of texts");
      return value.filter((entry) => entry !== "").map((entry) => checkText(entry, mistakeOf, refuse));
    },
    (value, _, before = []) => [...before, ...value.split(",").flatMap((part) => part.trim() || [])],
  );
  return { ...listed, isList: true };
}

/** A list whose texts may have commas: each use of the flag adds one. */
export function texts(base: Base, hint: string, help: string, mistakeOf: MistakeOf): Flag<readonly string[]> {
  return { ...list(base, hint, help, mistakeOf), parse: (value, _, before = []) => [...before, value] };
}

/** Marks a flag as having no effect. */
export function inert<T>(flag: Flag<T>, why: string): Flag<T> {
  return { ...flag, inert: why };
}

/** Marks a flag as one that should not be given any more. */
export function deprecated<T>(flag: Flag<T>, why: string): Flag<T> {
  return { ...flag, deprecated: why };
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
    let text = value;
    if (text === undefined && flag.hint === "") text = "true";
    if (text === undefined) {
      i += 1;
      text = args[i];
    }
    if (text === undefined) throw new StartError(`flag --${flag.name} needs a value`);
    settings[key] = readFlag(flag, text, settings[key]);
  }
  return { settings: settings as Settings<Table>, help, rest }; // every value came from its flag's check
}

/** Throws `StartError` if there are arguments that are not flags; `instead` says what the command takes. */
export function refuseArguments([first]: readonly string[], instead: string): void {
  if (first !== undefined) throw new StartError(`unexpected argument ${JSON.stringify(first)}: ${instead}`);
}

function readFlag(flag: Flag<unknown>, text: string, before: unknown): unknown {
  const refuse = refusal(`--${flag.name}`, text);
  return flag.check(flag.parse(text, refuse, before), refuse);
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
      for (const part of configValues(value)) settings[key] = readFlag(flag, part, settings[key]);
    } catch (error) {
      if (error instanceof StartError) throw new StartError(`${file}: ${error.message}`);
      throw error;
    }
  }
  return settings as Settings<Table>; // every value came from its flag's check
}

/**
 * Checks settings that code gives as strictly as flags. `undefined` leaves the default to flags that have one. Throws
 * `StartError`, which names the setting.
 */
export function checkSettings<Table extends FlagTable>(table: Table, settings: object): Settings<Table> {
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(settings)) {
    const flag = Object.hasOwn(table, name) ? table[name]! : undefined;
    if (flag === undefined) throw new StartError(`unknown option ${JSON.stringify(name)}`);
    if (value === undefined && flag.default !== undefined) continue;
    checked[name] = flag.check(value, refusal(name, value));
  }
  return checked as Settings<Table>; // every value came from its flag's check
}

function configValues(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(configValues);
  if (typeof value === "object" && value !== null)
    return Object.entries(value).map(([key, part]) => `${key}=${String(part)}`);
  return [value === null || value === undefined ? "" : `${value as string | number | boolean}`];
}

/** Returns help for some flags of a table, as one group in their order, `width` columns wide. */
export function printChosenHelp(flags: readonly Flag<unknown>[], width: number): string {
  return `${helpLines(flags, width).join("\n")}\n`;
}

/** Help for all flags, grouped, `width` columns wide. */
export function printHelp(table: FlagTable, width: number): string {
  const flags = Object.values(table);
  const indent = indentOf(flags);
  const sections = flagGroups.map((group) => {
    const own = flags.filter((flag) => flag.group === group).sort((a, b) => (a.name < b.name ? -1 : 1));
    return own.length === 0 ? "" : `${group} flags:\n\n${helpLines(own, width, indent).join("\n")}\n`;
  });
  return sections.filter((section) => section !== "").join("\n");
}

const labelOf = ({ name, short, hint }: Flag<unknown>): string =>
  `  ${short === undefined ? "    " : `-${short}, `}--${name}${hint === "" ? "" : ` ${hint}`}`;

const indentOf = (flags: readonly Flag<unknown>[]): number =>
  Math.min(34, Math.max(...flags.map((flag) => labelOf(flag).length)) + 2);

function helpLines(flags: readonly Flag<unknown>[], width: number, indent = indentOf(flags)): string[] {
  return flags.map((flag) => {
    const initial = flag.print(flag.default);
    const inertNote = flag.inert === undefined ? "" : ` (accepted, does nothing: ${flag.inert})`;
    const note = flag.deprecated === undefined ? inertNote : `${inertNote} (deprecated: ${flag.deprecated})`;
    const body = wrap(`${flag.help}${initial === "" ? "" : ` (default ${initial})`}${note}`, width - indent);
    const head = labelOf(flag);
    const first = head.length + 2 > indent ? `${head}\n${" ".repeat(indent)}` : head.padEnd(indent);
    return first + body.join(`\n${" ".repeat(indent)}`);
  });
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
