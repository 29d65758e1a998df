/**
 * The objects with which every plane begins: namespaces, roles, flow schemas, API services, and all else that controllers
 * make at their start. They are those of a plane that no client has reached; each new plane gets copies at once, with
 * identities and times of its own. So an empty plane has nothing to do for its controllers, which begin with its first write.
 *
 * The copies are made for each plane, so they are cheap: bytes with texts at known offsets, and objects that share all but
 * the parts around these texts.
 */
import { createHash } from "node:crypto";
import type { Unstructured } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import { encodedBytes, encodedObject, parseObject } from "#registry/stored-object.ts";
import type { Clock } from "#std/clock.ts";
import type { Unversioned } from "#storage/log-store.ts";
import type { CacheRanges, CacheWriter, Encoded } from "#storage/watch-cache.ts";

/** The beginning of all keys. */
export const allPrefix = "/registry/";
/** The beginning of keys that are no objects of the API. */
const settingsPrefix = "/registry/binnacle/";

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
/** Leases name their holders. */
const leasePattern = /\/leases\//;

/** Whether a key is no object of the API. */
export const isSetting = (key: string): boolean => key.startsWith(settingsPrefix);

/** Whether a store has no objects. */
export const isEmpty = (cache: CacheRanges): boolean => cache.count(allPrefix) === cache.count(settingsPrefix);

/** The values of a plane that its copies do not share. */
interface PlaneValues {
  /** The identity of the plane, of which those of its objects are made: two servers that write them write the same ones. */
  readonly uid: string;
  /** The certificate of the authority by which aggregated servers know the plane, as PEM. */
  readonly frontProxyAuthority: string;
}

type TemplateValues = Pick<PlaneValues, "frontProxyAuthority">;

/** The texts that the objects of one plane have of their own. */
interface OwnTexts extends TemplateValues {
  readonly now: string;
  /** A digest of the identity of the plane. */
  readonly digest: Buffer;
}

/** A text that each plane has of its own. */
interface OwnText {
  /** A text of the same length that no other has in the same object; `undefined` when the length differs from plane to plane. */
  readonly mark: string | undefined;
  of(own: OwnTexts): string;
}

/** The places of such texts in a value of JSON, by the names of members, or the indexes of a list. */
type Holes = ReadonlyMap<string, Holes | OwnText>;

/** An object of which each plane gets a copy. */
interface TemplateObject {
  readonly key: string;
  readonly object: Unstructured;
  readonly holes: Holes;
  /** The encoded object with the places of own texts; `undefined` when the length of one differs from plane to plane. */
  readonly encoded:
    | (Unversioned & { readonly texts: readonly { readonly offset: number; readonly text: OwnText }[] })
    | undefined;
}

export class PlaneTemplate {
  readonly #objects: readonly TemplateObject[];

  private constructor(objects: readonly TemplateObject[]) {
    this.#objects = objects;
  }

  /** Makes a template of the objects of the plane that has this front proxy authority. */
  static of(cache: CacheRanges, values: TemplateValues): PlaneTemplate {
    const { entries } = cache.range(allPrefix);
    const objects = entries
      .filter(({ key }) => !isSetting(key) && !leasePattern.test(key))
      .map(({ key, value }) => ({ key, object: unversioned(parseObject(value.toString())) }));
    const names = new Map(objects.map(({ key, object }) => [object.metadata.uid ?? "", key]));
    return new PlaneTemplate(objects.map((object) => templateOf(object, names, values)));
  }

  /** Writes the objects into an empty store. What is the same in all planes is shared with their decoded objects. */
  async write(
    cache: CacheWriter,
    { clock, uid, frontProxyAuthority }: PlaneValues & { readonly clock: Clock },
  ): Promise<void> {
    const own: OwnTexts = { frontProxyAuthority, now: timestampOf(clock.now()), digest: digestOf(uid) };
    await Promise.all(this.#objects.map((template) => cache.put(template.key, 0, copyOf(template, own))));
  }
}

const unversioned = (object: Unstructured): Unstructured => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: "" },
});

function copyOf({ object, holes, encoded }: TemplateObject, own: OwnTexts): Encoded {
  const copy = filled(object, holes, (text) => text.of(own)) as Unstructured; // the same members
  if (encoded === undefined) return encodedObject(copy);
  const { texts, revisionOffset } = encoded;
  const bytes = Buffer.from(encoded.bytes);
  for (const { offset, text } of texts) bytes.write(text.of(own), offset, "latin1");
  return encodedBytes({ bytes, revisionOffset }, copy);
}

/** Returns a copy of a value with texts in its holes. It shares all else. */
function filled(value: unknown, holes: Holes, textOf: (text: OwnText) => string): unknown {
  // A value with holes is a list or an object.
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  for (const [name, hole] of holes)
    copy[name] = hole instanceof Map ? filled(copy[name], hole, textOf) : textOf(hole as OwnText); // it is one of the two
  return copy;
}

/** Makes a template of an object. `names` has the keys of all objects by their identities. */
function templateOf(
  { key, object }: Pick<TemplateObject, "key" | "object">,
  names: ReadonlyMap<string, string>,
  { frontProxyAuthority }: TemplateValues,
): TemplateObject {
  const texts: OwnText[] = [];
  const keep = (of: OwnText["of"], length: number | undefined): OwnText => {
    const text = { mark: length === undefined ? undefined : String(texts.length).padStart(length, "~"), of };
    texts.push(text);
    return text;
  };
  const holes = holesIn(object, "", (text, name) => {
    if (name === "uid") {
      const digest = digestOf(names.get(text) ?? text);
      return keep((own) => identityOf(own.digest, digest), text.length);
    }
    if (text === frontProxyAuthority) return keep((own) => own.frontProxyAuthority, undefined);
    return timePattern.test(text) ? keep(({ now }) => now, text.length) : undefined;
  });
  const { bytes, revisionOffset } = encodedObject(filled(object, holes, ({ mark }) => mark ?? "") as Unstructured);
  const located = texts.map((text) => ({ text, offset: text.mark === undefined ? -1 : bytes.indexOf(text.mark) }));
  const isFixed = located.every(({ offset }) => offset >= 0);
  return { key, object, holes, encoded: isFixed ? { bytes, revisionOffset, texts: located } : undefined };
}

/** Returns the places of own texts in a value of JSON, which is a member of this name. */
function holesIn(
  value: unknown,
  name: string,
  ownText: (text: string, name: string) => OwnText | undefined,
): Map<string, Holes | OwnText> {
  const holes = new Map<string, Holes | OwnText>();
  if (typeof value !== "object" || value === null) return holes;
  for (const [key, member] of Object.entries(value)) {
    // The members of a list have the name of the list.
    const memberName = Array.isArray(value) ? name : key;
    if (typeof member === "string") {
      const text = ownText(member, memberName);
      if (text !== undefined) holes.set(key, text);
      continue;
    }
    const inner = holesIn(member, memberName, ownText);
    if (inner.size > 0) holes.set(key, inner);
  }
  return holes;
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Returns an identity that the plane and the name of the object decide: a UUID of version 8 (RFC 9562). */
function identityOf(plane: Buffer, name: Buffer): string {
  const bytes = Buffer.allocUnsafe(16);
  for (let at = 0; at < 16; at++) bytes[at] = plane[at]! ^ name[at]!; // digests are longer
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  const text = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  // One piece of memory in place of the nine of which the text was made.
  return Buffer.from(text, "latin1").toString("latin1");
}
