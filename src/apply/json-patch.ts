/**
 * JSON Patch (RFC 6902) on read-only values; containers are copied on first write. Leniencies are upstream's
 * (evanphx/json-patch 4 as the API server configures it): negative indices, `replace` of an absent member, `test` of an
 * absent member for null, and an ignored first path segment.
 */
import { isObject } from "#std/is-object.ts";
import { ByteBudget, setKey } from "#schema/json-values.ts";
import type { Schema } from "#schema/schema.ts";
import { kindOf } from "#schema/mismatch.ts";
import { type DraftObject, isArray, isNestedAtMost, type JsonObject, jsonEquals, member } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

/** The maximum number of operations in one patch. */
const jsonPatchOperationsMax = 10_000;

/** The maximum number of bytes of JSON that all `copy` operations of one patch may add. */
const jsonPatchCopyBytesMax = 3 * 1024 * 1024;

/** The number of moved list items that count as one copied byte: an insertion or a removal moves all items after it. */
const movedPerByte = 64;

const copiesOfPatch = (): ByteBudget =>
  new ByteBudget(jsonPatchCopyBytesMax, () => refuse(`copies of more than ${jsonPatchCopyBytesMax} bytes`));

/** The maximum depth of a document that a patch makes; `move` could otherwise nest without end. */
export const jsonPatchDepthMax = 1000;

/** The schema of a patch, by which unknown and repeated members of operations are found in decoding. */
export const jsonPatchSchema: Schema = {
  type: "array",
  items: {
    type: "object",
    fields: new Map([
      ["op", { schema: { type: "string" } }],
      ["path", { schema: { type: "string" } }],
      ["from", { schema: { type: "string" } }],
      ["value", { schema: { type: "any" } }],
    ]),
  },
};

/**
 * Returns the document after all operations. `patch` is the decoded body; neither argument is changed, and the result
 * shares structure with both. Throws `PatchError`: `bad-request` when `patch` is no list of operations, `too-large` for
 * too many of them, `invalid` when one of them does not apply. `copies` limits the bytes of JSON that `copy` operations
 * add, and the items that insertions and removals move.
 */
export function applyJsonPatch(document: unknown, patch: unknown, copies = copiesOfPatch()): unknown {
  const operations = readOperations(patch);
  const run = new Run(document, copies);
  for (const operation of operations) run.apply(operation);
  // Each operation can make the document one level deeper than the deepest known value.
  if (operations.length > 16 && !isNestedAtMost(run.root, jsonPatchDepthMax)) {
    throw new PatchError("invalid", "the document would be nested too deeply");
  }
  return run.root;
}

function readOperations(patch: unknown): readonly (JsonObject | null)[] {
  if (patch === null) return [];
  if (!isArray(patch)) throw undecodable(patch, "value of type []handlers.jsonPatchOp");
  for (const operation of patch) {
    if (operation === null) continue;
    if (!isObject(operation)) throw undecodable(operation, "value of type handlers.jsonPatchOp");
    for (const name of ["op", "path", "from"]) {
      const value = member(operation, name) ?? null;
      if (value === null || typeof value === "string") continue;
      throw undecodable(value, `struct field jsonPatchOp.${name} of type string`);
    }
  }
  if (patch.length > jsonPatchOperationsMax) {
    const text = `The allowed maximum operations in a JSON patch is ${jsonPatchOperationsMax}, got ${patch.length}`;
    throw new PatchError("too-large", text);
  }
  return patch as readonly (JsonObject | null)[]; // each was checked above
}

function undecodable(value: unknown, target: string): PatchError {
  return new PatchError(
    "bad-request",
    `error decoding patch: json: cannot unmarshal ${kindOf(value)} into Go ${target}`,
  );
}

const refuse = (message: string): PatchError => new PatchError("invalid", message);

type Container = JsonObject | readonly unknown[];
type Draft = DraftObject | unknown[];

/** One application: the document so far, and its containers that are copies and may be changed. */
class Run {
  root: unknown;
  #drafts = new Set<object>();
  readonly #copies: ByteBudget;

  constructor(document: unknown, copies: ByteBudget) {
    this.root = document;
    this.#copies = copies;
  }

