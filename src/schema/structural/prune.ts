/**
 * Drops members that a schema does not declare. Hot path: a value without such members is returned unchanged. Source:
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
  /** The paths of dropped members, sorted: `spec.a.b`, `spec.list[0].c`. Empty unless they are tracked. */
  readonly unknown: readonly string[];
}

interface PruneOptions {
  /** Whether the value is a whole object, whose apiVersion, kind and metadata are preserved. */
  readonly isResourceRoot?: boolean;
  /** Whether the paths of dropped members are collected. */
  readonly track?: boolean;
}

/** The maximum number of paths that are collected. Further members are dropped without being listed. */
const pathsMax = 10_000;

/**
 * Returns `value` without members that `node` does not declare, and their paths if they are tracked; the same value if
 * there are none. Never changes `value`. Throws `DecodeError` if lists that the schema does not declare are nested too
 * deeply.
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

  /**
   * Prunes a value. `keeps`: whether undeclared members stay, here and below, unless a schema below declares otherwise.
   */
  value(value: unknown, node: SchemaNode | undefined, isObjectRoot: boolean, keeps: boolean): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return this.#list(value as readonly unknown[], node, keeps);
    return isRawNumber(value) ? value : this.#object(value as Json, node, isObjectRoot, keeps);
  }

  #list(list: readonly unknown[], node: SchemaNode | undefined, keeps: boolean): unknown {
    const items = node?.items;
    if (items === undefined && keeps) return list;
    // In a part that is preserved, the items of lists are preserved too; in other lists they are pruned.
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
