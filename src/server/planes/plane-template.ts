/**
 * The objects with which every plane begins: namespaces, roles, flow schemas, API services, and all else that controllers
 * make at their start. They are those of a plane that no client has reached; each new plane gets copies at once, with
 * identities and times of its own. So an empty plane has nothing to do for its controllers, which begin with its first write.
 */
import { timestampOf } from "#meta/time.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import { toUnversioned } from "#storage/versioned-value.ts";
import type { CacheRanges, CacheWriter } from "#storage/watch-cache.ts";

/** The beginning of all keys, and of those that are no objects of the API. */
const [allPrefix, settingsPrefix] = ["/registry/", "/registry/binnacle/"];

const beforeRevision = '"resourceVersion":"';
const identity = '(?<="uid":")[0-9a-f-]{36}(?=")';
const time = String.raw`(?<=")\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?=")`;
/** Leases name their holders. */
const leasePattern = /\/leases\//;

/** Whether a store has no objects. */
export const isEmpty = (cache: CacheRanges): boolean => cache.count(allPrefix) === cache.count(settingsPrefix);

/** The values of a plane that its copies do not share. */
interface PlaneValues {
  /** The certificate of the authority by which aggregated servers know the plane, as PEM. */
  readonly frontProxyAuthority: string;
}

/** The value that stands in a copy for one of the template. */
type ValueKind = "identity" | "time" | "authority";

interface TemplateValue {
  readonly kind: ValueKind;
  /** The value in the template. */
  readonly text: string;
}

/** An object, divided at the values that each plane has of its own. */
interface TemplateObject {
  readonly key: string;
  /** The texts before, between and after the values. */
  readonly texts: readonly string[];
  readonly values: readonly TemplateValue[];
}

export class PlaneTemplate {
  readonly #objects: readonly TemplateObject[];

  private constructor(objects: readonly TemplateObject[]) {
    this.#objects = objects;
  }

  /** Makes a template of the objects of a plane. */
  static of(cache: CacheRanges, { frontProxyAuthority }: PlaneValues): PlaneTemplate {
    const authority = inJson(frontProxyAuthority);
    const pattern = new RegExp([identity, time, RegExp.escape(authority)].join("|"), "g");
    const objects: TemplateObject[] = [];
    for (const { key, value, revision } of cache.range(allPrefix).entries) {
      if (key.startsWith(settingsPrefix) || leasePattern.test(key)) continue;
      const text = value.toString().replace(`${beforeRevision}${revision}"`, `${beforeRevision}"`);
      if (!text.startsWith("{") || !text.includes(`${beforeRevision}"`))
        throw new Error(`${key} is not stored as JSON`);
      const values = text.match(pattern) ?? [];
      const kindOf = (found: string): ValueKind =>
        found === authority ? "authority" : found.endsWith("Z") ? "time" : "identity";
      objects.push({
        key,
        texts: text.split(pattern),
        values: values.map((found) => ({ kind: kindOf(found), text: found })),
      });
    }
    return new PlaneTemplate(objects);
  }

  /** Writes the objects into an empty store. */
  async write(
    cache: CacheWriter,
    { clock, random, frontProxyAuthority }: PlaneValues & { readonly clock: Clock; readonly random: Random },
  ): Promise<void> {
    const now = timestampOf(clock.now());
    const authority = inJson(frontProxyAuthority);
    const identities = new Map<string, string>();
    const own = ({ kind, text }: TemplateValue): string => {
      if (kind !== "identity") return kind === "time" ? now : authority;
      const known = identities.get(text) ?? random.uuid();
      identities.set(text, known);
      return known;
    };
    const writes = this.#objects.map(({ key, texts, values }) => {
      const text = texts.reduce((begun, next, at) => `${begun}${own(values[at - 1]!)}${next}`);
      return cache.put(key, 0, { ...toUnversioned(text, beforeRevision), decode: () => undefined });
    });
    await Promise.all(writes);
  }
}

/** Returns a text as it is between the quotes of JSON. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
