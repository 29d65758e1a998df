/**
 * Five checks of `tidy.ts`: there are no circles of imports, neither of files nor of rooms, no mutable state of
 * modules, no two exported types with the same name, and no types imported under another name. Exceptions are in
 * `scripts/excused.ts`; an exception that is no longer needed is a finding. A rule of `oxlint` limits functions to 70
 * lines.
 */
import { excusedState } from "./excused.ts";

interface ShapeFinding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/**
 * Returns cycles of imports, types included; each is reported once. `imports` maps a file to the files that it imports.
 */
export function circles(imports: ReadonlyMap<string, ReadonlySet<string>>): ShapeFinding[] {
  const findings: ShapeFinding[] = [];
  for (const members of components(imports)) {
    const [file, ...others] = members.sort();
    findings.push({ file: file!, line: 1, message: `circle of imports with ${others.join(", ")}` });
  }
  return findings;
}

/**
 * Returns circles of rooms. A room is a subfolder of a folder of `src/` with the file beside it that has its name
 * (`x.ts` of `x/`); a file without a subfolder is a room of its own.
 */
export function roomCircles(imports: ReadonlyMap<string, ReadonlySet<string>>): ShapeFinding[] {
  const rooms = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const own = roomOf(file);
    for (const target of targets) {
      const other = roomOf(target);
      if (own !== other && folderOf(own) === folderOf(other)) rooms.set(own, (rooms.get(own) ?? new Set()).add(other));
    }
  }
  return components(rooms).map((members) => {
    const [room, ...others] = members.sort();
    return { file: room!, line: 1, message: `circle of rooms with ${others.join(", ")}` };
  });
}

/** Returns the room of a file: `src/server/audit` for `src/server/audit.ts` and for `src/server/audit/flags.ts`. */
function roomOf(file: string): string {
  const [top, folder, name = ""] = file.split("/");
  return `${top}/${folder}/${name.replace(/\.ts$/, "")}`;
}

const folderOf = (room: string): string => room.slice(0, room.lastIndexOf("/"));

const exported = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm;

/**
 * Returns exported types with the name of another exported type. Types and kinds of different group versions may have
 * the same name.
 */
export function findSharedTypeNames(codes: ReadonlyMap<string, string>): ShapeFinding[] {
  const findings: ShapeFinding[] = [];
  const first = new Map<string, string>();
  for (const [file, code] of codes) {
    if (file.startsWith("src/api/") || file.startsWith("src/client/kinds/")) continue;
    for (const name of new Set([...code.matchAll(exported)].map(([, matches]) => matches!))) {
      const other = first.get(name);
      if (other === undefined) first.set(name, file);
      else
        findings.push({
          file,
          line: 1,
          message: `${name} is exported by ${other} as well: one of them needs another name`,
        });
    }
  }
  return findings;
}

const importList = /^import (type )?\{([^}]*)\} from "([^"]+)";/gm;

/**
 * Returns types that are imported under another name than their own. If a file imports types of two group versions with
 * the same name, one of them may have another.
 */
export function findAliasedTypes(file: string, code: string): ShapeFinding[] {
  if (file.startsWith("src/api/")) return [];
  const aliases: { name: string; alias: string; line: number; isApi: boolean }[] = [];
  /** The types of the API that the file imports under their own names. */
  const plain = new Set<string>();
  for (const { 1: types, 2: list = "", 3: from = "", index } of code.matchAll(importList)) {
    const isApi = from.startsWith("#api/");
    for (const [, type, name = "", alias] of list.matchAll(/(type )?\b(\w+)\b(?: as (\w+))?/g)) {
      if (alias === undefined) {
        if (isApi) plain.add(name);
      } else if ((types ?? type) !== undefined) {
        aliases.push({ name, alias, line: code.slice(0, index).split("\n").length, isApi });
      }
    }
  }
  return aliases
    .filter(({ name, isApi }) => !(isApi && plain.has(name)))
    .map(({ name, alias, line }) => ({
      file,
      line,
      message: `${name} is imported as ${alias}: if two types meet, one of them needs another name`,
    }));
}

/** Returns the strongly connected components of more than one file (Tarjan). */
function components(imports: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const matches: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    low.set(file, order.get(file)!);
    stack.push(file);
    onStack.add(file);
    for (const next of imports.get(file) ?? []) {
      if (!order.has(next)) {
        visit(next);
        low.set(file, Math.min(low.get(file)!, low.get(next)!));
      } else if (onStack.has(next)) low.set(file, Math.min(low.get(file)!, order.get(next)!));
    }
    if (low.get(file) !== order.get(file)) return;
    const members = stack.splice(stack.indexOf(file));
    for (const member of members) onStack.delete(member);
    if (members.length > 1) matches.push(members);
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return matches;
}

const declared = /^(?:export )?(let|const) (\w+)(?:: [^=]+)?(?: = (.*))?/;
const emptied = /^new (?:Map|Set|Array)(?:<[^;]*>)?\(\);$/;
const derived = /^new (?:WeakMap|WeakSet)\b/;
const changers = "add|clear|copyWithin|delete|fill|pop|push|reverse|set|shift|sort|splice|spend|unshift|write\\w*";

/**
 * Whether a function of the module changes the value of the variable. A change at column 0 happens once, when the
 * module is loaded.
 */
function isChanged(code: string, name: string): boolean {
  const part = "(?:\\.\\w+|\\[[^\\]]+\\])";
  const assigned = `${part}*(?:\\.(?!lastIndex)\\w+|\\[[^\\]]+\\])`;
  const use = `(?:\\.(?:${changers})\\(|${assigned}(?: (?:[-+*/|&?]|\\?\\?|\\|\\|)?= |\\+\\+|--))`;
  return new RegExp(`^\\s.*(?<![\\w.#])${name}${use}`, "m").test(code) && !isShadowed(code, name);
}

/**
 * Whether another variable or parameter of the module has the same name, so that the text cannot tell which of them
 * changes.
 */
const isShadowed = (code: string, name: string): boolean =>
  new RegExp(`^\\s.*(?:(?:const|let) (?:[[{][^=]*\\b)?${name}\\b|[(,{] ?${name}\\??:|\\(${name}\\) =>)`, "m").test(
    code,
  );

/**
 * Returns the variables of a module that change, since several servers live in one process and must not share state. A
 * WeakMap of values derived from its keys is not state.
 */
export function moduleState(file: string, code: string): ShapeFinding[] {
  const findings: ShapeFinding[] = [];
  const excused = new Set(excusedState[file]);
  for (const [at, text] of code.split("\n").entries()) {
    const [, how, name, value = ""] = declared.exec(text) ?? [];
    if (name === undefined || derived.test(value)) continue;
    if (how === "const" && !emptied.test(value) && !isChanged(code, name)) continue;
    if (excused.has("*") || excused.delete(name)) continue;
    findings.push({ file, line: at + 1, message: `${name} is state of the module: give it to somebody` });
  }
  for (const { 1: name, index } of code.matchAll(/^ +static (?!readonly )(#?\w+)\??(?:: [^=;(]+)?(?: = .*)?;$/gm)) {
    findings.push({
      file,
      line: code.slice(0, index).split("\n").length,
      message: `${name} is state of the class: give it to somebody`,
    });
  }
  excused.delete("*");
  for (const name of excused) findings.push({ file, line: 1, message: `${name} needs no excuse (scripts/excused.ts)` });
  return findings;
}
