/**
 * Decides the fate of an object by live reads alone, since the graph may be stale. An object is deleted when none of
 * its owners exists; reads prove the absence. Deletions have the observed UID and version as preconditions. Source:
 * upstream's garbage collector controller.
 */
import { pause } from "#std/clock.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { ObjectMeta, OwnerReference } from "#meta/object-meta.ts";
import type { ControllerEnvironment } from "../controller.ts";
import { AbsentOwners, type OwnerClaim } from "./absent-owners.ts";
import type { GraphNode, OwnershipGraph } from "./graph.ts";
import { deletesDependents, foregroundFinalizer, type LiveObjects, orphanFinalizer, type Propagation } from "./live.ts";
import type { ResourceMap, ServedResource } from "./served.ts";

/** The result of an examination: done, to be repeated later, or to be repeated when other kinds are served. */
export type LookOutcome = "done" | "again" | "unknown kind";

interface CollectOptions extends Pick<ControllerEnvironment, "clock" | "signal"> {
  readonly graph: OwnershipGraph;
  readonly objects: LiveObjects;
  resources(): ResourceMap;
  /** Called with an object to examine. */
  suspect(node: GraphNode): void;
  /** Called when there is no such owner in the namespace of this dependent. */
  absentHere(dependent: GraphNode, owner: OwnerClaim, of: ServedResource): void;
}

/** The owners of an object, by their state. */
interface Owners {
  readonly solid: readonly OwnerReference[];
  readonly gone: readonly OwnerReference[];
  /** Owners that wait until their dependents are deleted. */
  readonly waiting: readonly OwnerReference[];
}

/** The number of dependents whose references are removed at the same time. */
const orphansAtATime = 10;

/**
 * Events of different resources come in any order, so dependents created before the deletion of their owner may be seen
 * after it. An owner without dependents waits this long for them.
 */
const restMs = 10;

export class Collector {
  readonly #options: CollectOptions;
  readonly #absent = new AbsentOwners();

  constructor(options: CollectOptions) {
    this.#options = options;
  }

  /** Handles a deletion that a watch reported. `isOwn`: it was a watch of this server, which proves the deletion. */
  gone(node: GraphNode, isOwn: boolean): void {
    if (isOwn && node.dependentCount > 0) this.#absent.add(node, node.namespace);
    this.#options.graph.remove(node);
  }

  /** Examines an owner that has to be verified, or an object that may have to be deleted. */
  look(uid: string): Promise<LookOutcome> {
    const node = this.#options.graph.get(uid);
    if (node === undefined) return Promise.resolve("done");
    return node.state === "observed" ? this.#examine(node) : this.#verify(node);
  }

  /** Removes an owner's references from its dependents, then the finalizer that asked for it. */
  async orphan(uid: string): Promise<LookOutcome> {
    const { graph, objects, clock, signal } = this.#options;
    const node = graph.get(uid);
    if (node?.orphansDependents !== true) return "done";
    const of = this.#resourceOf(node);
    if (of === undefined) return "unknown kind";
    await pause(clock, restMs, signal);
    const dependents = node.dependents();
    for (let at = 0; at < dependents.length; at += orphansAtATime) {
      const some = dependents.slice(at, at + orphansAtATime);
      const outcomes = await Promise.all(some.map((dependent) => this.#release(dependent, uid)));
      if (outcomes.includes("unknown kind")) return "unknown kind";
    }
    const live = await this.#live(of, node);
    if (live?.deletionTimestamp !== undefined) await objects.removeFinalizer(of, live, orphanFinalizer);
    return "done";
  }

  async #release(dependent: GraphNode, owner: string): Promise<LookOutcome> {
    const of = this.#resourceOf(dependent);
    if (of === undefined) return "unknown kind";
    const live = await this.#live(of, dependent);
    if (live !== undefined) await this.#withoutOwners(of, live, new Set([owner]));
    return "done";
  }

  async #withoutOwners(of: ServedResource, live: ObjectMeta, uids: ReadonlySet<string>): Promise<void> {
    const { ownerReferences = [] } = live;
    const remaining = ownerReferences.filter(({ uid }) => !uids.has(uid));
    if (remaining.length < ownerReferences.length)
      await this.#options.objects.change(of, live, { ownerReferences: remaining });
  }

