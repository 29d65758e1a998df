/**
 * Keeps a caller current with a collection: lists, then watches; lists again when history is lost or the connection
 * ends. It delivers changes and stores no objects.
 */
import type { Clock } from "#std/clock.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { RestClient } from "./rest-client.ts";

/** `T` is the type of the collection's objects. */
export interface ReflectorOptions<T extends ApiObject = ApiObject> {
  readonly client: RestClient;
  /** Path of the collection, without query. */
  readonly path: string;
  /** Only objects whose fields are these: `type=Opaque`. Those that stop being so count as deleted. */
  readonly fieldSelector?: string;
  /** Only later changes matter: `replaced` gets no objects, and none are read for it. */
  readonly changesOnly?: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Everything there is, after a list. */
  replaced(objects: readonly T[]): void;
  /** One later change. */
  changed(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void;
  /** Why a round ended early; the next one starts after a pause. */
  failed?(error: unknown): void;
}

const pauseMinMs = 100;
const pauseMaxMs = 10_000;
/** A watch that ends sooner was no use: the next one would end as soon. */
export const usefulMs = 1000;

/** Runs until `signal` is aborted. Never rejects. */
export function reflect<T extends ApiObject = ApiObject>(options: ReflectorOptions<NoInfer<T>>): Promise<void> {
  return inRounds(options, () => follow(options));
}

/** Does `round` over and over, with pauses between. Runs until the signal is aborted. Never rejects. */
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
    // Whatever is wrong for long is not asked about without end: rounds that end soon are further and further apart.
    if (clock.monotonic() - startMs > pauseMaxMs) pauseMs = pauseMinMs;
    await pause(clock, pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, pauseMaxMs);
  }
}

/** Lists once, then watches as long as the history holds. */
async function follow<T extends ApiObject>(options: ReflectorOptions<T>): Promise<void> {
  const { client, path, signal, clock, fieldSelector, changesOnly = false } = options;
  const selector = fieldSelector === undefined ? "" : `fieldSelector=${encodeURIComponent(fieldSelector)}`;
  const query = [selector, changesOnly ? "limit=1" : ""].filter((part) => part !== "").join("&");
  const list = await client.list<T>(query === "" ? path : `${path}?${query}`);
  options.replaced(changesOnly ? [] : list.items);
  let version = list.metadata.resourceVersion;
  let isCurrent = true;
  while (isCurrent && !signal.aborted) {
    const startMs = clock.monotonic();
    const watch = `?watch=true&allowWatchBookmarks=true&resourceVersion=${version}`;
    await client.watch<T>(path + watch + (selector === "" ? "" : `&${selector}`), signal, (event) => {
      if (event.type === "ERROR") {
        isCurrent = false;
        return;
      }
      version = event.object.metadata.resourceVersion ?? version;
      if (event.type !== "BOOKMARK") options.changed(event.type, event.object);
    });
    if (clock.monotonic() - startMs < usefulMs) return;
  }
}

/** Resolves after `ms`, or at once when aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    });
    const aborted = (): void => {
      cancel();
      resolve();
    };
    signal.addEventListener("abort", aborted, { once: true });
  });
}
