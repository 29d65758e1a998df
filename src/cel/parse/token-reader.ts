/**
 * Reads tokens for the grammar and recovers from syntax errors: it removes or inserts one token, or skips to a token
 * that can follow a rule in progress. Clients see the texts and the number of errors, so the recovery is that of
 * ANTLR's default strategy, within cel-go's limits.
 */
import type { Issue } from "../ast.ts";
import { shownMax } from "../issues.ts";
import type { Tokens } from "./lexer.ts";
import { endOfRule, type TokenKind, type Kinds, kinds, setOf, showKinds } from "./tokens.ts";

/** The maximum number of recoveries in a parse, and of tokens that one recovery may skip. */
const recoveriesMax = 30;
const skippedMax = 256;

/** Thrown if a rule cannot continue. The method of the rule catches it (`recover`). */
class Mismatch extends Error {}

/** Thrown if the parse ends at once. Its issue has been reported. */
export class GivenUp extends Error {}

/**
 * A point in a rule: the tokens that are expected there, and the tokens that may follow in the same rule after one of
 * them.
 */
export interface Expectation {
  readonly expected: Kinds;
  readonly after: Kinds;
}

export class TokenReader {
  readonly #tokens: Tokens;
  readonly #issues: Issue[];
  readonly #offsetOf: (index: number) => number;
  /** The number of the lexer's issues that were added to `#issues`: those about the source up to the current token. */
  #lexical = 0;
  /** For each rule in progress, the tokens that may follow it in the rule that called it. */
  readonly #followers: Kinds[] = [];
  /** The kind of the next token. */
  kind: TokenKind;
  #index = 0;
  #isRecovering = false;
  #recoveries = 0;
  /** The position of the last recovery, and the expectations of the recoveries at this position. */
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

  /** Returns the kind of a later token; 1 is the token after the next. */
  ahead(distance: number): TokenKind {
    return this.#tokens.kinds[this.#index + distance] ?? kinds.end;
  }

  /** Returns the position of a token in code points; by default that of the next token. */
  offset(index = this.#index): number {
    return this.#offsetOf(this.#tokens.starts[index]!);
  }

  text(index = this.#index): string {
    return this.#tokens.source.slice(this.#tokens.starts[index], this.#tokens.ends[index]);
  }

  /** Begins a rule. `followers` are the tokens that its caller expects after it. `leave` ends the rule. */
  enter(followers: Kinds): void {
    this.#followers.push(followers);
  }

  leave(): void {
    this.#followers.pop();
  }

  /** Reads the next token, whose kind the caller has checked. Returns its index. */
  take(): number {
    this.#isRecovering = false;
    return this.#advance();
  }

  #advance(): number {
    const index = this.#index;
    if (this.kind !== kinds.end) this.kind = this.#tokens.kinds[++this.#index]!;
    return index;
  }

  /**
   * Reads a token of this kind, and returns its index. If the next token is another one, tries to skip it, then to
   * continue as if the expected token was there; returns `undefined` in this case.
   */
  match(kind: TokenKind, expectation: Expectation): number | undefined {
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

  /** Ensures that the next token is an expected one, before the caller chooses an alternative by its kind. */
  sync(expectation: Expectation): void {
    if ((expectation.expected & ((1 << this.kind) | endOfRule)) !== 0 || this.#isRecovering) return;
    if (!this.#skipOne(expectation.expected)) this.mismatch(expectation.expected);
  }

  /**
   * Ensures the same inside of a loop, which continues: skips to a token that the loop or one of the callers expects.
   */
  syncLoop(expectation: Expectation): void {
    if ((expectation.expected & (1 << this.kind)) !== 0 || this.#isRecovering) return;
    this.#report(`extraneous input ${this.#shown(this.#index)} expecting ${showKinds(expectation.expected)}`);
    this.#skipTo(expectation.expected | this.#recoverySet());
  }

  mismatch(expected: Kinds): never {
    this.#report(`mismatched input ${this.#shown(this.#index)} expecting ${showKinds(expected)}`);
    throw new Mismatch();
  }

  /** Reports that no alternative begins with the next tokens; `distance` is the number of tokens that fit. */
  noAlternative(distance: number): never {
    const from = this.#index;
    const last = Math.min(from + distance, this.#tokens.kinds.length - 1);
    const text = escape(this.#textOf(from, last));
    // Upstream: cel-go shows an older text for these words in the position of a field.
    const word = /^.(true|false|null)$/.exec(text)?.[1];
    const message = word === undefined ? `no viable alternative at input '${text}'` : mismatchedWord(word);
    this.#report(message, last);
    throw new Mismatch();
  }

  /** Recovers from a `Mismatch`: skips to a token that may follow the rule. Throws other errors again. */
  recover(error: unknown, expectation: Expectation): void {
    if (!(error instanceof Mismatch)) throw error;
    this.#countRecovery();
    // Invariant: two recoveries at the same token have different expectations, so the number of recoveries is finite.
    if (this.#lastError === this.#index && this.#lastExpectations.has(expectation)) this.#advance();
    if (this.#lastError !== this.#index) this.#lastExpectations.clear();
    this.#lastError = this.#index;
    this.#lastExpectations.add(expectation);
    this.#skipTo(this.#recoverySet());
  }

  /** Ends the parse with an issue at an offset; by default the issue has no position. */
  giveUp(message: string, offset = -1): never {
    this.#addLexical();
    this.#issues.push({ offset, message });
    throw new GivenUp();
  }

  /** Ends the parse of a whole source: reports the lexer's last issues. */
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

  /** Skips the next token if the token after it is expected. Returns whether it did. */
  #skipOne(expected: Kinds): boolean {
    if ((expected & (1 << this.ahead(1))) === 0 || this.kind === kinds.end) return false;
    this.#report(`extraneous input ${this.#shown(this.#index)} expecting ${showKinds(expected)}`);
    this.#advance();
    this.#isRecovering = false;
    return true;
  }

  /** Whether the next token may follow, in the rule or, at the end of the rule, in its callers. */
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

  /** Reports an error, unless it follows from the error before. */
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

  /** Returns the source from one token to another, without skipped pieces. */
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
