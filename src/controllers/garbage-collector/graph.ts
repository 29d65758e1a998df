/**
 * The graph of owners and dependents, built from watch events. It decides nothing: it says which owners to verify and
 * which objects to examine, and live reads decide (`collect.ts`). It contains only objects with owners or dependents,
 * and those with a finalizer of the collector. An owner known only from a reference is in it as `claimed`. There may be
 * a million objects, so a node has few fields.
 */
import type { OwnerReference } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";

/** A kind in all its versions. There is one object for each kind. */
export interface NodeType {
  readonly group: string;
  readonly kind: string;
  /** The number of nodes of this type. */
  readonly nodes: number;
}

/** The namespace, name and version of an object. */
export interface Coordinates {
  readonly apiVersion: string;
  readonly kind: string;
  /** The namespace; empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** An object as a watch or a list reported it. */
export interface ObservedObject extends Coordinates {
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  readonly isBeingDeleted: boolean;
  /** Whether it is being deleted with the finalizer of foreground deletion. */
  readonly deletesDependents: boolean;
  /** Whether it is being deleted with the finalizer that asks to orphan its dependents. */
  readonly orphansDependents: boolean;
  /** The number of the list or watch that reported it; see `unseen`. */
  readonly round: number;
  /** Whether another server reports it. */
  readonly isForeign: boolean;
}

/** Receives the objects to examine. */
interface GraphListener {
  /** Called with an owner that no watch has reported, or that a watch reported as deleted: it is to be verified. */
  unverified(node: GraphNode): void;
  /** Called with an object whose fate a change of its owners or dependents may have decided. */
  suspect(node: GraphNode): void;
  /** Called when an object of another server is left out, since there are too many. */
  crowded(): void;
}

/** An owner of a node. */
interface Link {
  readonly owner: GraphNode;
  /** Whether the owner's foreground deletion waits for the dependent. */
  readonly blocks: boolean;
}

const noLinks: readonly Link[] = [];

/** The maximum number of nodes that the graph has because of objects of other servers. */
const foreignMax = 100_000;
/** The maximum lengths of the texts and of the list of owners of such an object; others are left out. */
const [foreignTextMax, foreignOwnersMax] = [512, 100];

/** Returns the group of an `apiVersion`; the empty one for an invalid text. */
export const groupOf = (apiVersion: string): string => apiVersion.slice(0, Math.max(apiVersion.indexOf("/"), 0));

/** A type of nodes with its count, which only the graph changes. */
interface CountedType extends NodeType {
  nodes: number;
  /** The number of calls of `hold` that were not released. */
  holders: number;
}

export class GraphNode {
  readonly uid: string;
  type: NodeType;
  apiVersion: string;
  namespace: string;
  name: string;
  /** `claimed`: named by a reference only. `lost`: was seen, but a later list did not have it. */
  state: "claimed" | "observed" | "lost" = "claimed";
  isBeingDeleted = false;
  deletesDependents = false;
  orphansDependents = false;
  round = 0;
  /** Whether the graph has the node because of an object of another server. */
  readonly isForeign: boolean;
  owners: readonly Link[] = noLinks;
  /** Dependents that block foreground deletion. */
  blockers = 0;
  /** Absent while there is none. */
  #dependents: Set<GraphNode> | undefined;

  constructor(uid: string, type: NodeType, { apiVersion, namespace, name }: Coordinates, isForeign: boolean) {
    this.uid = uid;
    this.isForeign = isForeign;
    this.type = type;
    this.apiVersion = apiVersion;
    this.namespace = namespace;
    this.name = name;
  }

  get kind(): string {
    return this.type.kind;
  }

  get dependentCount(): number {
    return this.#dependents?.size ?? 0;
  }

