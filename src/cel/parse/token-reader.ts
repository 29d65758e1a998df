/**
 * Reads tokens for the grammar and recovers from syntax errors: it removes or inserts one token, or skips to a token
 * that can follow a rule in progress. Clients see the texts and the number of errors, so the recovery is that of
 * ANTLR's default strategy, within cel-go's limits.
 */
import type { Issue } from "../ast.ts";
import { shownMax } from "../issues.ts";
import type { Tokens } from "./lexer.ts";
import { endOfRule, type Kind, type Kinds, kinds, setOf, showKinds } from "./tokens.ts";

/** The maximum number of recoveries in a parse, and of tokens that one recovery may skip. */
const recoveriesMax = 30;
const skippedMax = 256;

/** A rule cannot go on. The rule's own function catches it (`recover`). */
class Mismatch extends Error {}

/** The parse ends at once; its issue is reported. */
export class GivenUp extends Error {}

/** A point in a rule: the tokens that are expected there, and those that may follow in the same rule once one was read. */
export interface Expectation {
  readonly expected: Kinds;
  readonly after: Kinds;
}

export class TokenReader {
  readonly #tokens: Tokens;
  readonly #issues: Issue[];
  readonly #offsetOf: (index: number) => number;
  /** The number of the lexer's issues that were added to `#issues`: those about what was read. */
  #lexical = 0;
  /** Each rule in progress has here what may follow it in the rule that called it. */
  readonly #followers: Kinds[] = [];
  /** The next token is of this kind. */
  kind: Kind;
  #index = 0;
  #isRecovering = false;
  #recoveries = 0;
  /** The position of the last recovery, and the expectations with which it was tried there. */
  #lastError = -1;
  readonly #lastExpectations = new Set<Expectation>();

  constructor(tokens: Tokens, issues: Issue[], offsetOf: (index: number) => number) {
    this.#tokens = tokens;
    this.#issues = issues;
    this.#offsetOf = offsetOf;
    this.kind = tokens.kinds[0]!;
  }

  get index(): number {
    return this.#index;
  }

  /** The kind of a later token; 1 is the one behind the next. */
  ahead(distance: number): Kind {
    return this.#tokens.kinds[this.#index + distance] ?? kinds.end;
  }

  /** The position of a token, by default of the next one, in code points. */
  offset(index = this.#index): number {
    return this.#offsetOf(this.#tokens.starts[index]!);
  }

  text(index = this.#index): string {
    return this.#tokens.source.slice(this.#tokens.starts[index], this.#tokens.ends[index]);
  }

  /** Called by a rule's caller before and after it; `followers` are what the caller expects behind it. */
  enter(followers: Kinds): void {
    this.#followers.push(followers);
  }

  leave(): void {
    this.#followers.pop();
  }

  /** Reads the next token, which the caller has looked at; its index. */
  take(): number {
    this.#isRecovering = false;
    return this.#advance();
  }

