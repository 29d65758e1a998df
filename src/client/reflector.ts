/**
 * Keeps a caller up to date with a collection: it lists, then watches, and lists again when the history is gone or the
 * connection ends. It delivers changes and stores no objects.
 */
import { type Clock, pause } from "#std/clock.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ReceivedEvent } from "./received-event.ts";
import type { RestClient } from "./rest-client.ts";

/** `T` is the type of the collection's objects. */
export interface ReflectorOptions<T extends ApiObject = ApiObject> {
  readonly client: RestClient;
  /** The path of the collection, without query. */
  readonly path: string;
  /**
   * Only objects with this value of the field are followed: `type=Opaque`. Objects that lose the value count as
   * deleted.
   */
  readonly fieldSelector?: string;
  /** Whether only later changes matter: `replaced` gets no objects, and the objects are not read. */
  readonly changesOnly?: boolean;
  /** Whether only deletions matter: other later changes are neither delivered nor decoded. */
  readonly deletionsOnly?: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Returns the part of an object that the caller needs; the whole object by default. Applied to each page, so that the
   * whole objects are never all in memory.
   */
  trim?(object: T): T;
  /** Receives all objects, after a list. */
  replaced(objects: readonly T[]): void;
  /** Receives one later change. */
  changed(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void;
  /** Called with the reason why a round ended early; the next one starts after a pause. */
  failed?(error: unknown): void;
}

const pauseMinMs = 100;
const pauseMaxMs = 10_000;
/**
 * The duration in milliseconds from which a watch counts as useful: after a shorter one the next would probably end as
 * soon.
 */
export const usefulMs = 1000;

/** Follows the collection until `signal` is aborted. Never rejects. */
export function reflect<T extends ApiObject = ApiObject>(options: ReflectorOptions<NoInfer<T>>): Promise<void> {
  return inRounds(options, () => follow(options));
}

/** Runs `round` repeatedly, with pauses between rounds, until the signal is aborted. Never rejects. */
export async function inRounds(
  options: Pick<ReflectorOptions, "clock" | "signal" | "failed">,
  round: () => Promise<void>,
): Promise<void> {
  const { signal, clock } = options;
  let pauseMs = pauseMinMs;
  while (!signal.aborted) {
    const startMs = clock.monotonic();
    try {
      await round();
    } catch (error) {
      if (!signal.aborted) options.failed?.(error);
    }
    // Pauses grow between rounds that end soon, so that a lasting failure causes few requests.
    if (clock.monotonic() - startMs > pauseMaxMs) pauseMs = pauseMinMs;
    await pause(clock, pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, pauseMaxMs);
  }
}

/** Lists once, then watches until the history that it needs is gone. */
async function follow<T extends ApiObject>(options: ReflectorOptions<T>): Promise<void> {
  const { client, path, signal, clock, fieldSelector, trim = (object) => object, deletionsOnly = false } = options;
  const selector = fieldSelector === undefined ? "" : `&fieldSelector=${encodeURIComponent(fieldSelector)}`;
  const { objects, resourceVersion } = await readAll(options, selector, trim);
  if (signal.aborted) return;
  options.replaced(objects);
  let version = resourceVersion;
  let isCurrent = true;
  while (isCurrent && !signal.aborted) {
    const startMs = clock.monotonic();
    const watch = `?watch=true&allowWatchBookmarks=true&resourceVersion=${version}`;
    await client.watch({ method: "GET", path: path + watch + selector, signal }, (event) => {
      if (deletionsOnly && isAboutPresent(event)) return;
      if (event.type === "ERROR") {
        isCurrent = false;
        return;
      }
      const object = event.object() as T; // the caller names what the path answers
      version = object.metadata.resourceVersion ?? version;
      if (event.type !== "BOOKMARK") options.changed(event.type, trim(object));
    });
    if (clock.monotonic() - startMs < usefulMs) return;
  }
}

/** Whether an event is about an object that exists. */
const isAboutPresent = ({ type }: ReceivedEvent): boolean => type === "ADDED" || type === "MODIFIED";

const pageLength = 500;

/** Reads the collection page by page, so that only one page of whole objects is in memory. */
async function readAll<T extends ApiObject>(
  { client, path, changesOnly = false, signal }: ReflectorOptions<T>,
  selector: string,
  trim: (object: T) => T,
): Promise<{ readonly objects: readonly T[]; readonly resourceVersion: string }> {
  const first = await client.list<T>(`${path}?limit=${changesOnly ? 1 : pageLength}${selector}`);
  const { resourceVersion } = first.metadata;
  if (changesOnly) return { objects: [], resourceVersion };
  const objects = first.items.map(trim);
  let token = first.metadata.continue ?? "";
  while (token !== "" && !signal.aborted) {
    const next = `&continue=${encodeURIComponent(token)}`;
    const { items, metadata } = await client.list<T>(`${path}?limit=${pageLength}${selector}${next}`);
    for (const object of items) objects.push(trim(object));
    token = metadata.continue ?? "";
  }
  return { objects, resourceVersion };
}
