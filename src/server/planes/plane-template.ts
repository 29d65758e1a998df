/**
 * The objects with which every plane begins: namespaces, roles, flow schemas, API services, and all else that controllers
 * make at their start. They are those of a plane that no client has reached; each new plane gets copies at once, with
 * identities and times of its own. So an empty plane has nothing to do for its controllers, which begin with its first write.
 */
import { createHash } from "node:crypto";
import type { Unstructured } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import { encodedObject, parseObject } from "#registry/stored-object.ts";
import type { Clock } from "#std/clock.ts";
import type { CacheRanges, CacheWriter } from "#storage/watch-cache.ts";

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

interface TemplateObject {
  readonly key: string;
  readonly object: Unstructured;
}

export class PlaneTemplate {
  readonly #objects: readonly TemplateObject[];
  readonly #values: TemplateValues;
  /** The keys of the objects by identity. */
  readonly #keys: ReadonlyMap<string, string>;
  /** The parts of objects without texts that a plane has of its own. */
  readonly #common = new WeakSet<object>();

  private constructor(objects: readonly TemplateObject[], values: TemplateValues) {
    this.#objects = objects;
    this.#values = values;
    this.#keys = new Map(objects.map(({ key, object }) => [object.metadata.uid ?? "", key]));
    for (const { object } of objects) this.#withTexts(object, (text, name) => (this.#isOwn(text, name) ? "" : text));
  }

  /** Makes a template of the objects of the plane that has this front proxy authority. */
  static of(cache: CacheRanges, values: TemplateValues): PlaneTemplate {
    const { entries } = cache.range(allPrefix);
    const objects = entries
      .filter(({ key }) => !isSetting(key) && !leasePattern.test(key))
      .map(({ key, value }) => ({ key, object: parseObject(value.toString()) }));
    return new PlaneTemplate(objects, values);
  }

  /** Writes the objects into an empty store. What is the same in all planes is shared with their decoded objects. */
  async write(
    cache: CacheWriter,
    { clock, uid, frontProxyAuthority }: PlaneValues & { readonly clock: Clock },
  ): Promise<void> {
    const now = timestampOf(clock.now());
    const own = (text: string, name: string): string => {
      if (!this.#isOwn(text, name)) return text;
      if (name === "uid") return derivedIdentity(uid, this.#keys.get(text) ?? text);
      return text === this.#values.frontProxyAuthority ? frontProxyAuthority : now;
    };
    const writes = this.#objects.map(({ key, object }) => {
      const copy = this.#withTexts(object, own) as Unstructured; // the same members
      // A copy shares no metadata, since the texts there differ.
      return cache.put(key, 0, encodedObject({ ...copy, metadata: { ...copy.metadata, resourceVersion: "" } }));
    });
    await Promise.all(writes);
  }

  #isOwn(text: string, name: string): boolean {
    return name === "uid" || text === this.#values.frontProxyAuthority || timePattern.test(text);
  }

  /** Returns a value of JSON with other texts, by the names of their members. Parts that stay as they are are shared. */
  #withTexts(value: unknown, other: (text: string, name: string) => string, name = ""): unknown {
    if (typeof value === "string") return other(value, name);
    if (typeof value !== "object" || value === null || this.#common.has(value)) return value;
    const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : {};
    let isSame = true;
    for (const [key, member] of Object.entries(value)) {
      const next = this.#withTexts(member, other, key);
      isSame &&= next === member;
      (copy as Record<string, unknown>)[key] = next; // the index of a list is such a key
    }
    if (isSame) this.#common.add(value);
    return isSame ? value : copy;
  }
}

/** Returns an identity that the plane and the name in it decide: a UUID of version 8 (RFC 9562). */
function derivedIdentity(plane: string, name: string): string {
  const hex = createHash("sha256").update(`${plane}\n${name}`).digest("hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
