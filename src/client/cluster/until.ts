/** Waits for the state of one object. */
import type { ApiObject } from "#meta/object-meta.ts";
import { unlessAborted } from "#std/abort.ts";
import { millisecondsOf, type WaitTime } from "#std/go-duration.ts";
import { get, isAbsent } from "./calls.ts";
import { type CallOptions, namespaceOf, type CallTarget } from "./target.ts";
import { followKind } from "./watch.ts";

export interface UntilCallOptions extends CallOptions {
  /** The maximum time: milliseconds, or a text such as `"30s"` or `"1h30m"`. Default: no limit. */
  readonly timeout?: WaitTime | undefined;
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

/** The maximum time of the last look at the object, after the time is over. */
const lastLookMs = 10_000;

/** Waits as `KindClient.until` explains. */
export async function until<T extends ApiObject>(
  target: CallTarget,
  name: string,
  predicate: Predicate<T>,
  options: UntilCallOptions,
): Promise<T | undefined> {
  options.signal?.throwIfAborted();
  const { timeout } = options;
  const { clock, closing } = target.parts;
  const waited = waitedText(target, name, options);
  const end = new AbortController();
  const given = options.signal === undefined ? [closing] : [options.signal, closing];
  const signal = AbortSignal.any([end.signal, ...given]);
  let object: T | undefined;
  const over = (): void => end.abort(unanswered(waited, object));
  const cancel = timeout === undefined ? () => undefined : clock.after(millisecondsOf(timeout), over);
  try {
    const fields = { "metadata.name": name };
    for await (const step of followKind<T>(target, { in: namespaceOf(target, options), fields, signal })) {
      object = step.type === "LISTED" ? step.objects[0] : step.type === "DELETED" ? undefined : step.object;
      if (await unlessAborted(predicate(object), signal)) return object;
    }
  } finally {
    cancel();
  }
  for (const source of given) source.throwIfAborted();
  return lastLook(target, name, { predicate, waited }, options);
}

interface Expectation<T> {
  readonly predicate: Predicate<T>;
  /** The beginning of the message of the error. */
  readonly waited: string;
}

/** Reads the object once more, since a watch can be late. */
async function lastLook<T extends ApiObject>(
  target: CallTarget,
  name: string,
  { predicate, waited }: Expectation<T>,
  { timeout: _timeout, ...options }: UntilCallOptions,
): Promise<T | undefined> {
  const own = new AbortController();
  const signal = options.signal === undefined ? own.signal : AbortSignal.any([own.signal, options.signal]);
  let object: T | undefined;
  let problem: () => Error = () => new Error("the server does not answer");
  const cancel = target.parts.clock.after(lastLookMs, () => own.abort(problem()));
  try {
    object = await get<T>(target, name, { ...options, signal }).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      if (isAbsent(error)) return undefined;
      throw new WaitTimeoutError(`${waited}, which cannot be read now`, undefined, { cause: error });
    });
    problem = () => unanswered(waited, object);
    if (await unlessAborted(predicate(object), signal)) return object;
  } finally {
    cancel();
  }
  throw new WaitTimeoutError(object === undefined ? `${waited}, which does not exist` : waited, object);
}

function waitedText(target: CallTarget, name: string, options: UntilCallOptions): string {
  const { timeout } = options;
  const where = target.kind.namespaced ? ` in ${JSON.stringify(namespaceOf(target, options))}` : "";
  const time = typeof timeout === "number" ? `${timeout}ms` : timeout;
  return `waited ${time} for ${target.kind.kind} ${JSON.stringify(name)}${where}`;
}

/** Returns the error for a predicate whose promise is still pending. */
const unanswered = (waited: string, object: ApiObject | undefined): WaitTimeoutError =>
  new WaitTimeoutError(`${waited}, and the predicate has not answered`, object);
