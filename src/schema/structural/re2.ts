/**
 * Matches regular expressions in RE2 syntax in linear time, by the package `re2js`, which is loaded with the first one.
 * It matches a text by an automaton, whose states it makes when texts need them. Making a state takes time in
 * proportion to the parts of the expression that may continue there, up to a thousand for `(a{1,100}){1,10}`: the size
 * of an expression does not show how much time or memory its first uses take. So states are counted when they are made,
 * and few stay in memory.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { withoutNames } from "./pattern-text.ts";

/**
 * Counts the work of a test beside the walk over the text, in parts of states. It may throw an error to end the test.
 */
export interface StateCount {
  spend(parts: number): void;
}

/** The used part of the package's automata, which the package's types do not declare. */
interface Automaton {
  /** The number of bytes that are left for states; `stateBudget` is the number after all states are dropped. */
  memBudget: number;
  stateBudget: number;
  getState(parts: readonly number[], flag: number, ids: readonly number[]): unknown;
  /** Returns `null` if the states would take too much memory; the package then walks the text without states. */
  match(input: { endPos(): number }, at: number, anchor: number): boolean | null;
}

interface Engine {
  readonly onepass: unknown;
  readonly prefixComplete: boolean;
  readonly dfa: Automaton;
  numberOfInstructions(): number;
}

/** The maximum number of bytes for the states of one expression; the package's default is 8 MB. */
const stateBytesMax = 128 * 1024;
/** The number of steps without states that take as long as one step that makes a state. */
const plainSteps = 16;

let package_: typeof RE2JS | undefined;

// Node loads CommonJS and ES modules in this way synchronously.
const load = (): typeof RE2JS => (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;

/** A regular expression, compiled by the package. */
export class LinearRegExp {
  /** The program of the package, for searches, which use no automaton. */
  readonly program: RE2JS;
  /** Whether each step has at most one way to continue. */
  readonly isOnePass: boolean;
  #count: StateCount | undefined;
  #isCounting = false;

  /** Compiles an expression. Throws an error in Go's words. */
  constructor(text: string) {
    package_ ??= load();
    this.program = compile(package_, text);
    this.isOnePass = engineOf(this.program).onepass !== null;
  }

  /** Returns whether it matches anywhere in `text`. */
  test(text: string, count: StateCount): boolean {
    if (!this.#isCounting) this.#countStates(engineOf(this.program));
    this.#count = count;
    try {
      return this.program.test(text);
    } finally {
      // A pattern lives long, and a count refers to the values of its evaluation.
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

const engineOf = ({ re2Input }: RE2JS): Engine => re2Input as unknown as Engine; // `Automaton` says why

/**
 * The package's error for a name of a group that it takes for a duplicate: it refuses repeated names and names of
 * members of JavaScript objects. Go accepts both.
 */
const knownName = "duplicate capture group name";

function compile(re2js: typeof RE2JS, text: string): RE2JS {
  try {
    return re2js.compile(text);
  } catch (error) {
    if (!(error as Error).message.includes(`: ${knownName}`)) throw error;
    return re2js.compile(withoutNames(text));
  }
}
