/**
 * The admission chain: first all mutating plugins, once more if one of them asks for it, then all validating ones, each
 * in order. Hot path: runs for every write; a chain of synchronous plugins creates no promise.
 */
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type MutationRound,
  type Operation,
  withObject,
} from "./plugin.ts";

export interface AdmissionChain {
  /** Names of the plugins, in order. */
  readonly names: readonly string[];
  /** Whether any plugin handles this operation. */
  handles(operation: Operation): boolean;
  /** The object as the plugins changed it; `undefined` where they left it as it was, or there is none (deletes). */
  admit(attributes: AdmissionAttributes): MaybePromise<Unstructured | undefined>;
  validate(attributes: AdmissionAttributes): MaybePromise<void>;
}

export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const operations = new Set(plugins.flatMap((plugin) => plugin.operations));
  const having = (method: "admit" | "validate", operation: Operation): readonly AdmissionPlugin[] =>
    plugins.filter((plugin) => plugin[method] !== undefined && plugin.operations.includes(operation));
  const byOperation = (method: "admit" | "validate"): ReadonlyMap<Operation, readonly AdmissionPlugin[]> =>
    new Map([...operations].map((operation) => [operation, having(method, operation)]));
  const admitting = byOperation("admit");
  const validating = byOperation("validate");
  return {
    names: plugins.map((plugin) => plugin.name),
    handles: (operation) => operations.has(operation),
    admit: (attributes) => admitTwice(admitting.get(attributes.operation) ?? [], attributes),
    validate: (attributes) => validateFrom(validating.get(attributes.operation) ?? [], 0, attributes),
  };
}

class Round implements MutationRound {
  readonly isSecond: boolean;
  isRepeated = false;
  #notes: Map<string, unknown> | undefined;

  constructor(before?: Round) {
    this.isSecond = before !== undefined;
    this.#notes = before?.notes;
  }

  get notes(): Map<string, unknown> {
    return (this.#notes ??= new Map());
  }

  repeat(): void {
    this.isRepeated = true;
  }
}

function admitTwice(
  plugins: readonly AdmissionPlugin[],
  attributes: AdmissionAttributes,
): MaybePromise<Unstructured | undefined> {
  if (plugins.length === 0) return undefined;
  const round = new Round();
  const changed = admitFrom(plugins, round, 0, attributes);
  return isLate(changed) || round.isRepeated
    ? andThen(changed, (object) => admitAgain(plugins, round, attributes, object))
    : changed;
}

function admitAgain(
  plugins: readonly AdmissionPlugin[],
  first: Round,
  attributes: AdmissionAttributes,
  changed: ApiObject | undefined,
): MaybePromise<Unstructured | undefined> {
  if (!first.isRepeated) return changed as Unstructured | undefined; // of whatever kind
  const next = changed === undefined ? attributes : withObject(attributes, changed);
  return admitFrom(plugins, new Round(first), 0, next, changed);
}

function admitFrom(
  plugins: readonly AdmissionPlugin[],
  round: MutationRound,
  start: number,
  attributes: AdmissionAttributes,
  changed?: ApiObject,
): MaybePromise<Unstructured | undefined> {
  let current = attributes;
  let last = changed;
  for (let i = start; i < plugins.length; i++) {
    const answer = plugins[i]!.admit!(current, round);
    if (isLate(answer)) {
      const [before, so] = [current, last];
      return unlessGivenUp(attributes, answer).then((object) =>
        object === undefined
          ? admitFrom(plugins, round, i + 1, before, so)
          : admitFrom(plugins, round, i + 1, withObject(before, object), object),
      );
    }
    if (answer === undefined) continue;
    current = withObject(current, answer);
    last = answer;
  }
  return last as Unstructured | undefined; // of whatever kind
}

function validateFrom(
  plugins: readonly AdmissionPlugin[],
  start: number,
  attributes: AdmissionAttributes,
): MaybePromise<void> {
  for (let i = start; i < plugins.length; i++) {
    const answer = plugins[i]!.validate!(attributes);
    if (isLate(answer)) return unlessGivenUp(attributes, answer).then(() => validateFrom(plugins, i + 1, attributes));
  }
}

/**
 * Waits for the answer, unless the request ends before it: a write that was answered with 504 must not happen later.
 */
async function unlessGivenUp<T>({ context }: AdmissionAttributes, answer: Promise<T>): Promise<T> {
  const result = await answer;
  context.signal?.throwIfAborted();
  return result;
}
