/**
 * Regular expressions in RE2 syntax, in linear time, by the package `re2js`, which is loaded with the first one. It matches a
 * text by an automaton whose states it makes as texts need them. A state takes as long as the expression has parts that may
 * go on there, up to a thousand for `(a{1,100}){1,10}`: no size of an expression tells how long its first uses take, nor how
 * much memory. So the states are counted as they are made, and few are kept.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { withoutNames } from "./pattern-text.ts";

/** Counts what a test takes beside the walk over the text, in parts of states; may throw what ends the test. */
export interface StateCount {
  spend(parts: number): void;
}

/** The part of the package's automata that is used; its own types do not show it. */
interface Automaton {
  /** The budget is in bytes: those left, and those that are given when all states are dropped. */
  memBudget: number;
  stateBudget: number;
  getState(parts: readonly number[], flag: number, ids: readonly number[]): unknown;
  /** `null` where the states would take too much memory; then the text is walked without states. */
  match(input: { endPos(): number }, at: number, anchor: number): boolean | null;
}

interface Engine {
  readonly onepass: unknown;
  readonly prefixComplete: boolean;
  readonly dfa: Automaton;
  numberOfInstructions(): number;
}

/** States of one expression in memory; the package would keep 8 MB. */
const stateBytesMax = 128 * 1024;
/** A step without states is so much quicker than one that makes a state. */
const plainSteps = 16;

let package_: typeof RE2JS | undefined;

// Node reads a module of either kind this way, at once.
const load = (): typeof RE2JS => (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;

export class LinearRegExp {
  /** Searches, which use no automaton, use this. */
  readonly program: RE2JS;
  /** Whether a step never has more than one way to go on. */
  readonly isOnePass: boolean;
  #count: StateCount | undefined;
  #isCounting = false;

  /** Throws an error in Go's words. */
  constructor(text: string) {
    package_ ??= load();
    this.program = compile(package_, text);
    this.isOnePass = engineOf(this.program).onepass !== null;
  }

  /** Whether it matches anywhere in `text`. */
  test(text: string, count: StateCount): boolean {
    if (!this.#isCounting) this.#countStates(engineOf(this.program));
    this.#count = count;
    try {
      return this.program.test(text);
    } finally {
      // A pattern is kept for long, and a count knows the values of its evaluation.
      this.#count = undefined;
    }
  }

  #countStates(engine: Engine): void {
    this.#isCounting = true;
    if (this.isOnePass || engine.prefixComplete) return;
    const { dfa } = engine;
    dfa.memBudget = stateBytesMax;
    dfa.stateBudget = stateBytesMax;
    const size = engine.numberOfInstructions();
    const getState = dfa.getState.bind(dfa);
    dfa.getState = (parts, flag, ids) => {
      this.#count?.spend(parts.length);
      return getState(parts, flag, ids);
    };
    const match = dfa.match.bind(dfa);
    dfa.match = (input, at, anchor) => {
      const end = match(input, at, anchor);
      if (end === null) this.#count?.spend(((input.endPos() - at) * size) / plainSteps);
      return end;
    };
  }
}

const engineOf = ({ re2Input }: RE2JS): Engine => re2Input as unknown as Engine; // see above

/** The package says this of a name that it takes for known. Go takes a name twice, and those of members of objects. */
const knownName = "duplicate capture group name";

function compile(re2js: typeof RE2JS, text: string): RE2JS {
  try {
    return re2js.compile(text);
  } catch (error) {
    if (!(error as Error).message.includes(`: ${knownName}`)) throw error;
    return re2js.compile(withoutNames(text));
  }
}
