/**
 * Drops members that a schema does not name. Hot path: a value without such members is returned unchanged. Source:
 * upstream's `apiextensions-apiserver/pkg/apiserver/schema/pruning`.
 */
import { FieldPath } from "#meta/field-path.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { setKey } from "../json-values.ts";
import { DecodeError } from "../decode-error.ts";
import { isMetaName } from "./json-schema.ts";
import type { Json } from "../go-json.ts";
import type { SchemaNode } from "./node.ts";

interface Pruned {
  readonly value: unknown;
  /** Paths of what was dropped, sorted: `spec.a.b`, `spec.list[0].c`. Empty unless asked for. */
  readonly unknown: readonly string[];
}

interface PruneOptions {
  /** The value is a whole object: its apiVersion, kind and metadata are kept. */
  readonly isResourceRoot?: boolean;
  /** Collect the paths of what is dropped. */
  readonly track?: boolean;
}

/** Unknown members beyond this are dropped without being listed. */
const pathsMax = 10_000;

/**
 * `value` without members unknown to `node`, and their paths if they are tracked; the same value when there are none. Never
 * changes `value`. Throws
 * `DecodeError` when lists unknown to the schema nest too deeply.
 */
export function prune(value: unknown, node: SchemaNode | undefined, options: PruneOptions = {}): Pruned {
  const walk = new Walk(options.track === true);
  try {
    const pruned = walk.value(value, node, options.isResourceRoot === true, node?.preserve === true);
    return { value: pruned, unknown: walk.unknown.sort() };
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError("exceeded max depth", { cause: error });
    throw error;
  }
}

class Walk {
  readonly unknown: string[] = [];
  readonly #path: (string | number)[] = [];
  readonly #isTracking: boolean;

  constructor(isTracking: boolean) {
    this.#isTracking = isTracking;
  }

  /** `keeps`: undeclared members stay, here and below unless a schema says otherwise. */
  value(value: unknown, node: SchemaNode | undefined, isObjectRoot: boolean, keeps: boolean): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return this.#list(value as readonly unknown[], node, keeps);
    return isRawNumber(value) ? value : this.#object(value as Json, node, isObjectRoot, keeps);
  }

  #list(list: readonly unknown[], node: SchemaNode | undefined, keeps: boolean): unknown {
    const items = node?.items;
    if (items === undefined && keeps) return list;
    // Within a part that is kept, items of lists are kept too, whatever they are; of other lists they are pruned.
    const itemKeeps = keeps || items?.preserve === true;
    let out: unknown[] | undefined;
    for (let at = 0; at < list.length; at++) {
      const item = list[at];
      if (typeof item !== "object" || item === null) continue;
      this.#path.push(at);
      const pruned = this.value(item, items, false, itemKeeps);
      this.#path.pop();
      if (pruned === item) continue;
      out ??= [...list];
      out[at] = pruned;
    }
    return out ?? list;
  }

  #object(object: Json, node: SchemaNode | undefined, isObjectRoot: boolean, keeps: boolean): unknown {
    const properties = node?.properties;
    const additional = node?.additional;
    const isWhole = isObjectRoot || node?.embedded === true;
    const takesAny = additional !== undefined;
    if (keeps && !takesAny && properties === undefined) return object;
    let out: Record<string, unknown> | undefined;
    for (const name in object) {
      if (isWhole && isMetaName(name)) continue;
      const property = properties === undefined ? undefined : properties.get(name);
      if (property === undefined && !takesAny) {
        if (keeps) continue;
        out ??= { ...object };
        delete out[name];
        if (this.#isTracking && (this.#path.length > 0 || !isMetaName(name))) this.#record(name);
        continue;
      }
      const member = object[name];
      if (typeof member !== "object" || member === null) continue;
      const inner = property ?? (typeof additional === "object" ? additional : undefined);
      this.#path.push(name);
      const pruned = this.value(member, inner, false, inner?.preserve === true);
      this.#path.pop();
      if (pruned === member) continue;
      out ??= { ...object };
      setKey(out, name, pruned);
    }
    return out ?? object;
  }

  #record(name: string): void {
    if (this.unknown.length >= pathsMax) return;
    let path = FieldPath.root;
    for (const part of this.#path) path = typeof part === "number" ? path.index(part) : path.child(part);
    this.unknown.push(String(path.child(name)));
  }
}