  apply(operation: JsonObject | null): void {
    const op = operation === null ? undefined : member(operation, "op");
    if (operation === null || typeof op !== "string") throw refuse("Unexpected kind: unknown");
    switch (op) {
      case "add":
        return this.#add(text(operation, "path"), member(operation, "value") ?? null, words.add);
      case "remove":
        return this.#remove(text(operation, "path"), words.remove);
      case "replace":
        return this.#replace(text(operation, "path"), member(operation, "value"));
      case "move": {
        const from = fromOf(operation, op);
        const value = this.#read(from, words.moveFrom);
        this.#remove(from, words.moveFrom);
        return this.#add(text(operation, "path"), value ?? null, words.moveTo);
      }
      case "copy": {
        const value = this.#read(fromOf(operation, op), words.copyFrom);
        return this.#add(text(operation, "path"), value === undefined ? null : this.#copy(value), words.copyTo);
      }
      case "test":
        return this.#test(text(operation, "path"), member(operation, "value") ?? null);
      default:
        throw refuse(`Unexpected kind: ${op}`);
    }
  }

  #add(path: string, value: unknown, said: Words): void {
    const [parent, key] = this.#draftParent(path, said);
    if (!isArray(parent)) return setKey(parent, key, value);
    if (key === "-") return void parent.push(value);
    const index = indexIn(key, parent.length + 1);
    if (typeof index === "string") {
      const isNumber = index.startsWith("Unable");
      throw refuse(said.wrong(path, isNumber ? index : `value was not a proper array index: '${key}': ${index}`));
    }
    if (index === parent.length) parent.push(value);
    else {
      this.#copies.take((parent.length - index) / movedPerByte);
      parent.splice(index, 0, value);
    }
  }

  #remove(path: string, said: Words): void {
    const [parent, key] = this.#draftParent(path, said);
    if (isArray(parent)) {
      const index = indexAt(path, key, parent, said);
      this.#copies.take((parent.length - index) / movedPerByte);
      parent.splice(index, 1);
    } else {
      if (!Object.hasOwn(parent, key)) {
        throw refuse(said.wrong(path, `Unable to remove nonexistent key: ${key}: missing value`));
      }
      delete parent[key];
    }
  }

  #replace(path: string, value: unknown): void {
    if (path === "") {
      if (value === undefined) throw refuse("replace of the whole document without a value");
      // Upstream: a scalar in place of the document changes nothing and is no error.
      if (typeof value === "object" && value !== null) this.root = value;
      return;
    }
    const [parent, key] = this.#draftParent(path, words.replace);
    if (isArray(parent)) parent[indexAt(path, key, parent, words.replace)] = value ?? null;
    else setKey(parent, key, value ?? null);
  }

  #test(path: string, expected: unknown): void {
    const actual = path === "" ? this.root : (this.#read(path, words.test) ?? null);
    if (!jsonEquals(actual, expected))
      throw new PatchError("invalid", `testing value ${path} failed: test failed`, true);
  }

  /** Returns the value at a path; `undefined` for an absent member of an existing object. */
  #read(path: string, said: Words): unknown {
    const keys = keysOf(path, said);
    let at: unknown = this.root;
    for (let i = 0; i < keys.length - 1; i++) at = enter(at, keys[i]!);
    if (!isContainer(at)) throw missing(path, said);
    const key = keys[keys.length - 1]!;
    return isArray(at) ? at[indexAt(path, key, at, said)] : member(at, key);
  }

  /**
   * Returns the container in which a path ends, made writable together with all containers above it, and the last key.
   */
  #draftParent(path: string, said: Words): [Draft, string] {
    const keys = keysOf(path, said);
    if (!isContainer(this.root)) throw missing(path, said);
    let at = this.#draft(this.root);
    this.root = at;
    for (let i = 0; i < keys.length - 1; i++) {
      const key = keys[i]!;
      const inner = enter(at, key);
      if (!isContainer(inner)) throw missing(path, said);
      const draft = this.#draft(inner);
      if (draft !== inner) {
        if (isArray(at)) at[indexAt(path, key, at, said)] = draft;
        else setKey(at, key, draft);
      }
      at = draft;
    }
    return [at, keys[keys.length - 1]!];
  }

  #draft(container: Container): Draft {
    if (this.#drafts.has(container)) return container as Draft; // ours since an earlier operation
    const draft = isArray(container) ? container.slice() : { ...container };
    this.#drafts.add(draft);
    return draft;
  }

  /** Makes a deep copy, which later operations may change in place. */
  #copy(value: unknown): unknown {
    if (typeof value !== "object" || value === null) {
      this.#copies.take(scalarBytes(value));
      return value;
    }
    this.#copies.take(2);
    if (isArray(value)) {
      if (value.length > 1) this.#copies.take(value.length - 1);
      const list = value.map((item) => this.#copy(item));
      this.#drafts.add(list);
      return list;
    }
    const object: DraftObject = {};
    let first = true;
    for (const name of Object.keys(value)) {
      this.#copies.take(scalarBytes(name) + (first ? 1 : 2));
      first = false;
      setKey(object, name, this.#copy((value as JsonObject)[name])); // an object that is no array
    }
    this.#drafts.add(object);
    return object;
  }
}