  /** Returns the dependents at the time of the call. */
  dependents(): readonly GraphNode[] {
    return [...(this.#dependents ?? [])];
  }

  /** Whether an object of this description is what the node stands for, any version of its kind. */
  isAt({ apiVersion, kind, namespace, name }: Coordinates): boolean {
    return this.name === name && this.namespace === namespace && this.isOf(apiVersion, kind);
  }

  isOf(apiVersion: string, kind: string): boolean {
    return this.type.kind === kind && (this.apiVersion === apiVersion || this.type.group === groupOf(apiVersion));
  }

  /** The graph alone calls it. */
  add(dependent: GraphNode): void {
    this.#dependents ??= new Set();
    this.#dependents.add(dependent);
  }

  /** The graph alone calls it. */
  drop(dependent: GraphNode): void {
    if (this.#dependents?.delete(dependent) === true && this.#dependents.size === 0) this.#dependents = undefined;
  }
}

export class OwnershipGraph {
  readonly #listener: GraphListener;
  readonly #nodes = new Map<string, GraphNode>();
  readonly #types = new Map<string, CountedType>();
  /** The number of nodes that are there because of objects of other servers. */
  #foreign = 0;

  constructor(listener: GraphListener) {
    this.#listener = listener;
  }

  get size(): number {
    return this.#nodes.size;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  nodes(): Iterable<GraphNode> {
    return this.#nodes.values();
  }

  /** The type, which stays known until it is released as often as it was held. */
  hold(group: string, kind: string): NodeType {
    const type = this.#type(group, kind);
    type.holders++;
    return type;
  }

  release({ group, kind }: NodeType): void {
    const type = this.#type(group, kind);
    type.holders--;
    this.#forgetUnused(type);
  }

  /** Records an object as it is now. Returns its node, if it needs one. */
  observe(seen: ObservedObject): GraphNode | undefined {
    if (seen.isForeign && !isPlain(seen)) return undefined;
    let node = this.#nodes.get(seen.uid);
    if (node === undefined) {
      if (seen.owners.length === 0 && !seen.deletesDependents && !seen.orphansDependents) return undefined;
      if (seen.isForeign && this.#foreign >= foreignMax) {
        this.#listener.crowded();
        return undefined;
      }
      node = this.#insert(seen.uid, seen, seen.isForeign);
    } else if (node.state === "observed" && !node.isOf(seen.apiVersion, seen.kind)) {
      // A uid belongs to one object: another server claims this one.
      return undefined;
    } else {
      this.#relocate(node, seen);
    }
    node.state = "observed";
    node.round = seen.round;
    this.#setOwners(node, seen.owners);
    node.isBeingDeleted ||= seen.isBeingDeleted;
    node.orphansDependents = seen.orphansDependents;
    const before = node.deletesDependents;
    node.deletesDependents = seen.deletesDependents;
    if (seen.deletesDependents && !before) {
      for (const dependent of node.dependents()) this.#listener.suspect(dependent);
    }
    // The object is always examined: the last examination may have come between two of these events.
    if (seen.deletesDependents) this.#listener.suspect(node);
    this.#dropUnneeded(node);
    return node;
  }

  /** Records that an owner named by a reference was found at `at`. */
  confirm(node: GraphNode, at: Coordinates): void {
    this.#relocate(node, at);
    node.state = "observed";
  }

  /** Removes an object that is gone for good. */
  remove(node: GraphNode): void {
    if (this.#nodes.get(node.uid) !== node) return;
    this.#delete(node);
    for (const dependent of node.dependents()) this.#listener.suspect(dependent);
    this.#setOwners(node, []);
  }

  /** Has all nodes of a type verified that were not seen in this round. Yields now and then. */
  *unseen(type: NodeType, round: number): Generator<undefined, void> {
    if (type.nodes === 0) return;
    let nodesLeft = nodesPerTurn;
    for (const node of this.#nodes.values()) {
      if (--nodesLeft === 0) {
        nodesLeft = nodesPerTurn;
        yield undefined;
      }
      if (node.type === type && node.round !== round) this.#lose(node);
    }
  }

  /** Handles that the type is no longer watched. Yields now and then. */
  *unwatched(type: NodeType): Generator<undefined, void> {
    let nodesLeft = nodesPerTurn;
    for (const node of this.#nodes.values()) {
      if (--nodesLeft === 0) {
        nodesLeft = nodesPerTurn;
        yield undefined;
      }
      if (node.type !== type) continue;
      if (node.dependentCount === 0) this.remove(node);
      else this.#lose(node);
    }
  }

  #lose(node: GraphNode): void {
    if (node.state === "observed") node.state = "lost";
    this.#listener.unverified(node);
  }

  #setOwners(node: GraphNode, references: readonly OwnerReference[]): void {
    const before = node.owners;
    if (isSame(before, references)) {
      // A reference with the same uid and another name is another claim.
      if (before.some(({ owner }, at) => isDoubtful(owner, references[at]!, node))) this.#listener.suspect(node);
      return;
    }
    const ownersByUid = new Map(before.map(({ owner }) => [owner.uid, owner]));
    node.owners = distinct(references).map(({ uid, blockOwnerDeletion: blocks = false, ...claim }): Link => {
      const owner =
        ownersByUid.get(uid) ??
        this.#nodes.get(uid) ??
        this.#insert(uid, { ...claim, namespace: node.namespace }, node.isForeign);
      if (holdsUp(node, owner, blocks)) owner.blockers++;
      if (isDoubtful(owner, claim, node)) this.#listener.suspect(node);
      if (!ownersByUid.delete(uid)) {
        owner.add(node);
        if (owner.state !== "observed") this.#listener.unverified(owner);
        if (owner.deletesDependents) this.#listener.suspect(node);
      }
      return { owner, blocks };
    });
    // The remaining known owners are owners no more.
    for (const owner of ownersByUid.values()) owner.drop(node);
    for (const { owner, blocks } of before) {
      if (holdsUp(node, owner, blocks)) owner.blockers--;
      if (owner.deletesDependents && owner.blockers === 0) this.#listener.suspect(owner);
      if (ownersByUid.has(owner.uid)) this.#dropUnneeded(owner);
    }
  }

  #dropUnneeded(node: GraphNode): void {
    if (node.owners.length > 0 || node.dependentCount > 0) return;
    if (node.deletesDependents || node.orphansDependents) return;
    if (this.#nodes.get(node.uid) === node) this.#delete(node);
  }

  #insert(uid: string, at: Coordinates, isForeign: boolean): GraphNode {
    const type = this.#type(groupOf(at.apiVersion), at.kind);
    const node = new GraphNode(uid, type, at, isForeign);
    type.nodes++;
    if (isForeign) this.#foreign++;
    this.#nodes.set(uid, node);
    return node;
  }

  #delete(node: GraphNode): void {
    this.#nodes.delete(node.uid);
    if (node.isForeign) this.#foreign--;
    this.#uncount(node.type);
  }

