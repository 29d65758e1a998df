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
import type { PlaneCredentials } from "../credentials.ts";
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

/** Returns the values of a plane with these credentials. */
export const templateValues = ({ frontProxy }: Pick<PlaneCredentials, "frontProxy">): TemplateValues => ({
  frontProxyAuthority: frontProxy.ca.certificate,
});

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

/** The place of such a text in a value of JSON: the member of an object or a list, and the index of the text, or more places. */
interface Hole {
  readonly member: string | number;
  readonly content: number | readonly Hole[];
}

/** An object of which each plane gets a copy. */
interface TemplateObject {
  readonly key: string;
  readonly object: Unstructured;
  readonly holes: readonly Hole[];
  readonly texts: readonly OwnText[];
  /** The encoded object with the offset of each text; `undefined` when the length of one differs from plane to plane. */
  readonly encoded: (Unversioned & { readonly offsets: readonly number[] }) | undefined;
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

function copyOf({ object, holes, texts, encoded }: TemplateObject, own: OwnTexts): Encoded {
  const values = texts.map((text) => text.of(own));
  const copy = filled(object, holes, values) as Unstructured; // the same members
  if (encoded === undefined) return encodedObject(copy);
  const { offsets, revisionOffset } = encoded;
  const bytes = Buffer.from(encoded.bytes);
  for (let at = 0; at < values.length; at++) bytes.write(values[at]!, offsets[at]!, "latin1"); // each has an offset
  return encodedBytes({ bytes, revisionOffset }, copy);
}

/** Returns a copy of a value with texts in its holes. It shares all else. */
function filled(value: unknown, holes: readonly Hole[], texts: readonly string[]): unknown {
  // A value with holes is a list or an object.
  const copy = (Array.isArray(value) ? value.slice() : { ...(value as object) }) as Record<string | number, unknown>;
  for (const { member, content } of holes)
    copy[member] = typeof content === "number" ? texts[content] : filled(copy[member], content, texts);
  return copy;
}

/** Makes a template of an object. `names` has the keys of all objects by their identities. */
function templateOf(
  { key, object }: Pick<TemplateObject, "key" | "object">,
  names: ReadonlyMap<string, string>,
  { frontProxyAuthority }: TemplateValues,
): TemplateObject {
  const texts: OwnText[] = [];
  const keep = (of: OwnText["of"], length: number | undefined): number => {
    const index = texts.length;
    texts.push({ mark: length === undefined ? undefined : String(index).padStart(length, "~"), of });
    return index;
  };
  const holes = holesIn(object, "", (text, name) => {
    if (name === "uid") {
      const digest = digestOf(names.get(text) ?? text);
      return keep((own) => identityOf(own.digest, digest), text.length);
    }
    if (text === frontProxyAuthority) return keep((own) => own.frontProxyAuthority, undefined);
    return timePattern.test(text) ? keep(({ now }) => now, text.length) : undefined;
  });
  const marks = texts.map(({ mark }) => mark ?? "");
  const { bytes, revisionOffset } = encodedObject(filled(object, holes, marks) as Unstructured);
  const offsets = texts.map(({ mark }) => (mark === undefined ? -1 : bytes.indexOf(mark)));
  const isFixed = offsets.every((offset) => offset >= 0);
  return { key, object, holes, texts, encoded: isFixed ? { bytes, revisionOffset, offsets } : undefined };
}

/** Returns the places of own texts in a value of JSON, which is a member of this name. `ownText` returns the index of a text. */
function holesIn(value: unknown, name: string, ownText: (text: string, name: string) => number | undefined): Hole[] {
  const holes: Hole[] = [];
  if (typeof value !== "object" || value === null) return holes;
  const isList = Array.isArray(value);
  for (const [key, content] of Object.entries(value)) {
    const member = isList ? Number(key) : key;
    // The members of a list have the name of the list.
    const memberName = isList ? name : key;
    if (typeof content === "string") {
      const text = ownText(content, memberName);
      if (text !== undefined) holes.push({ member, content: text });
      continue;
    }
    const inner = holesIn(content, memberName, ownText);
    if (inner.length > 0) holes.push({ member, content: inner });
  }
  return holes;
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Returns an identity that the plane and the name of the object decide: a UUID of version 8 (RFC 9562). */
function identityOf(plane: Buffer, name: Buffer): string {
  const text = Buffer.allocUnsafe(36);
  let end = 0;
  for (let at = 0; at < 16; at++) {
    let byte = plane[at]! ^ name[at]!; // digests are longer
    if (at === 6) byte = (byte & 0x0f) | 0x80;
    if (at === 8) byte = (byte & 0x3f) | 0x80;
    if (at >= 4 && at <= 10 && at % 2 === 0) text[end++] = hyphen;
    text[end++] = digits[byte >> 4]!;
    text[end++] = digits[byte & 0x0f]!; // there are sixteen
  }
  // One piece of memory, which a text that is put together does not have.
  return text.toString("latin1");
}

const digits = Buffer.from("0123456789abcdef");
const hyphen = 0x2d;
