/**
 * Objects as bytes and back. One encoding per object version, made when it is committed, is what the log keeps, what
 * GET answers, what LIST joins and what every watcher is sent; the decoded form is kept only for a bounded number.
 *
 * Hot path: encoding a 1 KB object costs 2 to 3 us (`bench/stored-object.bench.ts`); reading one costs nothing.
 * The bytes are `{"kind":…,"apiVersion":…,` + rest + newline. Every form that differs only in these first two keys
 * (another version of the same shape, an item of a typed list, which has neither) is made by cutting, not by encoding.
 */
import { escapeHtml } from "#codec/json.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { storageReadError } from "#meta/status-error.ts";
import type { Encoded, Entry, Revision } from "#storage/backend.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** What is remembered of an entry beside its bytes. */
export interface EntryView {
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** In the stored version; dropped when the cache is full. */
  object: ApiObject | undefined;
}

/** How a resource's objects lie in bytes. */
export interface Layout {
  /** `{"kind":"ConfigMap","apiVersion":"v1",` of the stored version. */
  readonly prefix: Buffer;
  /** The same of the served version; equal to `prefix` when the served version is the stored one. */
  readonly servedPrefix: Buffer;
  /** Whether the served form differs from the stored one in more than the prefix. */
  readonly converts: boolean;
  /** Whether stored bytes are served as they are. */
  readonly sameBytes: boolean;
  readonly storedApiVersion: string;
  readonly storedKind: string;
  readonly servedApiVersion: string;
}

const layouts = new WeakMap<ResourceDefinition, Layout>();

export function layoutOf(definition: ResourceDefinition): Layout {
  let layout = layouts.get(definition);
  if (layout === undefined) {
    const { storage } = definition;
    const storedApiVersion = apiVersionOf(storage);
    const servedApiVersion = apiVersionOf(definition);
    const prefix = prefixOf(storage.kind, storedApiVersion);
    const servedPrefix = prefixOf(definition.kind, servedApiVersion);
    const converts = definition.conversion !== undefined;
    layout = {
      prefix,
      servedPrefix,
      converts,
      sameBytes: !converts && prefix.equals(servedPrefix),
      storedApiVersion,
      storedKind: storage.kind,
      servedApiVersion,
    };
    layouts.set(definition, layout);
  }
  return layout;
}

function prefixOf(kind: string, apiVersion: string): Buffer {
  return Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
}

/** Metadata in the order of upstream's struct, with this resource version. */
function orderedMeta(meta: ObjectMeta, resourceVersion: string): ObjectMeta {
  const ordered: Record<string, unknown> = {};
  if (meta.name !== undefined) ordered["name"] = meta.name;
  if (meta.generateName !== undefined) ordered["generateName"] = meta.generateName;
  if (meta.namespace !== undefined) ordered["namespace"] = meta.namespace;
  if (meta.uid !== undefined) ordered["uid"] = meta.uid;
  ordered["resourceVersion"] = resourceVersion;
  if (meta.generation !== undefined) ordered["generation"] = meta.generation;
  if (meta.creationTimestamp !== undefined) ordered["creationTimestamp"] = meta.creationTimestamp;
  if (meta.deletionTimestamp !== undefined) ordered["deletionTimestamp"] = meta.deletionTimestamp;
  if (meta.deletionGracePeriodSeconds !== undefined) {
    ordered["deletionGracePeriodSeconds"] = meta.deletionGracePeriodSeconds;
  }
  if (meta.labels !== undefined) ordered["labels"] = meta.labels;
  if (meta.annotations !== undefined) ordered["annotations"] = meta.annotations;
  if (meta.ownerReferences !== undefined) ordered["ownerReferences"] = meta.ownerReferences;
  if (meta.finalizers !== undefined) ordered["finalizers"] = meta.finalizers;
  if (meta.managedFields !== undefined) ordered["managedFields"] = meta.managedFields;
  return ordered as ObjectMeta; // built from the same keys
}

/** `object` with kind, apiVersion and metadata first and this resource version in it. */
function withVersion(object: ApiObject, kind: string, apiVersion: string, resourceVersion: string): ApiObject {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  return { kind, apiVersion, metadata: orderedMeta(metadata, resourceVersion), ...rest };
}

