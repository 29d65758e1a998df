/**
 * A map from strings to values in key order (UTF-16 code units, which is byte order for ASCII keys): a B+ tree whose
 * inner nodes know how many keys lie below, so that counting a range costs what finding its ends costs.
 *
 * Example, with at most 4 keys a node:
 *
 *            count 7, keys [-, "d", "g"]            keys[i] is the smallest key child i may hold
 *           /           |              \
 *      [a b c]        [d e]          [g h]          leaves hold keys and values side by side
 *
 * Deleting "e" leaves [d], which is underfull and merges with its neighbour into [a b c d].
 *
 * Hot path (one search per created or deleted key, one walk per list): plain loops, no iterators.
 */

const nodeSizeMax = 64;
const nodeSizeMin = 16;

interface Leaf<V> {
  readonly leaf: true;
  readonly keys: string[];
  readonly values: V[];
}

interface Inner<V> {
  readonly leaf: false;
  /** The separators; the first one is never read. */
  readonly keys: string[];
  readonly children: Node<V>[];
  count: number;
}

type Node<V> = Leaf<V> | Inner<V>;

export class OrderedMap<V> {
  #root: Node<V> = { leaf: true, keys: [], values: [] };

  get size(): number {
    return countOf(this.#root);
  }

  get(key: string): V | undefined {
    let node = this.#root;
    while (!node.leaf) node = node.children[childIndex(node.keys, key)]!;
    const index = lowerBound(node.keys, key);
    return node.keys[index] === key ? node.values[index] : undefined;
  }

  set(key: string, value: V): void {
    const { right } = insert(this.#root, key, value);
    if (right === undefined) return;
    const left = this.#root;
    this.#root = {
      leaf: false,
      keys: ["", right.key],
      children: [left, right.node],
      count: countOf(left) + countOf(right.node),
    };
  }

  /** Removes a key, and returns whether it was present. */
  delete(key: string): boolean {
    const removed = remove(this.#root, key);
    if (!this.#root.leaf && this.#root.children.length === 1) this.#root = this.#root.children[0]!;
    return removed;
  }

  /** Counts the keys that are smaller than `key`; without `key`, all keys. */
  rank(key: string | undefined): number {
    if (key === undefined) return this.size;
    let before = 0;
    let node = this.#root;
    while (!node.leaf) {
      const index = childIndex(node.keys, key);
      for (let i = 0; i < index; i++) before += countOf(node.children[i]!);
      node = node.children[index]!;
    }
    return before + lowerBound(node.keys, key);
  }

  /** Calls `visit` for the keys from `from` (inclusive) to `to` (exclusive) in order, until it returns false. */
  scan(from: string, to: string | undefined, visit: (value: V, key: string) => boolean): void {
    scan(this.#root, from, to, visit);
  }
}

/**
 * Returns the smallest string greater than every string that starts with `prefix`: the exclusive end of a prefix scan.
 * `undefined` when there is none (the empty prefix).
 */
export function prefixEnd(prefix: string): string | undefined {
  for (let length = prefix.length; length > 0; length--) {
    const last = prefix.charCodeAt(length - 1);
    if (last < 0xffff) return prefix.slice(0, length - 1) + String.fromCharCode(last + 1);
  }
  return undefined;
}

function countOf<V>(node: Node<V>): number {
  return node.leaf ? node.keys.length : node.count;
}

/** Returns the index of the first key that is not smaller than `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the child that may contain `key`: the last one whose separator is not greater. */
function childIndex(separators: readonly string[], key: string): number {
  let low = 1;
  let high = separators.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (separators[middle]! <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

interface Inserted<V> {
  readonly added: boolean;
  /** The new right sibling, if the node was split. */
  readonly right: { readonly key: string; readonly node: Node<V> } | undefined;
}

const replaced: Inserted<never> = { added: false, right: undefined };
const addedInPlace: Inserted<never> = { added: true, right: undefined };

function insert<V>(node: Node<V>, key: string, value: V): Inserted<V> {
  if (node.leaf) {
    const index = lowerBound(node.keys, key);
    if (node.keys[index] === key) {
      node.values[index] = value;
      return replaced;
    }
    node.keys.splice(index, 0, key);
    node.values.splice(index, 0, value);
    if (node.keys.length <= nodeSizeMax) return addedInPlace;
    // Keys mostly arrive in order, so the left node stays nearly full.
    const cut = index === node.keys.length - 1 ? node.keys.length - nodeSizeMin : node.keys.length >> 1;
    const right: Leaf<V> = { leaf: true, keys: node.keys.splice(cut), values: node.values.splice(cut) };
    return { added: true, right: { key: right.keys[0]!, node: right } };
  }
  const index = childIndex(node.keys, key);
  const { added, right } = insert(node.children[index]!, key, value);
  if (!added) return replaced;
  node.count++;
  if (right === undefined) return addedInPlace;
  node.keys.splice(index + 1, 0, right.key);
  node.children.splice(index + 1, 0, right.node);
  if (node.children.length <= nodeSizeMax) return addedInPlace;
  const cut = node.children.length >> 1;
  const sibling: Inner<V> = { leaf: false, keys: node.keys.splice(cut), children: node.children.splice(cut), count: 0 };
  for (const child of sibling.children) sibling.count += countOf(child);
  node.count -= sibling.count;
  return { added: true, right: { key: sibling.keys[0]!, node: sibling } };
}

function remove<V>(node: Node<V>, key: string): boolean {
  if (node.leaf) {
    const index = lowerBound(node.keys, key);
    if (node.keys[index] !== key) return false;
    node.keys.splice(index, 1);
    node.values.splice(index, 1);
    return true;
  }
  const index = childIndex(node.keys, key);
  if (!remove(node.children[index]!, key)) return false;
  node.count--;
  mergeIfUnderfull(node, index);
  return true;
}

function fill<V>(node: Node<V>): number {
  return node.leaf ? node.keys.length : node.children.length;
}

function mergeIfUnderfull<V>(parent: Inner<V>, index: number): void {
  const size = fill(parent.children[index]!);
  if (size >= nodeSizeMin || parent.children.length === 1) return;
  const leftIndex = index > 0 && size + fill(parent.children[index - 1]!) <= nodeSizeMax ? index - 1 : index;
  const left = parent.children[leftIndex]!;
  const right = parent.children[leftIndex + 1];
  if (right === undefined || fill(left) + fill(right) > nodeSizeMax) return;
  if (left.leaf && right.leaf) {
    left.keys.push(...right.keys);
    left.values.push(...right.values);
  } else if (!left.leaf && !right.leaf) {
    left.keys.push(parent.keys[leftIndex + 1]!, ...right.keys.slice(1));
    left.children.push(...right.children);
    left.count += right.count;
  }
  parent.keys.splice(leftIndex + 1, 1);
  parent.children.splice(leftIndex + 1, 1);
}

/** Returns false when `visit` has stopped the scan or `to` was reached. Keys are compared at the ends of a leaf only. */
function scan<V>(
  node: Node<V>,
  from: string,
  to: string | undefined,
  visit: (value: V, key: string) => boolean,
): boolean {
  if (node.leaf) {
    const { keys, values } = node;
    const last = keys.at(-1);
    const isLast = to !== undefined && last !== undefined && last >= to;
    const end = isLast ? lowerBound(keys, to) : keys.length;
    for (let i = from === "" ? 0 : lowerBound(keys, from); i < end; i++) {
      if (!visit(values[i]!, keys[i]!)) return false;
    }
    return !isLast;
  }
  const first = childIndex(node.keys, from);
  if (!scan(node.children[first]!, from, to, visit)) return false;
  for (let i = first + 1; i < node.children.length; i++) {
    if (!scan(node.children[i]!, "", to, visit)) return false;
  }
  return true;
}