  /** Corrects namespace and name of the object. Dependents that named others may have meant another object. */
  #relocate(node: GraphNode, at: Coordinates): void {
    if (!node.isAt(at)) {
      // The namespace of its dependent was taken for that of a cluster-scoped object.
      const isMeant = at.namespace === "" && node.isAt({ ...at, namespace: node.namespace });
      this.#move(node, at);
      if (!isMeant) for (const dependent of node.dependents()) this.#listener.suspect(dependent);
    }
    node.apiVersion = at.apiVersion;
  }

  #move(node: GraphNode, { apiVersion, kind, namespace, name }: Coordinates): void {
    const type = this.#type(groupOf(apiVersion), kind);
    type.nodes++;
    this.#uncount(node.type);
    node.type = type;
    node.namespace = namespace;
    node.name = name;
    node.blockers = 0;
    for (const dependent of node.dependents()) {
      const link = dependent.owners.find(({ owner }) => owner === node);
      if (link !== undefined && holdsUp(dependent, node, link.blocks)) node.blockers++;
    }
  }

  #uncount({ group, kind }: NodeType): void {
    const type = this.#type(group, kind);
    type.nodes--;
    this.#forgetUnused(type);
  }

  #type(group: string, kind: string): CountedType {
    const key = `${group}/${kind}`;
    let type = this.#types.get(key);
    if (type === undefined) this.#types.set(key, (type = { group, kind, nodes: 0, holders: 0 }));
    return type;
  }

  #forgetUnused(type: CountedType): void {
    if (type.nodes === 0 && type.holders === 0) this.#types.delete(`${type.group}/${type.kind}`);
  }
}

const nodesPerTurn = 10_000;

/** Whether the texts of an object of another server, which may send anything, are those of an object. */
function isPlain({ uid, namespace, name, owners }: ObservedObject): boolean {
  const isText = (value: unknown): boolean => typeof value === "string" && value.length <= foreignTextMax;
  return (
    [uid, namespace, name].every(isText) &&
    Array.isArray(owners) &&
    owners.length <= foreignOwnersMax &&
    owners.every(
      (one: unknown) => isObject(one) && [one["uid"], one["name"], one["kind"], one["apiVersion"]].every(isText),
    )
  );
}

/**
 * Whether an owner waits for the dependent. It would wait in vain for itself, and for an object elsewhere that it does
 * not own.
 */
const holdsUp = (dependent: GraphNode, owner: GraphNode, blocks: boolean): boolean =>
  blocks && dependent !== owner && (owner.namespace === "" || owner.namespace === dependent.namespace);

/** Whether the owner may be another object than the one that the reference names. */
function isDoubtful(owner: GraphNode, claim: Omit<OwnerReference, "uid">, dependent: GraphNode): boolean {
  if (owner.name !== claim.name || !owner.isOf(claim.apiVersion, claim.kind)) return true;
  if (owner.namespace === dependent.namespace) return false;
  // Cluster-scoped objects own objects everywhere; whether this one is cluster-scoped is unknown before it was seen.
  return owner.namespace !== "" || owner.state !== "observed";
}

/** Whether the references are those of the links. */
function isSame(links: readonly Link[], references: readonly OwnerReference[]): boolean {
  return (
    links.length === references.length &&
    links.every(({ owner, blocks }, at) => {
      const { uid, blockOwnerDeletion = false } = references[at]!;
      return owner.uid === uid && blocks === blockOwnerDeletion;
    })
  );
}

/** Returns one reference for each owner. */
function distinct(references: readonly OwnerReference[]): readonly OwnerReference[] {
  if (references.length === 1) return references;
  const byUid = new Map<string, OwnerReference>();
  for (const reference of references) {
    const { uid } = reference;
    const blocks = reference.blockOwnerDeletion === true || byUid.get(uid)?.blockOwnerDeletion === true;
    byUid.set(uid, { ...reference, blockOwnerDeletion: blocks });
  }
  return [...byUid.values()];
}
