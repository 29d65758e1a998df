/** Waits for the state of one object. */
import type { ApiObject } from "#meta/object-meta.ts";
import { parseDuration } from "#std/go-duration.ts";
import { get, isAbsent } from "./calls.ts";
import { type CallOptions, namespaceOf, type CallTarget } from "./target.ts";
import { followKind } from "./watch.ts";

export interface UntilCallOptions extends CallOptions {
  /** The maximum time: milliseconds, or a text such as `"30s"` or `"1h30m"`. Default: no limit. */
  readonly timeout?: number | string | undefined;
}

/** Whether an object is as the caller waits for; it is `undefined` while there is none. */
export type Predicate<T> = (object: T | undefined) => boolean | Promise<boolean>;

/** The time for which somebody has waited is over. `object` is the last state; `undefined` means that there is none. */
export class WaitTimeoutError extends Error {
  readonly object: ApiObject | undefined;

  constructor(message: string, object: ApiObject | undefined, options?: ErrorOptions) {
    super(message, options);
    this.name = "WaitTimeoutError";
    this.object = object;
  }
}

/** The maximum time of the read that decides when the time is over. */
const lastReadMs = 10_000;

/** Waits as `KindClient.until` explains. */
export async function until<T extends ApiObject>(
  target: CallTarget,
  name: string,
  predicate: Predicate<T>,
  options: UntilCallOptions,
): Promise<T | undefined> {
  options.signal?.throwIfAborted();
  const { timeout, signal = new AbortController().signal } = options;
  const namespace = namespaceOf(target, options);
  const { clock } = target.parts;
  const timeoutMs = timeout === undefined ? undefined : milliseconds(timeout);
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  signal.addEventListener("abort", abort, { once: true });
  const cancel = timeoutMs === undefined ? () => undefined : clock.after(timeoutMs, abort);
  try {
    const fields = { "metadata.name": name };
    for await (const step of followKind<T>(target, { in: namespace, fields, signal: stop.signal })) {
      const object = step.type === "LISTED" ? step.objects[0] : step.type === "DELETED" ? undefined : step.object;
      if (await predicate(object)) return object;
    }
  } finally {
    cancel();
    signal.removeEventListener("abort", abort);
  }
  signal.throwIfAborted();
  target.parts.closing.throwIfAborted();
  return lastChance(target, name, predicate, options);
}

/** Reads the object once more, since a watch can be late. */
async function lastChance<T extends ApiObject>(
  target: CallTarget,
  name: string,
  predicate: Predicate<T>,
  { timeout, ...options }: UntilCallOptions,
): Promise<T | undefined> {
  const what = `${target.kind.kind} ${JSON.stringify(name)}`;
  const where = target.kind.namespaced ? ` in ${JSON.stringify(namespaceOf(target, options))}` : "";
  const waited = `waited ${typeof timeout === "number" ? `${timeout}ms` : timeout} for ${what}${where}`;
  const own = new AbortController();
  const cancel = target.parts.clock.after(lastReadMs, () => own.abort(new Error("the server does not answer")));
  let object: T | undefined;
  try {
    const signal = options.signal === undefined ? own.signal : AbortSignal.any([own.signal, options.signal]);
    object = await get<T>(target, name, { ...options, signal });
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isAbsent(error))
      throw new WaitTimeoutError(`${waited}, which cannot be read now`, undefined, { cause: error });
  } finally {
    cancel();
  }
  if (await predicate(object)) return object;
  throw new WaitTimeoutError(object === undefined ? `${waited}, which does not exist` : waited, object);
}

function milliseconds(timeout: number | string): number {
  if (typeof timeout === "number") return timeout;
  const nanos = parseDuration(timeout);
  if (typeof nanos === "string") throw new TypeError(nanos);
  return Number(nanos / 1_000_000n);
}
