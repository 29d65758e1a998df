/**
 * Objects as bytes and back. Each object version is encoded once, for its commit; the log (which leaves out the
 * revision), GET, LIST and all watchers use these bytes. Only a bounded number of objects is also kept decoded.
 *
 * Hot path: reading costs nothing. The bytes are `{"kind":…,"apiVersion":…,` + rest + newline. Forms that differ only
 * in these first two keys (another version of the same shape, an item of a typed list, which has neither) are spliced,
 * not encoded.
 */
import { exactValue } from "#codec/strict.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured, ObjectMeta } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { internalError, StatusError, storageReadError, unclassified } from "#meta/status-error.ts";
import { escapeHtml } from "#std/escape-html.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { mapCooperatively } from "#std/cooperative.ts";
import type { Unversioned } from "#storage/log-store.ts";
import { revisionOffsetIn } from "#storage/versioned-value.ts";
import type { Encoded, Entry } from "#storage/watch-cache.ts";
import type {
  Conversion,
  WebhookConversion,
  ResourceDefinition,
  SchemaEpoch,
  Strategy,
} from "./resource-definition.ts";

/** The data that is cached with an entry beside its bytes. */
interface DecodedEntry {
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The object in the stored version; dropped when the cache is full. */
  object: Unstructured | undefined;
  /** Values of selectable fields, once requested, and the function that computed them. */
  fields?: { readonly values: Readonly<Record<string, string>>; readonly by: Strategy["fields"] };
  /** The offset of the end of the metadata in the stored bytes, once requested; 0 where they do not begin as usual. */
  metadataEnd?: number;
  /** Custom resources: the epochs (one, or several versions') in which only the type of the object changes. */
  epochs?: SchemaEpoch | readonly SchemaEpoch[];
  /**
   * The results of conversion webhooks. `StoredObjects` keeps the latest ones, others live while a request uses them.
   */
  converted?: ReadonlyMap<WebhookConversion, WeakRef<Unstructured>>;
}

/**
 * The part of a request that waits for a conversion, or writes. A conversion is aborted when no request waits for it
 * any more; a write may lose its permission. A signal is expensive, so it is created late.
 */
export type Caller = Pick<RequestContext, "signal" | "requires" | "wrote" | "span">;

/** The results of webhook conversions, which stay referenced while a request needs them. */
export type ConvertedObjects = readonly Unstructured[] | undefined;