  #resourceOf({ apiVersion, kind }: GraphNode): ServedResource | undefined {
    return this.#options.resources().find(apiVersion, kind);
  }

  /** Reads the object of the node; `undefined` when there is none, or another one of this name. */
  async #live(of: ServedResource, { uid, namespace, name }: GraphNode): Promise<ObjectMeta | undefined> {
    const live = await this.#options.objects.get(of, namespace, name);
    return live?.uid === uid ? live : undefined;
  }

  async #verify(node: GraphNode): Promise<LookOutcome> {
    const { graph, suspect, absentHere } = this.#options;
    const of = this.#resourceOf(node);
    if (of === undefined) return "unknown kind";
    const namespace = of.namespaced ? node.namespace : "";
    // A cluster-scoped object cannot have an owner in a namespace: the examination of the dependent finds that out.
    const live =
      of.namespaced && namespace === "" ? undefined : await this.#options.objects.get(of, namespace, node.name);
    if (graph.get(node.uid) !== node || node.state === "observed") return "done";
    if (live?.uid === node.uid) {
      // No watch would report its deletion.
      if (!this.#options.resources().isWatched(of)) return "again";
      graph.confirm(node, { apiVersion: apiVersionOf(of), kind: node.kind, namespace, name: node.name });
    } else if (node.state === "lost") {
      // A list lacked the object, and a live read confirmed that.
      this.gone(node, true);
    } else {
      if (!of.namespaced || namespace !== "") this.#absent.add(node, namespace);
      for (const dependent of node.dependents()) {
        if (of.namespaced) absentHere(dependent, node, of);
        suspect(dependent);
      }
    }
    return "done";
  }

  async #examine(node: GraphNode): Promise<LookOutcome> {
    if (node.deletesDependents) return this.#finishForeground(node);
    // A deleted object is removed when its finalizers are; one without owners stays.
    if (node.isBeingDeleted || node.owners.length === 0) return "done";
    const of = this.#resourceOf(node);
    if (of === undefined) return "unknown kind";
    const live = await this.#live(of, node);
    if (live?.deletionTimestamp !== undefined || live?.ownerReferences === undefined) return "done";
    const owners = await this.#classify(node, live.ownerReferences);
    if (typeof owners === "string") return owners;
    const { solid, gone, waiting } = owners;
    if (solid.length > 0) {
      await this.#withoutOwners(of, live, new Set([...gone, ...waiting].map(({ uid }) => uid)));
    } else if (waiting.length > 0 && node.dependentCount > 0) {
      await this.#deleteInForeground(of, node, live);
    } else {
      await this.#options.objects.remove(of, live, propagationOf(live));
    }
    return "done";
  }

  /** Lets the owner be deleted once no dependent blocks it any longer. */
  async #finishForeground(node: GraphNode): Promise<LookOutcome> {
    if (node.blockers > 0) return "done";
    const { objects, clock, signal } = this.#options;
    const of = this.#resourceOf(node);
    if (of === undefined) return "unknown kind";
    await pause(clock, restMs, signal);
    if (node.blockers > 0) return "done";
    const live = await this.#live(of, node);
    if (live?.deletionTimestamp !== undefined) await objects.removeFinalizer(of, live, foregroundFinalizer);
    return "done";
  }

  /** Deletes an object that an owner waits for and that has dependents of its own: these are deleted first. */
  async #deleteInForeground(of: ServedResource, node: GraphNode, live: ObjectMeta): Promise<void> {
    const { objects } = this.#options;
    let latest: ObjectMeta | undefined = live;
    const blocks = live.ownerReferences?.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true) === true;
    // A dependent that already waits may wait for this very object: in a circle, one of them must be deleted anyway.
    if (blocks && node.dependents().some(({ deletesDependents }) => deletesDependents)) {
      const ownerReferences = (live.ownerReferences ?? []).map((one) => ({ ...one, blockOwnerDeletion: false }));
      latest = await objects.change(of, live, { ownerReferences });
    }
    if (latest !== undefined) await objects.remove(of, latest, "Foreground");
  }

  async #classify(node: GraphNode, references: readonly OwnerReference[]): Promise<Owners | LookOutcome> {
    const solid: OwnerReference[] = [];
    const gone: OwnerReference[] = [];
    const waiting: OwnerReference[] = [];
    for (const reference of references) {
      if (this.#absent.has(reference, node.namespace)) {
        gone.push(reference);
        continue;
      }
      const of = this.#options.resources().find(reference.apiVersion, reference.kind);
      if (of === undefined) return "unknown kind";
      if (of.namespaced && node.namespace === "") {
        // Upstream: such a reference is a mistake, and the object stays.
        this.#options.absentHere(node, reference, of);
        return "done";
      }
      const owner = await this.#owner(node, reference, of);
      if (owner === undefined) gone.push(reference);
      else if (deletesDependents(owner)) waiting.push(reference);
      else solid.push(reference);
    }
    return { solid, gone, waiting };
  }

  /** Reads an owner; `undefined` when there is none. */
  async #owner(dependent: GraphNode, reference: OwnerReference, of: ServedResource): Promise<ObjectMeta | undefined> {
    const { graph, objects, resources, absentHere } = this.#options;
    const { uid, name, kind } = reference;
    const namespace = of.namespaced ? dependent.namespace : "";
    const node = graph.get(uid);
    const owner = await objects.get(of, namespace, name);
    if (owner?.uid !== uid) {
      this.#absent.add(reference, namespace);
      if (of.namespaced) absentHere(dependent, reference, of);
      return undefined;
    }
    // A node that was added after the question may exist because the object was deleted after it was read.
    if (node?.state === "claimed" && graph.get(uid) === node && resources().isWatched(of)) {
      graph.confirm(node, { apiVersion: apiVersionOf(of), kind, namespace, name });
    }
    return owner;
  }
}

/** Returns the propagation that the finalizers already ask for. */
function propagationOf({ finalizers = [] }: ObjectMeta): Propagation {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}
