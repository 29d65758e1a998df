/**
 * Matches parts of an old and a new object, and finds whether a part is unchanged. Members match by name if the schema
 * declares them, items of `map` lists by their keys; items of other lists never match. Source: KEP-4008 and upstream's
 * `apiserver/pkg/cel/common`.
 */
import { deepEqual, type Json, kindOf, numberOf } from "../go-json.ts";
import type { SchemaNode } from "./node.ts";

/** A part of a new object, matched with its counterpart in the old one. */
export class Correlation {
  readonly #node: SchemaNode;
  readonly #value: unknown;
  readonly #old: unknown;
  #children: Map<string | number, Correlation> | undefined;
  #oldItems: ReadonlyMap<string, unknown> | undefined;
  #unchanged: boolean | undefined;

  constructor(node: SchemaNode, value: unknown, old: unknown) {
    this.#node = node;
    this.#value = value;
    this.#old = old;
  }

  /**
   * Whether every part equals its counterpart in the old object. Members that the schema does not declare never match.
   */
  isUnchanged(): boolean {
    this.#unchanged ??= this.#compare();
    return this.#unchanged;
  }

  key(name: string): Correlation | undefined {
    const child = this.#children?.get(name);
    if (child !== undefined) return child;
    const [value, old] = [this.#value, this.#old];
    if (kindOf(value) !== "object" || kindOf(old) !== "object") return undefined;
    if (!Object.hasOwn(value as Json, name) || !Object.hasOwn(old as Json, name)) return undefined;
    const { properties, additional } = this.#node;
    const node = properties?.get(name) ?? (typeof additional === "object" ? additional : undefined);
    if (node === undefined) return undefined;
    return this.#child(name, new Correlation(node, (value as Json)[name], (old as Json)[name]));
  }

  index(at: number): Correlation | undefined {
    const child = this.#children?.get(at);
    if (child !== undefined) return child;
    const { items, listType } = this.#node;
    if (items === undefined || listType !== "map" || !Array.isArray(this.#value) || !Array.isArray(this.#old)) {
      return undefined;
    }
    const item: unknown = this.#value[at];
    const key = itemKey(item, this.#node.mapKeys);
    if (key === undefined) return undefined;
    this.#oldItems ??= itemsByKey(this.#old, this.#node.mapKeys);
    const old = this.#oldItems.get(key);
    return old === undefined ? undefined : this.#child(at, new Correlation(items, item, old));
  }

  #child(key: string | number, child: Correlation): Correlation {
    this.#children ??= new Map();
    this.#children.set(key, child);
    return child;
  }

  #compare(): boolean {
    const [value, old] = [this.#value, this.#old];
    const kind = kindOf(value);
    if (kind !== kindOf(old)) return false;
    if (kind === "array") return this.#compareLists(value as readonly unknown[], old as readonly unknown[]);
    if (kind !== "object") return deepEqual(value, old);
    const keys = Object.keys(value as Json);
    if (keys.length !== Object.keys(old as Json).length) return false;
    return keys.every((key) => this.key(key)?.isUnchanged() === true);
  }

  #compareLists(value: readonly unknown[], old: readonly unknown[]): boolean {
    if (value.length !== old.length) return false;
    if (this.#node.listType !== "map" || this.#node.items === undefined) return deepEqual(value, old);
    return value.every((_, at) => this.index(at)?.isUnchanged() === true);
  }
}

/** Returns the identity of an item of a `map` list; `undefined` if a key is absent or is not a scalar. */
export function itemKey(item: unknown, keys: readonly string[]): string | undefined {
  if (kindOf(item) !== "object") return undefined;
  let text = "";
  for (const name of keys) {
    if (!Object.hasOwn(item as Json, name)) return undefined;
    const value = (item as Json)[name];
    const kind = kindOf(value);
    if (kind === "null" || kind === "array" || kind === "object") return undefined;
    text += `${kind[0]}${kind === "integer" || kind === "number" ? numberOf(value) : JSON.stringify(value)},`;
  }
  return text === "" ? undefined : text;
}

/** Returns the items by their keys; of several items with the same keys, the first one. */
export function itemsByKey(items: readonly unknown[], keys: readonly string[]): ReadonlyMap<string, unknown> {
  const map = new Map<string, unknown>();
  for (const item of items) {
    const key = itemKey(item, keys);
    if (key !== undefined && !map.has(key)) map.set(key, item);
  }
  return map;
}
