/**
 * The admission chain: first all mutating plugins, once more if one of them asks for it, then all validating ones, each
 * in order. Hot path: runs for every write; a chain of synchronous plugins creates no promise.
 */
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { RunProgress, type StepObserver, type StepType } from "./chain-progress.ts";
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

/** Makes the observer of a step, from the names of its plugins. */
export type ObserveStep = (type: StepType, operation: Operation, plugins: readonly string[]) => StepObserver;

/** The plugins of one operation that change objects, or that only check them. */
interface Step {
  readonly plugins: readonly AdmissionPlugin[];
  readonly observer: StepObserver | undefined;
}

export function admissionChain(plugins: readonly AdmissionPlugin[], observe?: ObserveStep): AdmissionChain {
  const operations = new Set(plugins.flatMap((plugin) => plugin.operations));
  const stepOf = (type: StepType, operation: Operation): Step => {
    const having = plugins.filter((plugin) => plugin[type] !== undefined && plugin.operations.includes(operation));
    const names = having.map(({ name }) => name);
    return { plugins: having, observer: having.length === 0 ? undefined : observe?.(type, operation, names) };
  };
  const byOperation = (type: StepType): ReadonlyMap<Operation, Step> =>
    new Map([...operations].map((operation) => [operation, stepOf(type, operation)]));
  const admitting = byOperation("admit");
  const validating = byOperation("validate");
  return {
    names: plugins.map((plugin) => plugin.name),
    handles: (operation) => operations.has(operation),
    admit: (attributes) => runStep(admitting.get(attributes.operation), attributes, admitTwice),
    validate: (attributes) => runStep(validating.get(attributes.operation), attributes, validateAll),
  };
}

type RunPlugins<T> = (
  plugins: readonly AdmissionPlugin[],
  attributes: AdmissionAttributes,
  progress: RunProgress | undefined,
) => MaybePromise<T>;

function runStep<T>(
  step: Step | undefined,
  attributes: AdmissionAttributes,
  run: RunPlugins<T | undefined>,
): MaybePromise<T | undefined> {
  if (step === undefined || step.plugins.length === 0) return undefined;
  const { plugins, observer } = step;
  if (observer === undefined) return run(plugins, attributes, undefined);
  const progress = new RunProgress(observer);
  let answer: MaybePromise<T | undefined>;
  try {
    answer = run(plugins, attributes, progress);
  } catch (error) {
    progress.refused();
    throw error;
  }
  if (isLate(answer)) return whenLate(answer, progress, plugins.length);
  progress.finished(plugins.length);
  return answer;
}

async function whenLate<T>(late: Promise<T>, progress: RunProgress, count: number): Promise<T> {
  let answer: T;
  try {
    answer = await late;
  } catch (error) {
    progress.refused();
    throw error;
  }
  progress.finished(count);
  return answer;
}

class Round implements MutationRound {
  readonly isSecond: boolean;
  readonly progress: RunProgress | undefined;
  isRepeated = false;
  #notes: Map<string, unknown> | undefined;

  constructor(progress: RunProgress | undefined, before?: Round) {
    this.progress = progress;
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

const admitTwice: RunPlugins<Unstructured | undefined> = (plugins, attributes, progress) => {
  const round = new Round(progress);
  const changed = admitFrom(plugins, round, 0, attributes);
  return isLate(changed) || round.isRepeated
    ? andThen(changed, (object) => admitAgain(plugins, round, attributes, object))
    : changed;
};

function admitAgain(
  plugins: readonly AdmissionPlugin[],
  first: Round,
  attributes: AdmissionAttributes,
  changed: ApiObject | undefined,
): MaybePromise<Unstructured | undefined> {
  if (!first.isRepeated) return changed as Unstructured | undefined; // of whatever kind
  const next = changed === undefined ? attributes : withObject(attributes, changed);
  first.progress?.again(plugins.length);
  return admitFrom(plugins, new Round(first.progress, first), 0, next, changed);
}

function admitFrom(
  plugins: readonly AdmissionPlugin[],
  round: Round,
  start: number,
  attributes: AdmissionAttributes,
  changed?: ApiObject,
): MaybePromise<Unstructured | undefined> {
  const { progress } = round;
  let current = attributes;
  let last = changed;
  for (let i = start; i < plugins.length; i++) {
    if (progress !== undefined) progress.at = i;
    const answer = plugins[i]!.admit!(current, round);
    if (isLate(answer)) {
      const [before, so] = [current, last];
      progress?.waits();
      return unlessGivenUp(attributes, answer).then((object) => {
        progress?.ended(false);
        return object === undefined
          ? admitFrom(plugins, round, i + 1, before, so)
          : admitFrom(plugins, round, i + 1, withObject(before, object), object);
      });
    }
    progress?.passed();
    if (answer === undefined) continue;
    current = withObject(current, answer);
    last = answer;
  }
  return last as Unstructured | undefined; // of whatever kind
}

const validateAll: RunPlugins<void> = (plugins, attributes, progress) => validateFrom(plugins, 0, attributes, progress);

function validateFrom(
  plugins: readonly AdmissionPlugin[],
  start: number,
  attributes: AdmissionAttributes,
  progress: RunProgress | undefined,
): MaybePromise<void> {
  for (let i = start; i < plugins.length; i++) {
    if (progress !== undefined) progress.at = i;
    const answer = plugins[i]!.validate!(attributes);
    if (isLate(answer)) {
      progress?.waits();
      return unlessGivenUp(attributes, answer).then(() => {
        progress?.ended(false);
        return validateFrom(plugins, i + 1, attributes, progress);
      });
    }
    progress?.passed();
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
