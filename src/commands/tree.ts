/** `binnacle tree`: the owners of an object, the objects that it owns, and what a deletion waits for. */
import { apiVersionOf } from "#meta/group-version.ts";
import { ageOf } from "#meta/human-duration.ts";
import type { ObjectMeta, OwnerReference, Unstructured } from "#meta/object-meta.ts";
import { systemClock } from "#std/clock.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { clusterFlags, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import { type Cell, isColoured, printWarnings, tableText, valueText } from "./print.ts";
import { allMetadata, type FoundObject, type FoundObjects, unreadTexts } from "./explain/all-metadata.ts";
import { Deletions } from "./explain/deletion.ts";
import { untoldBy } from "./explain/old-servers.ts";
import { checkOneTarget, oneTarget } from "./explain/one-target.ts";

const flags = {
  ...clusterFlags,
  output: formFlag(["text", "json", "yaml"], "A tree, or the same as data."),
};

const help = `Prints what owns an object, what it owns, and for what is being deleted, the reason why it is still there.

Usage: binnacle tree KIND NAME [flags]

  KIND                            plural, singular or short name of a kind, also with .GROUP
  -h, --help                      print this

It reads the metadata of all objects of the namespace (of all namespaces, for an object outside of them); kinds that you may not
list are named.

Examples:
  binnacle tree deploy web -n shop
  binnacle tree ns shop
  binnacle tree crd widgets.example.com -o json

`;

/** An object with those that it owns. */
interface TreeNode extends FoundObject {
  readonly notes: readonly string[];
  readonly owned: readonly TreeNode[];
}

interface Owner {
  readonly reference: OwnerReference;
  /** The owner, and `undefined` when it does not exist, or is not seen. */
  readonly found: FoundObject | undefined;
  readonly above: readonly Owner[];
}

/** The number of objects that are shown below one. */
const shownMax = 50;

/** The number of generations that are shown. */
const depthMax = 30;

/** Runs `binnacle tree`. Rejects with `StartError`. */
export const tree = command(flags, help, async (settings, rest) => {
  const { output = "text" } = settings;
  checkOneTarget("tree", rest);
  await withCluster(settings, async (cluster) => {
    const address = await oneTarget(cluster, "tree", rest);
    const object = await cluster.call<Unstructured>({ method: "GET", path: address.path });
    const root: FoundObject = { resource: address.resource, metadata: object.metadata };
    const isNamespace = address.resource.group === "" && address.resource.resource === "namespaces";
    const found = await allMetadata(cluster, isNamespace ? address.name : address.namespace);
    const deletions = await Deletions.in(cluster);
    const index = new OwnerIndex(cluster, deletions, found);
    const owners = await index.ownersOf(root, 0);
    const node = isNamespace ? index.namespaceNodeOf(root, conditionNotes(object)) : index.nodeOf(root, [], 0);
    const unread = [...(await untoldBy(cluster, "tree")), ...unreadTexts(found.unread)];
    if (isStructured(output)) {
      const data = { ...nodeData(node), owners: owners.map(ownerData), next: adviceOf(node, deletions), unread };
      process.stdout.write(valueText(output, data));
      return;
    }
    printWarnings(unread);
    process.stdout.write(treeText(node, owners));
    const advice = adviceOf(node, deletions);
    if (advice.length === 0) return;
    process.stdout.write(`\nIf whoever set a finalizer is gone for good, remove it by hand:\n`);
    for (const line of advice) process.stdout.write(`  ${printable(line)}\n`);
  });
});

/** The objects that were read, by identity and by owner. */
class OwnerIndex {
  readonly #cluster: OpenCluster;
  readonly #deletions: Deletions;
  readonly #byUid: ReadonlyMap<string, FoundObject>;
  readonly #byOwner = new Map<string, FoundObject[]>();
  readonly #now = systemClock.now();
  readonly #shown = new Set<string>();

  constructor(cluster: OpenCluster, deletions: Deletions, { objects }: FoundObjects) {
    this.#cluster = cluster;
    this.#deletions = deletions;
    this.#byUid = new Map(objects.map((one) => [one.metadata.uid ?? "", one]));
    for (const one of objects) {
      for (const { uid } of one.metadata.ownerReferences ?? []) {
        const owned = this.#byOwner.get(uid);
        if (owned === undefined) this.#byOwner.set(uid, [one]);
        else owned.push(one);
      }
    }
  }