  #advance(): number {
    const index = this.#index;
    if (this.kind !== kinds.end) this.kind = this.#tokens.kinds[++this.#index]!;
    return index;
  }

  /** Reads a token of the kind. If another one is there, tries without it, then with an assumed one: `undefined`. */
  match(kind: Kind, expectation: Expectation): number | undefined {
    if (this.kind === kind) return this.take();
    this.#countRecovery();
    const expected = setOf(kind);
    if (this.#skipOne(expected)) return this.take();
    if (this.#canFollow(expectation.after)) {
      this.#report(`missing ${showKinds(expected)} at ${this.#shown(this.#index)}`);
      return undefined;
    }
    return this.mismatch(expected);
  }

  /** Makes sure that the next token is an expected one, before a choice is made by it. */
  sync(expectation: Expectation): void {
    if ((expectation.expected & ((1 << this.kind) | endOfRule)) !== 0 || this.#isRecovering) return;
    if (!this.#skipOne(expectation.expected)) this.mismatch(expectation.expected);
  }

  /** The same in a loop, which is not left: skips to a token that is expected or that some caller does. */
  syncLoop(expectation: Expectation): void {
    if ((expectation.expected & (1 << this.kind)) !== 0 || this.#isRecovering) return;
    this.#report(`extraneous input ${this.#shown(this.#index)} expecting ${showKinds(expectation.expected)}`);
    this.#skipTo(expectation.expected | this.#recoverySet());
  }

  mismatch(expected: Kinds): never {
    this.#report(`mismatched input ${this.#shown(this.#index)} expecting ${showKinds(expected)}`);
    throw new Mismatch();
  }

  /** No alternative begins with the next tokens; `distance` is how many of them fit. */
  noAlternative(distance: number): never {
    const from = this.#index;
    const last = Math.min(from + distance, this.#tokens.kinds.length - 1);
    const text = escape(this.#textOf(from, last));
    // Upstream: cel-go keeps an older text for these words where a field stands.
    const word = /^.(true|false|null)$/.exec(text)?.[1];
    const message = word === undefined ? `no viable alternative at input '${text}'` : mismatchedWord(word);
    this.#report(message, last);
    throw new Mismatch();
  }

  /** A rule does this with a `Mismatch`: it skips to a token that may follow. Others are thrown on. */
  recover(error: unknown, expectation: Expectation): void {
    if (!(error instanceof Mismatch)) throw error;
    this.#countRecovery();
    // Invariant: each recovery at the same token has another expectation, so recovering ends.
    if (this.#lastError === this.#index && this.#lastExpectations.has(expectation)) this.#advance();
    if (this.#lastError !== this.#index) this.#lastExpectations.clear();
    this.#lastError = this.#index;
    this.#lastExpectations.add(expectation);
    this.#skipTo(this.#recoverySet());
  }

  /** Ends the parse with an issue about the next token, or about no position. */
  giveUp(message: string, offset = -1): never {
    this.#addLexical();
    this.#issues.push({ offset, message });
    throw new GivenUp();
  }

  /** Called when the whole source was read. */
  finish(): void {
    this.#addLexical(this.#tokens.kinds.length);
  }

  #addLexical(index = this.#index): void {
    const { issues } = this.#tokens;
    for (
      let issue = issues[this.#lexical];
      issue !== undefined && issue.token <= index;
      issue = issues[this.#lexical]
    ) {
      this.#lexical++;
      this.#add(issue.offset, issue.message);
    }
  }

  #add(offset: number, message: string): void {
    this.#issues.push({ offset, message });
    if (this.#issues.length > shownMax) throw new GivenUp();
  }

  #recoverySet(): Kinds {
    return this.#followers.reduce((set, followers) => set | followers, 0) & ~endOfRule;
  }

  #skipTo(set: Kinds): void {
    for (let skipped = 0; this.kind !== kinds.end && (set & (1 << this.kind)) === 0; skipped++) {
      if (skipped >= skippedMax) this.giveUp(`error recovery token lookahead limit exceeded: ${skippedMax}`);
      this.#advance();
    }
  }

  /** Leaves the next token out if the one behind it is expected. */
  #skipOne(expected: Kinds): boolean {
    if ((expected & (1 << this.ahead(1))) === 0 || this.kind === kinds.end) return false;
    this.#report(`extraneous input ${this.#shown(this.#index)} expecting ${showKinds(expected)}`);
    this.#advance();
    this.#isRecovering = false;
    return true;
  }

  /** Whether the next token may follow, within the rule or, at its end, its callers. */
  #canFollow(after: Kinds): boolean {
    let set = after;
    for (let caller = this.#followers.length - 1; (set & endOfRule) !== 0; caller--) {
      if (caller < 0) return (set & (1 << this.kind)) !== 0 || this.kind === kinds.end;
      set = (set & ~endOfRule) | this.#followers[caller]!;
    }
    return (set & (1 << this.kind)) !== 0;
  }

  #countRecovery(): void {
    if (this.#recoveries++ < recoveriesMax) return;
    this.giveUp(`Syntax error: error recovery attempt limit exceeded: ${recoveriesMax}`, this.offset());
  }

  /** Reports the first one of errors that follow from each other. */
  #report(message: string, index = this.#index): void {
    if (!this.#isRecovering) {
      this.#addLexical(index);
      this.#add(this.offset(index), `Syntax error: ${message}`);
    }
    this.#isRecovering = true;
  }

  #shown(index: number): string {
    return this.#tokens.kinds[index] === kinds.end ? "'<EOF>'" : `'${escape(this.text(index))}'`;
  }

  /** The source from one token to another one, without what is no token. */
  #textOf(from: number, to: number): string {
    const { source, skipped, starts, ends } = this.#tokens;
    let text = "";
    let at = starts[from]!;
    for (let piece = 0; piece < skipped.length; piece += 2) {
      const start = skipped[piece]!;
      if (start < at || start >= ends[to]!) continue;
      text += source.slice(at, start);
      at = skipped[piece + 1]!;
    }
    return text + source.slice(at, ends[to]);
  }
}

const mismatchedWord = (word: string): string => `mismatched input '${word}' expecting IDENTIFIER`;
const escape = (text: string): string => text.replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