const scalarBytes = (value: unknown): number =>
  typeof value === "string" ? Buffer.byteLength(JSON.stringify(value)) : String(value).length;

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null;

/**
 * The errors for a path that does not exist, and for one whose last segment cannot be used: texts of upstream's
 * library.
 */
interface Words {
  readonly missing: (path: string) => string;
  readonly wrong: (path: string, problem: string) => string;
}

const words = {
  add: {
    missing: (path) => `add operation does not apply: doc is missing path: "${path}"`,
    wrong: (path, problem) => `error in add for path: '${path}': ${problem}`,
  },
  remove: {
    missing: (path) => `remove operation does not apply: doc is missing path: "${path}"`,
    wrong: (path, problem) => `error in remove for path: '${path}': ${problem}`,
  },
  replace: {
    missing: (path) => `replace operation does not apply: doc is missing path: ${path}`,
    wrong: (path) => `replace operation does not apply: doc is missing key: ${path}: missing value`,
  },
  moveFrom: {
    missing: (path) => `move operation does not apply: doc is missing from path: ${path}`,
    wrong: (path, problem) => `error in move for path: '${keysIn(path).at(-1)}': ${problem}`,
  },
  moveTo: {
    missing: (path) => `move operation does not apply: doc is missing destination path: ${path}`,
    wrong: (path, problem) => `error in move for path: '${path}': ${problem}`,
  },
  copyFrom: {
    missing: (path) => `copy operation does not apply: doc is missing from path: ${path}`,
    wrong: (path, problem) => `error in copy for from: '${path}': ${problem}`,
  },
  copyTo: {
    missing: (path) => `copy operation does not apply: doc is missing destination path: ${path}`,
    wrong: (_, problem) => `error while adding value during copy: ${problem}`,
  },
  test: {
    missing: (path) => `test operation does not apply: is missing path: ${path}`,
    wrong: (path, problem) => `error in test for path: '${path}': ${problem}`,
  },
} as const satisfies Readonly<Record<string, Words>>;

const missing = (path: string, said: Words): PatchError => refuse(`${said.missing(path)}: missing value`);

function fromOf(operation: JsonObject, op: string): string {
  if (typeof member(operation, "from") === "string") return text(operation, "from");
  throw refuse(`${op} operation failed to decode from: operation, missing from field: missing value`);
}

function text(operation: JsonObject, name: string): string {
  const value = member(operation, name);
  if (typeof value !== "string") throw refuse(`operation without ${name}`);
  return value;
}

/** Returns the unescaped segments after the first slash. Upstream: text before that slash is ignored. */
function keysOf(path: string, said: Words): string[] {
  if (!path.includes("/")) throw missing(path, said);
  return keysIn(path);
}

function keysIn(path: string): string[] {
  const keys = path.slice(path.indexOf("/") + 1).split("/");
  if (path.includes("~")) {
    for (let i = 0; i < keys.length; i++) keys[i] = keys[i]!.replace(/~[01]/g, (code) => (code === "~0" ? "~" : "/"));
  }
  return keys;
}

/** Returns a member or item; `undefined` when there is none. */
function enter(container: unknown, key: string): unknown {
  if (!isArray(container)) return isObject(container) ? member(container, key) : undefined;
  const index = indexIn(key, container.length);
  return typeof index === "string" ? undefined : container[index];
}

function indexAt(path: string, key: string, list: readonly unknown[], said: Words): number {
  const index = indexIn(key, list.length);
  if (typeof index === "string") throw refuse(said.wrong(path, index));
  return index;
}

/** Parses a list index below `length`, where negative ones count from the end. Returns a text for an invalid one. */
function indexIn(key: string, length: number): number | string {
  if (!/^[+-]?[0-9]+$/.test(key)) return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
  if (key.length > 18) return `strconv.Atoi: parsing "${key}": value out of range`;
  const signedIndex = Number(key);
  const index = signedIndex < 0 ? signedIndex + length : signedIndex + 0;
  if (index < 0 || index >= length) return `Unable to access invalid index: ${signedIndex}: invalid index referenced`;
  return index;
}