  /** Returns the object with what it owns. An object with several owners has its own objects below the first. */
  nodeOf(root: FoundObject, more: readonly string[], depth: number): TreeNode {
    const { uid = "", name = "" } = root.metadata;
    const isNew = !this.#shown.has(uid) && depth < depthMax;
    this.#shown.add(uid);
    const owned = isNew ? (this.#byOwner.get(uid) ?? []) : [];
    const blocking = owned
      .filter(({ metadata }) =>
        metadata.ownerReferences?.some((one) => one.uid === uid && one.blockOwnerDeletion === true),
      )
      .map(({ resource, metadata }) => shownName(resource, metadata.name ?? name));
    return {
      ...root,
      notes: [...this.#deletions.notes(root.metadata, blocking, this.#now), ...more],
      owned: owned.sort(byName).map((one) => this.nodeOf(one, [], depth + 1)),
    };
  }

  /** Returns a namespace with the objects in it that nothing else owns. */
  namespaceNodeOf(root: FoundObject, conditions: readonly string[]): TreeNode {
    const isOwned = ({ metadata }: FoundObject): boolean =>
      metadata.ownerReferences?.some(({ uid }) => this.#byUid.has(uid)) === true;
    const inside = [...this.#byUid.values()].filter((one) => !isOwned(one)).sort(byName);
    return {
      ...root,
      notes: [...this.#deletions.notes(root.metadata, [], this.#now), ...conditions],
      owned: inside.map((one) => this.nodeOf(one, [], 1)),
    };
  }

  async ownersOf({ metadata }: FoundObject, depth: number): Promise<readonly Owner[]> {
    const owners: Owner[] = [];
    for (const reference of depth < depthMax ? (metadata.ownerReferences ?? []) : []) {
      const found = this.#byUid.get(reference.uid) ?? (await this.#read(reference, metadata.namespace ?? ""));
      owners.push({ reference, found, above: found === undefined ? [] : await this.ownersOf(found, depth + 1) });
    }
    return owners;
  }

  /** Reads an owner that is not among the objects, such as one outside of namespaces. */
  async #read({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): Promise<FoundObject | undefined> {
    try {
      const resource = await this.#cluster.resourceOf({ apiVersion, kind, metadata: {} });
      const { path } = this.#cluster.address(resource, name, namespace);
      const object = await this.#cluster.find<Unstructured>(path);
      return object === undefined || object.metadata.uid !== uid ? undefined : { resource, metadata: object.metadata };
    } catch (error) {
      if (error instanceof StartError) return undefined; // the kind is not served
      throw error;
    }
  }
}

const byName = (one: FoundObject, other: FoundObject): number => (sortKey(one) < sortKey(other) ? -1 : 1);

const sortKey = ({ resource, metadata }: FoundObject): string => `${resource.resource} ${metadata.name}`;

/** The number of commands that are offered. */
const adviceMax = 5;

/** Returns the commands that end deletions which wait for finalizers that nobody may remove. */
function adviceOf(node: TreeNode, deletions: Deletions): readonly string[] {
  const all = (one: TreeNode): readonly TreeNode[] => [one, ...one.owned.flatMap(all)];
  return all(node)
    .filter(({ metadata }) => deletions.strangeFinalizers(metadata).length > 0)
    .slice(0, adviceMax)
    .map(({ resource, metadata }) => deletions.removalCommand(resource, metadata));
}

/** Returns what the conditions of a namespace say about its deletion. */
function conditionNotes({ metadata, status }: Unstructured): readonly string[] {
  interface Condition {
    readonly type: string;
    readonly status: string;
    readonly message?: string;
  }
  if (metadata.deletionTimestamp === undefined) return [];
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] }; // of a namespace
  const isFailing = ({ type, status: is }: Condition): boolean =>
    type === "NamespaceDeletionDiscoveryFailure" && is === "True";
  return [
    ...conditions.filter((one) => one.status === "True").map(({ message = "" }) => message),
    ...(conditions.some(isFailing)
      ? ["stays until the server of these groups answers, or its APIService is deleted: binnacle doctor names it"]
      : []),
  ];
}

function treeText(node: TreeNode, owners: readonly Owner[]): string {
  const now = systemClock.now();
  const ageText = ({ creationTimestamp }: ObjectMeta): string => ageOf(creationTimestamp ?? undefined, now);
  const rows: Cell[][] = [];
  const addOwners = (all: readonly Owner[], indent: string): void => {
    for (const { reference, found, above } of all) {
      const { kind, name, controller = false } = reference;
      const gone = found === undefined ? [{ text: "does not exist, or cannot be seen", colour: "red" } as const] : [];
      const age = found === undefined ? "" : ageText(found.metadata);
      rows.push([
        `${indent}${kind}/${name}`,
        age,
        ...(gone.length > 0 ? gone : [controller ? "its controller" : "an owner"]),
      ]);
      addOwners(above, `${indent}  `);
    }
  };
  const addNode = ({ resource, metadata, notes, owned }: TreeNode, first: string, next: string): void => {
    const name = `${first}${shownName(resource, metadata.name ?? "")}`;
    rows.push([name, ageText(metadata), notes.length === 0 ? "" : { text: notes[0]!, colour: "yellow" }]);
    for (const note of notes.slice(1))
      rows.push([owned.length > 0 ? `${next}│` : next, "", { text: note, colour: "yellow" }]);
    // Objects that are being deleted come first, so that they are among those that are shown.
    const shown = [...owned].sort((one, other) => other.notes.length - one.notes.length).slice(0, shownMax);
    const hidden = owned.length - shown.length;
    for (const [at, one] of shown.entries()) {
      const isLast = at === shown.length - 1 && hidden === 0;
      addNode(one, `${next}${isLast ? "└─ " : "├─ "}`, `${next}${isLast ? "   " : "│  "}`);
    }
    if (hidden > 0) rows.push([`${next}└─ and ${hidden} more (-o json shows all)`, "", ""]);
  };
  if (owners.length > 0) {
    rows.push(["OWNED BY", "AGE", ""]);
    addOwners(owners, "");
    rows.push(["", "", ""]);
  }
  rows.push(["OBJECT", "AGE", ""]);
  addNode(node, "", "");
  return tableText(rows, isColoured(process.stdout));
}

const identity = ({ resource, metadata }: FoundObject): object => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
  name: metadata.name,
  uid: metadata.uid,
});

const nodeData = (node: TreeNode): object => ({
  ...identity(node),
  finalizers: node.metadata.finalizers ?? [],
  deletionTimestamp: node.metadata.deletionTimestamp,
  notes: node.notes,
  owned: node.owned.map(nodeData),
});

const ownerData = ({ reference, found, above }: Owner): object => ({
  ...reference,
  exists: found !== undefined,
  owners: above.map(ownerData),
});