/** The form of a resource's objects in bytes. */
interface Layout {
  /** `{"kind":"ConfigMap","apiVersion":"v1",` of the stored version. */
  readonly prefix: Buffer;
  /** The same prefix of the served version; equal to `prefix` when the served version is the stored one. */
  readonly servedPrefix: Buffer;
  /** Whether the served form differs from the stored one in more than the prefix. */
  readonly converts: boolean;
  /** Whether stored bytes are served unchanged. */
  readonly sameBytes: boolean;
  /**
   * The beginning of the bytes of every version of a custom resource, up to the version. Stored objects may be in any
   * version.
   */
  readonly head: Buffer | undefined;
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
    const head = `{"kind":${JSON.stringify(storage.kind)},"apiVersion":"${storage.group}/`;
    layout = {
      prefix,
      servedPrefix,
      converts,
      sameBytes: !converts && prefix.equals(servedPrefix),
      head: definition.custom === undefined ? undefined : Buffer.from(head),
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

/** Returns metadata in the order of upstream's struct, with an empty resource version. */
function orderedMeta(meta: ObjectMeta): ObjectMeta {
  const ordered: Record<string, unknown> = {};
  if (meta.name !== undefined) ordered["name"] = meta.name;
  if (meta.generateName !== undefined) ordered["generateName"] = meta.generateName;
  if (meta.namespace !== undefined) ordered["namespace"] = meta.namespace;
  if (meta.uid !== undefined) ordered["uid"] = meta.uid;
  ordered["resourceVersion"] = "";
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

/**
 * Returns the stored form of an object that another program stored in the version of `definition`. Without a definition,
 * that of a custom resource, it stays in its version.
 */
export function toStoredForm(object: Unstructured, definition?: ResourceDefinition): Buffer {
  const hub = definition?.conversion?.toHub(object) ?? object;
  const { kind = "", apiVersion = "" } = object;
  const { storedKind, storedApiVersion } =
    definition === undefined ? { storedKind: kind, storedApiVersion: apiVersion } : layoutOf(definition);
  return Buffer.from(`${escapeHtml(JSON.stringify(unversionedObject(hub, storedKind, storedApiVersion)))}\n`);
}

/** Returns `object` with kind, apiVersion and metadata first, and an empty resource version. */
function unversionedObject(object: Unstructured, kind: string, apiVersion: string): Unstructured {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  return { kind, apiVersion, metadata: orderedMeta(metadata), ...rest };
}

/**
 * Decodes an entry. Throws `storageReadError` when the bytes are no object any more, an internal error when they could
 * not be read.
 */
function decodeStored(entry: Entry): Unstructured {
  if (entry.unreadable !== undefined) {
    throw internalError(`unable to transform key ${JSON.stringify(shownKey(entry.key))}: ${entry.unreadable}`);
  }
  try {
    const object = parseObject(entry.value.toString()) as Unstructured | null; // checked for damage next
    if (typeof object?.metadata === "object" && object.metadata !== null) return object;
  } catch (cause) {
    throw storageReadError(entry.key.slice(entry.key.lastIndexOf("/") + 1), cause);
  }
  throw storageReadError(entry.key.slice(entry.key.lastIndexOf("/") + 1), undefined);
}

/** Returns a key as upstream shows it, where keys do not name the core group. */
const shownKey = (key: string): string => key.replace(/^\/registry\/core\//, "/registry/");

/**
 * Parses an object that this server encoded. Whole numbers beyond 2^53 stay exact. Throws for a damaged text, without the
 * part that the JSON parser quotes: it may be of a secret.
 */
export function parseObject(text: string): Unstructured {
  try {
    return (longNumber.test(text) ? exactValue(text) : JSON.parse(text)) as Unstructured; // as it was encoded
  } catch (error) {
    const { message } = error as Error; // of one of the two parsers
    throw new Error(message.replace(/^Unexpected token [^]*$/, "Unexpected token"));
  }
}

/**
 * Makes a value of an object in its stored form, which no other code has. The entry has it decoded for as long as it
 * lives, or as `keep` says.
 */
export function encodedObject(stored: Unstructured, keep?: (decoded: DecodedEntry, length: number) => void): Encoded {
  const text = `${escapeHtml(JSON.stringify(stored))}\n`;
  const bytes = Buffer.from(text);
  return encodedBytes({ bytes, revisionOffset: revisionOffsetIn(bytes, text, beforeRevision) }, stored, keep);
}

/** Does the same with the bytes that encode the object. */
export const encodedBytes = (
  { bytes, revisionOffset }: Unversioned,
  stored: Unstructured,
  keep?: (decoded: DecodedEntry, length: number) => void,
): Encoded => ({
  bytes,
  revisionOffset,
  decode(revision): DecodedEntry {
    // Safe: no other code has the object.
    (stored.metadata as { resourceVersion: string }).resourceVersion = String(revision);
    const decoded: DecodedEntry = { labels: stored.metadata.labels, object: stored };
    keep?.(decoded, bytes.length);
    return decoded;
  },
});

/** Makes a value of bytes that another thread's `StoredObjects` encoded, together with the labels that it passed. */
export const encodedInThread = ({ bytes, revisionOffset }: Unversioned, labels: DecodedEntry["labels"]): Encoded => ({
  bytes,
  revisionOffset,
  decode: (): DecodedEntry => ({ labels, object: undefined }),
});

/** The text before the digits of the revision in an encoded object; its first occurrence is in the metadata. */
const beforeRevision = '"resourceVersion":"';

const metadataKey = Buffer.from('"metadata":');
const longNumber = /[0-9]{16}/;
const noFields: Readonly<Record<string, string>> = {};
const openingBrace = 0x7b;
const closingBrace = 0x7d;
const quote = 0x22;
const backslash = 0x5c;

/** Finds the end of the JSON object that begins at `start`. */
function endOfObject(json: Buffer, start: number): number {
  let depth = 0;
  let isInText = false;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (isInText) {
      if (byte === backslash) at++;
      else if (byte === quote) isInText = false;
    } else if (byte === quote) isInText = true;
    else if (byte === openingBrace) depth++;
    else if (byte === closingBrace && --depth === 0) return at + 1;
  }
  return 0;
}

/** A queue of the last members, bounded in their number and bytes: the oldest ones are dropped. */
class BoundedFifo<T> {
  readonly #members: (T | undefined)[] = [];
  readonly #sizes: number[] = [];
  readonly #max: number;
  readonly #bytesMax: number;
  readonly #drop: (member: T) => void;
  #oldest = 0;
  #count = 0;
  #bytes = 0;

  /**
   * `bytesMax` limits the bytes of their JSON. The latest member is kept, whatever its size. `drop` is called for
   * members that are not kept.
   */
  constructor(max: number, bytesMax: number, drop: (member: T) => void = () => undefined) {
    this.#max = max;
    this.#bytesMax = bytesMax;
    this.#drop = drop;
  }

  add(member: T, bytes: number): void {
    while (this.#count === this.#max || (this.#count > 0 && this.#bytes + bytes > this.#bytesMax)) this.#dropOldest();
    const at = (this.#oldest + this.#count) % this.#max;
    this.#members[at] = member;
    this.#sizes[at] = bytes;
    this.#count++;
    this.#bytes += bytes;
  }

  #dropOldest(): void {
    const at = this.#oldest;
    this.#drop(this.#members[at]!); // there is one
    this.#members[at] = undefined;
    this.#bytes -= this.#sizes[at]!;
    this.#oldest = (at + 1) % this.#max;
    this.#count--;
  }
}

function dropObject(decoded: DecodedEntry): void {
  decoded.object = undefined;
}

/** The maximum bytes of JSON of decoded objects, which may take twenty times as much memory. */
const recentBytesMax = 16 * 1024 * 1024;
/**
 * The maximum number of newly created objects that stay decoded. It is small, so that they die young: most are not
 * written again soon, and a flood of creates would fill the old generation.
 */
const createdMax = 256;
const createdBytesMax = 2 * 1024 * 1024;
/** The maximum number of cached objects from conversion webhooks, and of versions of one object. */
const convertedMax = 1024;
const convertedBytesMax = 16 * 1024 * 1024;
const versionsMax = 8;
/** The number of entries to convert above which others have a turn in between. */
const convertAtOnceMax = 64;

/** Encodes and decodes stored objects, and keeps a bounded number of decoded ones. There is one per server. */
export class StoredObjects {
  readonly #recent: BoundedFifo<DecodedEntry>;
  readonly #created: BoundedFifo<DecodedEntry>;
  readonly #converted = new BoundedFifo<Unstructured>(convertedMax, convertedBytesMax);

  /** `decodedMax` objects stay decoded; at 1 to 4 KB of heap each the default is a few megabytes. */
  constructor(decodedMax = 2048) {
    this.#recent = new BoundedFifo(decodedMax, recentBytesMax, dropObject);
    this.#created = new BoundedFifo(Math.min(decodedMax, createdMax), createdBytesMax, dropObject);
  }

  /** Converts `object` from the definition's version to the stored one. */
  toStored(
    definition: ResourceDefinition,
    object: Unstructured,
    caller: Caller | undefined,
  ): MaybePromise<Unstructured> {
    const { conversion, version, storage } = definition;
    if (conversion === undefined) return object;
    if (conversion.webhook === undefined || version === storage.version) return conversion.toHub(object);
    const converted = conversion.webhook.convert([object], layoutOf(definition).storedApiVersion, caller);
    return converted.then(([stored]) => stored!); // as many as were sent
  }

  /** Encodes `hub`, an object in the stored version. `creates`: the write may create it. */
  encode(definition: ResourceDefinition, hub: Unstructured, creates = false): Encoded {
    const layout = layoutOf(definition);
    const stored = unversionedObject(hub, layout.storedKind, layout.storedApiVersion);
    const recent = creates ? this.#created : this.#recent;
    return encodedObject(stored, (decoded, length) => recent.add(decoded, length));
  }

  /** Returns the cached data of an entry; decodes the entry when it is first used. */
  decode(entry: Entry): DecodedEntry {
    if (entry.decoded === undefined) {
      const object = decodeStored(entry);
      const decoded: DecodedEntry = { labels: object.metadata.labels, object };
      this.#recent.add(decoded, entry.valueLength);
      entry.decoded = decoded;
    }
    return entry.decoded as DecodedEntry; // only this class writes it
  }

  /**
   * Throws `storageReadError` when bytes do not begin and end like those of this server. Very cheap, so that whole
   * lists can be checked before they are sent.
   */
  checkShape(definition: ResourceDefinition, entry: Entry): void {
    if (entry.decoded !== undefined) return;
    const layout = layoutOf(definition);
    const { value } = entry;
    const prefix = layout.head ?? layout.prefix;
    const isWhole = value.length > prefix.length && value.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;
    if (!isWhole || value[value.length - 2] !== closingBrace) this.decode(entry);
  }

  /** Decodes an entry without adding it to the cache, for rare reads of large objects. */
  peek(entry: Entry): Unstructured {
    return (entry.decoded as DecodedEntry | undefined)?.object ?? decodeStored(entry); // only this class writes it
  }

  /** Returns the damage that `checkShape` would find, as key and reason in upstream's words; `undefined` for none. */
  findDamage(
    definition: ResourceDefinition,
    entry: Entry,
  ): { readonly key: string; readonly problem: string } | undefined {
    const key = shownKey(entry.key);
    if (entry.unreadable !== undefined) {
      return { key, problem: `data from the storage is not transformable revision=0: ${entry.unreadable}` };
    }
    try {
      this.checkShape(definition, entry);
      return undefined;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return { key, problem: `data from the storage is not decodable revision=${entry.revision}: ${error.message}` };
    }
  }

  /** Whether an entry can be decoded. */
  isReadable(entry: Entry): boolean {
    if (entry.decoded !== undefined) return true;
    try {
      decodeStored(entry);
      return true;
    } catch (error) {
      if (error instanceof StatusError) return false;
      throw error;
    }
  }

  /** Whether an entry is in the version in which it would be stored now. */
  isInStoredVersion(definition: ResourceDefinition, entry: Entry): boolean {
    const { prefix } = layoutOf(definition);
    return entry.beginsWith(prefix);
  }

  /** Returns the metadata of an entry as JSON text, cut from its bytes if possible. */
  metadataText(definition: ResourceDefinition, entry: Entry): string {
    const { converts, prefix } = layoutOf(definition);
    if (converts) return JSON.stringify(this.object(definition, entry).metadata);
    const decoded = this.decode(entry);
    const { value } = entry;
    const start = prefix.length + metadataKey.length;
    decoded.metadataEnd ??= value.subarray(prefix.length, start).equals(metadataKey) ? endOfObject(value, start) : 0;
    return decoded.metadataEnd > 0
      ? value.toString("utf8", start, decoded.metadataEnd)
      : JSON.stringify(this.stored(entry).metadata);
  }

  /** Returns the labels of an entry, which webhooks may convert. */
  labels(definition: ResourceDefinition, entry: Entry): DecodedEntry["labels"] {
    const { conversion } = definition;
    return conversion?.webhook === undefined
      ? this.decode(entry).labels
      : this.object(definition, entry).metadata.labels;
  }

  /** Returns the labels of an entry that no webhook converts, and keeps nothing that had to be decoded for it. */
  peekLabels(entry: Entry): DecodedEntry["labels"] {
    const decoded = entry.decoded as DecodedEntry | undefined; // only this class writes it
    return decoded === undefined ? decodeStored(entry).metadata.labels : decoded.labels;
  }

  /** Whether the object of an entry is cached, so that nothing has to be decoded. */
  isDecoded(entry: Entry): boolean {
    return (entry.decoded as DecodedEntry | undefined)?.object !== undefined; // only this class writes it
  }

  /** Returns the decoded object of an entry in its stored version. It is shared and read-only. */
  stored(entry: Entry): Unstructured {
    const decoded = this.decode(entry);
    if (decoded.object === undefined) {
      decoded.object = decodeStored(entry);
      this.#recent.add(decoded, entry.valueLength);
    }
    return decoded.object;
  }

  /**
   * Has a webhook convert the entries that need it, all by one call. Afterwards they can be read in the definition's
   * version: for a while, or as long as the caller references the result. `anew`: earlier results do not count.
   */
  convertWithWebhook(
    definition: ResourceDefinition,
    entries: readonly Entry[],
    caller: Caller | undefined,
    anew = false,
  ): MaybePromise<ConvertedObjects> {
    const webhook = definition.conversion?.webhook;
    return webhook === undefined ? undefined : this.#convertMissing(webhook, definition, entries, caller, anew);
  }

  #convertMissing(
    webhook: WebhookConversion,
    definition: ResourceDefinition,
    entries: readonly Entry[],
    caller: Caller | undefined,
    anew: boolean,
  ): MaybePromise<readonly Unstructured[]> {
    if (entries.length > convertAtOnceMax) return this.#convertManyMissing(webhook, definition, entries, caller, anew);
    const layout = layoutOf(definition);
    const foreign = entries.filter((entry) => this.#isForeign(entry, layout));
    const converted = anew ? [] : foreign.flatMap((entry) => this.decode(entry).converted?.get(webhook)?.deref() ?? []);
    if (converted.length === foreign.length) return converted;
    return this.#convert(webhook, foreign, layout.servedApiVersion, caller);
  }

  /** Does the same for many, which may have to be decoded. */
  async #convertManyMissing(
    webhook: WebhookConversion,
    definition: ResourceDefinition,
    entries: readonly Entry[],
    caller: Caller | undefined,
    anew: boolean,
  ): Promise<readonly Unstructured[]> {
    const layout = layoutOf(definition);
    const foreign = (
      await mapCooperatively(entries, (entry) => (this.#isForeign(entry, layout) ? [entry] : []))
    ).flat();
    const cached = await mapCooperatively(
      foreign,
      (entry) => this.decode(entry).converted?.get(webhook)?.deref() ?? [],
    );
    const converted = anew ? [] : cached.flat();
    if (converted.length === foreign.length) return converted;
    return this.#convert(webhook, foreign, layout.servedApiVersion, caller);
  }

  /** Whether an entry is in another version than the served one; decoded only if its bytes do not show it. */
  #isForeign(entry: Entry, { servedPrefix, servedApiVersion }: Layout): boolean {
    return !entry.beginsWith(servedPrefix) && this.stored(entry).apiVersion !== servedApiVersion;
  }

  async #convert(
    webhook: WebhookConversion,
    entries: readonly Entry[],
    apiVersion: string,
    caller: Caller | undefined,
  ): Promise<readonly Unstructured[]> {
    const stored = await mapCooperatively(entries, (entry) => this.stored(entry));
    const objects = await webhook.convert(stored, apiVersion, caller);
    entries.forEach((entry, i) => {
      const decoded = this.decode(entry);
      const object = objects[i]!;
      decoded.converted = new Map(
        [...(decoded.converted ?? []), [webhook, new WeakRef(object)] as const].slice(-versionsMax),
      );
      this.#converted.add(object, entry.valueLength);
    });
    return objects;
  }

  /** Returns the decoded object of an entry, in the definition's version. It is shared and read-only. */
  object(definition: ResourceDefinition, entry: Entry): Unstructured {
    const stored = this.stored(entry);
    const layout = layoutOf(definition);
    const { conversion, custom } = definition;
    if (conversion === undefined && layout.sameBytes) return stored;
    if (conversion?.webhook !== undefined && stored.apiVersion !== layout.servedApiVersion) {
      const converted = this.decode(entry).converted?.get(conversion.webhook)?.deref();
      if (converted === undefined) throw unclassified("the object was read before it was converted");
      return converted;
    }
    if (conversion !== undefined && custom !== undefined) {
      return this.#conform(definition, conversion, custom.epoch, entry, stored);
    }
    const converted = conversion === undefined ? stored : conversion.fromHub(stored);
    return { ...converted, kind: definition.kind, apiVersion: layout.servedApiVersion };
  }

  /**
   * Returns a custom resource as it would be read after the write: a field that its strategy removed may have a
   * default.
   */
  afterDryRun(
    definition: ResourceDefinition,
    object: Unstructured,
    caller: Caller | undefined,
  ): MaybePromise<Unstructured> {
    const { conversion, custom } = definition;
    if (custom === undefined || conversion === undefined) return object;
    const { storedKind: kind, storedApiVersion: apiVersion, servedApiVersion } = layoutOf(definition);
    const { webhook } = conversion;
    if (webhook !== undefined && apiVersion !== servedApiVersion) {
      const inHub = webhook.convert([object], apiVersion, caller);
      return inHub.then((stored) => webhook.convert(stored, servedApiVersion, caller)).then(([read]) => read!); // as many as were sent
    }
    const read = conversion.fromHub({ ...conversion.toHub(object), kind, apiVersion });
    return { ...read, kind: definition.kind, apiVersion: servedApiVersion };
  }

  /**
   * Returns the values of the selectable fields other than name and namespace; cached, since lists ask for them again.
   */
  fields(definition: ResourceDefinition, entry: Entry): Readonly<Record<string, string>> {
    const by = definition.strategy.fields;
    if (by === undefined) return noFields;
    const decoded = this.decode(entry);
    if (decoded.fields?.by !== by) decoded.fields = { values: by(this.object(definition, entry)), by };
    return decoded.fields.values;
  }

  /** Returns the same for an entry that no webhook converts, and keeps nothing that had to be decoded for it. */
  peekFields(definition: ResourceDefinition, entry: Entry): Readonly<Record<string, string>> {
    const { conversion } = definition;
    const by = definition.strategy.fields;
    if (by === undefined) return noFields;
    const decoded = entry.decoded as DecodedEntry | undefined; // only this class writes it
    if (decoded?.fields?.by === by) return decoded.fields.values;
    const stored = this.peek(entry);
    const object = conversion === undefined ? stored : conversion.fromHub(stored);
    return by({ ...object, kind: definition.kind, apiVersion: layoutOf(definition).servedApiVersion });
  }

  #conform(
    definition: ResourceDefinition,
    conversion: Conversion,
    epoch: SchemaEpoch,
    entry: Entry,
    stored: Unstructured,
  ): Unstructured {
    const decoded = this.decode(entry);
    let object = stored;
    if (!conformsTo(decoded, epoch)) {
      object = conversion.fromHub(stored);
      if (object === stored) markConforming(decoded, epoch);
    }
    const { servedApiVersion } = layoutOf(definition);
    if (object.apiVersion === servedApiVersion && object.kind === definition.kind) return object;
    return { ...object, kind: definition.kind, apiVersion: servedApiVersion };
  }

  /**
   * Returns how many leading bytes of an entry hold its type and are replaced by those of the served type; -1 when the
   * rest must be encoded again. Checks every entry once per epoch.
   */
  typeLength(definition: ResourceDefinition, entry: Entry): number {
    const layout = layoutOf(definition);
    const { conversion, custom } = definition;
    if (conversion === undefined) return layout.prefix.length;
    if (custom === undefined) return -1;
    const { webhook } = conversion;
    const { epoch } = custom;
    if (webhook !== undefined && this.stored(entry).apiVersion !== layout.servedApiVersion) return -1;
    const decoded = this.decode(entry);
    if (!conformsTo(decoded, epoch)) {
      const stored = this.stored(entry);
      if (conversion.fromHub(stored) !== stored) return -1;
      markConforming(decoded, epoch);
    }
    const { servedPrefix } = layout;
    if (entry.beginsWith(servedPrefix)) return servedPrefix.length;
    const head = layout.head!; // every custom resource has one
    if (!entry.beginsWith(head)) return -1;
    const end = entry.value.indexOf(quote, head.length);
    return end < 0 ? -1 : end + 2;
  }

  /**
   * Returns the bytes that GET answers, newline included: the stored bytes themselves if the version is the stored one.
   */
  servedBytes(definition: ResourceDefinition, entry: Entry): Buffer {
    const layout = layoutOf(definition);
    this.checkShape(definition, entry);
    // A client that does not read its answer keeps it in memory.
    if (layout.sameBytes) return entry.ownValue;
    const skip = this.typeLength(definition, entry);
    if (skip < 0) return Buffer.from(`${escapeHtml(JSON.stringify(this.object(definition, entry)))}\n`);
    const { servedPrefix } = layout;
    return entry.beginsWith(servedPrefix) ? entry.ownValue : Buffer.concat([servedPrefix, entry.value.subarray(skip)]);
  }
}

function conformsTo(decoded: DecodedEntry, epoch: SchemaEpoch): boolean {
  const { epochs } = decoded;
  return epochs === epoch || (isArray(epochs) && epochs.includes(epoch));
}

function markConforming(decoded: DecodedEntry, epoch: SchemaEpoch): void {
  const { epochs } = decoded;
  const others = epochs === undefined ? [] : (isArray(epochs) ? epochs : [epochs]).filter(({ retired }) => !retired);
  decoded.epochs = others.length === 0 ? epoch : [...others, epoch];
}

const isArray = (epochs: DecodedEntry["epochs"]): epochs is readonly SchemaEpoch[] => Array.isArray(epochs);