/** Throws `storageReadError` when the bytes are no object any more. */
function decodeStored(entry: Entry): ApiObject {
  try {
    const object = JSON.parse(entry.value.toString()) as ApiObject | null; // our own encoding, checked for damage next
    if (typeof object?.metadata === "object" && object.metadata !== null) return object;
  } catch (cause) {
    throw storageReadError(entry.key.slice(entry.key.lastIndexOf("/") + 1), cause);
  }
  throw storageReadError(entry.key.slice(entry.key.lastIndexOf("/") + 1), undefined);
}

const closingBrace = 0x7d;

/** Encodes and decodes stored objects, with a bounded number of decoded ones kept. One per server. */
export class StoredObjects {
  /** Decoded objects are dropped in the order they were made once this many newer ones exist. */
  readonly #recent: (EntryView | undefined)[];
  #next = 0;

  /** `decodedMax` objects stay decoded; at 1 to 4 KB of heap each the default is a few megabytes. */
  constructor(decodedMax = 2048) {
    this.#recent = new Array<EntryView | undefined>(decodedMax).fill(undefined);
  }

  #remember(view: EntryView): void {
    const oldest = this.#recent[this.#next];
    if (oldest !== undefined) oldest.object = undefined;
    this.#recent[this.#next] = view;
    this.#next = (this.#next + 1) % this.#recent.length;
  }

  /** Bytes and view of `object` (in the definition's version) at `revision`. */
  encode(definition: ResourceDefinition, object: ApiObject, revision: Revision): Encoded {
    const layout = layoutOf(definition);
    const hub = definition.conversion === undefined ? object : definition.conversion.toHub(object);
    const stored = withVersion(hub, layout.storedKind, layout.storedApiVersion, String(revision));
    const view: EntryView = { labels: stored.metadata.labels, object: stored };
    this.#remember(view);
    return { value: Buffer.from(`${escapeHtml(JSON.stringify(stored))}\n`), view };
  }

  /** What is remembered of an entry; decodes it when nobody has yet. */
  view(entry: Entry): EntryView {
    if (entry.view === undefined) {
      const object = decodeStored(entry);
      const view: EntryView = { labels: object.metadata.labels, object };
      this.#remember(view);
      entry.view = view;
    }
    return entry.view as EntryView; // only this class writes it
  }

  /**
   * Throws `storageReadError` when bytes this process did not write do not begin and end as an encoding of ours. Costs
   * next to nothing, so that whole lists can be looked over before they are sent.
   */
  checkShape(definition: ResourceDefinition, entry: Entry): void {
    if (entry.view !== undefined) return;
    const { prefix } = layoutOf(definition);
    const { value } = entry;
    const isWhole = value.length > prefix.length && value.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;
    if (!isWhole || value[value.length - 2] !== closingBrace) this.view(entry);
  }

  /** Decoded object of an entry in its stored version. Shared and read-only. */
  stored(entry: Entry): ApiObject {
    const view = this.view(entry);
    if (view.object === undefined) {
      view.object = decodeStored(entry);
      this.#remember(view);
    }
    return view.object;
  }

  /** Decoded object of an entry, in the definition's version. Shared and read-only. */
  object(definition: ResourceDefinition, entry: Entry): ApiObject {
    const stored = this.stored(entry);
    const layout = layoutOf(definition);
    const { conversion } = definition;
    if (conversion === undefined && layout.sameBytes) return stored;
    const converted = conversion === undefined ? stored : conversion.fromHub(stored);
    return { ...converted, kind: definition.kind, apiVersion: layout.servedApiVersion };
  }

  /** The bytes GET answers, newline included. The stored bytes themselves where the version is the stored one. */
  servedBytes(definition: ResourceDefinition, entry: Entry): Buffer {
    const layout = layoutOf(definition);
    this.checkShape(definition, entry);
    if (layout.sameBytes) return entry.value;
    if (layout.converts) return Buffer.from(`${JSON.stringify(this.object(definition, entry))}\n`);
    return Buffer.concat([layout.servedPrefix, entry.value.subarray(layout.prefix.length)]);
  }
}
