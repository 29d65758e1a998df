/**
 * Implements the grammar by recursive descent, with one method for each rule in which errors are caught
 * (`token-reader.ts`). Operators are read by precedence. Source: the language definition's grammar.
 */
import { type EntryNode, type Expression, type Issue, operators } from "../ast.ts";
import { unknownOffset } from "../issues.ts";
import { literalValue } from "./literals.ts";
import { expandMacro, type MacroOptions } from "./macros.ts";
import type { Nodes } from "./nodes.ts";
import type { Expectation, TokenReader } from "./token-reader.ts";
import {
  afterMember,
  afterOperand,
  binaryOperators,
  commaOrEnd,
  elementStart,
  fieldStart,
  expectations,
  precedences,
  questionMark,
  reserved,
} from "./rules.ts";
import { endOfRule, expressionStart, type TokenKind, type Kinds, kinds, memberStart, setOf } from "./tokens.ts";

const { identifier, question, comma, colon, dot } = kinds;

interface GrammarOptions extends MacroOptions {
  readonly depthMax: number;
}

export class Grammar {
  readonly #input: TokenReader;
  readonly #nodes: Nodes;
  readonly #issues: Issue[];
  readonly #options: GrammarOptions;
  #depth = 0;
  /** The nesting of operators and members in the expression that was read last. */
  #height = 0;
  /** The expression that a rule has read if it fails. It is set before each step that may fail. */
  #partial: Expression | undefined;

  constructor(input: TokenReader, nodes: Nodes, issues: Issue[], options: GrammarOptions) {
    this.#input = input;
    this.#nodes = nodes;
    this.#issues = issues;
    this.#options = options;
  }

  /** Reads the whole source. The tree has a constant for each part that could not be read, and issues are reported. */
  start(): Expression {
    const input = this.#input;
    const expression = this.#expression(setOf(kinds.end));
    try {
      input.match(kinds.end, expectations.end);
    } catch (error) {
      input.recover(error, expectations.end);
    }
    input.finish();
    if (this.#height > this.#options.depthMax) input.giveUp("max recursion depth exceeded");
    return expression;
  }

  #issue(offset: number, message: string): Expression {
    this.#issues.push({ offset, message });
    return this.#broken(offset);
  }

  /** Returns a constant that replaces a part that could not be read. */
  #broken(offset = unknownOffset): Expression {
    this.#height = 0;
    return this.#nodes.constant(offset, null);
  }

  #expression(followers: Kinds): Expression {
    const input = this.#input;
    if (++this.#depth > this.#options.depthMax)
      input.giveUp(`expression recursion limit exceeded: ${this.#options.depthMax}`);
    input.enter(followers);
    let expression: Expression | undefined;
    try {
      expression = this.#binary(1, questionMark | endOfRule);
      if (input.kind === question) expression = this.#conditional(expression);
    } catch (error) {
      expression = this.#partial;
      input.recover(error, expectations.conditionalColon);
    }
    input.leave();
    this.#depth--;
    return expression ?? this.#broken();
  }

  #conditional(condition: Expression): Expression {
    const input = this.#input;
    const offset = input.offset(input.take());
    const conditionHeight = this.#height;
    const then = this.#binary(1, setOf(colon));
    const thenHeight = this.#height;
    this.#partial = this.#broken(offset);
    input.match(colon, expectations.conditionalColon);
    const otherwise = this.#expression(endOfRule);
    this.#height = Math.max(conditionHeight, thenHeight, this.#height) + 1;
    return this.#nodes.call(offset, operators.conditional, [condition, then, otherwise]);
  }

  /** Reads operands and operators that bind at least as tightly as `precedence`. */
  #binary(precedence: number, followers: Kinds): Expression {
    const input = this.#input;
    input.enter(followers);
    let left = this.#unary();
    for (let level = precedences[input.kind]!; level >= precedence; level = precedences[input.kind]!) {
      if (level <= 2) left = this.#logical(left, input.kind);
      else {
        const height = this.#height;
        const operator = input.take();
        const right = this.#binary(level + 1, afterOperand);
        this.#height = Math.max(height, this.#height) + 1;
        const name = binaryOperators.get(input.text(operator))!;
        left = this.#nodes.call(input.offset(operator), name, [left, right]);
      }
    }
    input.leave();
    return left;
  }

  /** Reads `a && b && c`. Its tree is balanced, so that long chains do not nest. */
  #logical(first: Expression, kind: TokenKind): Expression {
    const input = this.#input;
    const terms = [first];
    const offsets: number[] = [];
    let height = this.#height;
    while (input.kind === kind) {
      offsets.push(input.offset(input.take()));
      terms.push(this.#binary(precedences[kind]! + 1, afterOperand));
      height = Math.max(height, this.#height);
    }
    this.#height = height;
    return this.#balanced(kind === kinds.and ? operators.and : operators.or, terms, offsets, 0, offsets.length - 1);
  }

  #balanced(
    name: string,
    terms: readonly Expression[],
    offsets: readonly number[],
    from: number,
    to: number,
  ): Expression {
    const middle = (from + to + 1) >> 1;
    const left = middle === from ? terms[middle]! : this.#balanced(name, terms, offsets, from, middle - 1);
    const right = middle === to ? terms[middle + 1]! : this.#balanced(name, terms, offsets, middle + 1, to);
    return this.#nodes.call(offsets[middle]!, name, [left, right]);
  }

  #unary(): Expression {
    const input = this.#input;
    const start = input.offset();
    input.enter(afterOperand);
    let expression: Expression | undefined;
    try {
      input.sync(expectations.operand);
      if (input.kind === kinds.not) expression = this.#nots();
      else if (input.kind === kinds.minus) expression = this.#negation();
      else if ((memberStart & (1 << input.kind)) !== 0) expression = this.#member();
      else input.noAlternative(0);
    } catch (error) {
      input.recover(error, expectations.operand);
    }
    input.leave();
    return expression ?? this.#broken(start);
  }

  #nots(): Expression {
    const input = this.#input;
    const offset = input.offset();
    let isOdd = false;
    while (input.kind === kinds.not) {
      input.take();
      isOdd = !isOdd;
      input.syncLoop(expectations.nots);
    }
    const operand = this.#member();
    return isOdd ? this.#nodes.call(offset, operators.not, [operand]) : operand;
  }

  /** Reads minus signs. The sign directly before a number is part of the number. */
  #negation(): Expression {
    const input = this.#input;
    const next = input.ahead(1);
    if (next === kinds.int || next === kinds.double) return this.#member();
    const offset = input.offset();
    let isOdd = false;
    while (input.kind === kinds.minus) {
      if ((memberStart & (1 << input.ahead(1))) === 0) input.noAlternative(1);
      input.take();
      isOdd = !isOdd;
    }
    const operand = this.#member();
    return isOdd ? this.#nodes.call(offset, operators.negate, [operand]) : operand;
  }

  #member(): Expression {
    const input = this.#input;
    input.enter(endOfRule);
    let expression = this.#primary();
    try {
      while (input.kind === dot || input.kind === kinds.openBracket) {
        this.#partial = expression;
        expression = input.kind === dot ? this.#select(expression) : this.#index(expression);
      }
    } catch (error) {
      expression = this.#partial!;
      input.recover(error, expectations.member);
    }
    input.leave();
    return expression;
  }

  #select(operand: Expression): Expression {
    const input = this.#input;
    const next = input.ahead(1);
    if (next !== question && next !== identifier) input.noAlternative(1);
    const height = this.#height + 1;
    const operator = input.offset(input.take());
    if (next === question) {
      input.take();
      const name = input.match(identifier, expectations.selectName);
      this.#height = height;
      if (name === undefined) return this.#broken(operator);
      const field = this.#nodes.constant(input.offset(name), input.text(name));
      return this.#nodes.call(operator, operators.optionalSelect, [operand, field]);
    }
    const name = input.text(input.take());
    if (input.kind !== kinds.openParenthesis) {
      this.#height = height;
      return this.#nodes.select(operator, operand, name);
    }
    return this.#call(name, operand, expectations.argumentsEnd);
  }

  #index(operand: Expression): Expression {
    const input = this.#input;
    const height = this.#height;
    const offset = input.offset(input.take());
    input.sync(expectations.index);
    const isOptional = input.kind === question;
    if (isOptional) input.take();
    const index = this.#expression(setOf(kinds.closeBracket));
    this.#height = Math.max(height, this.#height) + 1;
    const name = isOptional ? operators.optionalIndex : operators.index;
    this.#partial = this.#nodes.call(offset, name, [operand, index]);
    input.match(kinds.closeBracket, expectations.indexEnd);
    return this.#partial;
  }

  /** Reads the arguments `(…)` after the name of a function, and expands macros. */
  #call(name: string, target: Expression | undefined, end: Expectation): Expression {
    const input = this.#input;
    let height = target === undefined ? 0 : this.#height;
    const offset = input.offset(input.take());
    this.#partial = this.#broken(offset);
    input.sync(expectations.arguments);
    const args: Expression[] = [];
    if ((expressionStart & (1 << input.kind)) !== 0) {
      input.enter(setOf(kinds.closeParenthesis));
      do {
        if (args.length > 0) input.take();
        args.push(this.#expression(commaOrEnd));
        height = Math.max(height, this.#height);
      } while (input.kind === comma);
      input.leave();
    }
    this.#height = target === undefined ? height : height + 1;
    this.#partial = this.#expandMacro(offset, name, target, args);
    input.match(kinds.closeParenthesis, end);
    return this.#partial;
  }

  #expandMacro(offset: number, name: string, target: Expression | undefined, args: readonly Expression[]): Expression {
    const expansion = expandMacro(this.#nodes, { offset, name, target, args }, this.#options);
    if (expansion === undefined) return this.#nodes.call(offset, name, args, target);
    if ("expression" in expansion) return expansion.expression;
    this.#issues.push(expansion.issue);
    return this.#nodes.constant(offset, null);
  }

  #primary(): Expression {
    const input = this.#input;
    input.enter(afterMember);
    let expression: Expression | undefined;
    this.#height = 0;
    this.#partial = undefined;
    try {
      input.sync(expectations.primary);
      expression = this.#operand();
    } catch (error) {
      expression = this.#partial;
      input.recover(error, expectations.primary);
    }
    input.leave();
    return expression ?? this.#broken();
  }

  #operand(): Expression {
    const input = this.#input;
    switch (input.kind) {
      case dot:
      case identifier:
        return this.#named();
      case kinds.openParenthesis: {
        input.take();
        const expression = this.#expression(setOf(kinds.closeParenthesis));
        this.#partial = expression;
        input.match(kinds.closeParenthesis, expectations.nestedEnd);
        return expression;
      }
      case kinds.openBracket:
        return this.#list();
      case kinds.openBrace:
        return this.#map();
      default:
        return this.#literal();
    }
  }

  /** Reads a name, a call or an object; `a.b` is a name and a field unless a brace follows. */
  #named(): Expression {
    const input = this.#input;
    const hasDot = input.kind === dot;
    let length = hasDot ? 1 : 0;
    if (input.ahead(length) !== identifier) input.noAlternative(length);
    while (input.ahead(length + 1) === dot && input.ahead(length + 2) === identifier) length += 2;
    if (input.ahead(length + 1) === kinds.openBrace) return this.#object(length + 1);
    const offset = input.offset();
    if (hasDot) input.take();
    const token = input.take();
    const name = input.text(token);
    const full = hasDot ? `.${name}` : name;
    if (reserved.has(name)) return this.#reserved(offset, name);
    if (input.kind === kinds.openParenthesis) return this.#call(full, undefined, expectations.callEnd);
    return this.#nodes.identifier(input.offset(token), full);
  }

  /** Reads a reserved name with its arguments, and reports the name. Issues in the arguments do not count. */
  #reserved(offset: number, name: string): Expression {
    const issuesBefore = this.#issues.length;
    try {
      if (this.#input.kind === kinds.openParenthesis) this.#call(name, undefined, expectations.callEnd);
    } finally {
      this.#issues.length = issuesBefore;
      this.#partial = this.#issue(offset, `reserved identifier: ${name}`);
    }
    return this.#partial;
  }

  #list(): Expression {
    const input = this.#input;
    const offset = input.offset(input.take());
    const elements: Expression[] = [];
    const optional: number[] = [];
    let height = 0;
    this.#partial = this.#broken(offset);
    input.sync(expectations.list);
    if ((elementStart & (1 << input.kind)) !== 0) {
      input.enter(expectations.listComma.expected);
      do {
        if (elements.length > 0) input.take();
        if (this.#optionalMark(expectations.element)) optional.push(elements.length);
        elements.push(this.#expression(commaOrEnd));
        height = Math.max(height, this.#height);
      } while (input.kind === comma && (elementStart & (1 << input.ahead(1))) !== 0);
      input.leave();
    }
    this.#height = height;
    this.#partial = this.#nodes.list(offset, elements, optional);
    this.#closing(expectations.listComma, kinds.closeBracket, expectations.listEnd);
    return this.#partial;
  }

  /** Reads the optional `?` before an element, a key or a field. Returns whether it was there. */
  #optionalMark(at: Expectation): boolean {
    const input = this.#input;
    input.sync(at);
    if (input.kind !== question) return false;
    input.take();
    return true;
  }

  /** Reads an optional comma and the closing bracket or brace. */
  #closing(beforeComma: Expectation, kind: TokenKind, end: Expectation): void {
    const input = this.#input;
    input.sync(beforeComma);
    if (input.kind === comma) input.take();
    input.match(kind, end);
  }

  #map(): Expression {
    const input = this.#input;
    const offset = input.offset(input.take());
    const entries: EntryNode<Expression>[] = [];
    let height = 0;
    this.#partial = this.#broken(offset);
    input.sync(expectations.map);
    if ((elementStart & (1 << input.kind)) !== 0) {
      input.enter(expectations.mapComma.expected);
      let issuesBefore = this.#issues.length;
      try {
        do {
          if (entries.length > 0) input.take();
          issuesBefore = this.#issues.length;
          const isOptional = this.#optionalMark(expectations.element);
          const key = this.#expression(setOf(colon));
          height = Math.max(height, this.#height);
          entries.push(this.#entry(key, isOptional, expectations.mapColon));
          height = Math.max(height, this.#height);
        } while (input.kind === comma && (elementStart & (1 << input.ahead(1))) !== 0);
      } catch (error) {
        // Without its colon the key is not part of the tree.
        this.#issues.length = issuesBefore;
        input.recover(error, expectations.mapColon);
      }
      input.leave();
    }
    this.#height = height;
    this.#partial = { id: this.#nodes.id(), offset, kind: "map", entries };
    this.#closing(expectations.mapComma, kinds.closeBrace, expectations.mapEnd);
    return this.#partial;
  }

  #entry<Key>(key: Key, isOptional: boolean, at: Expectation): EntryNode<Key> {
    const input = this.#input;
    const offset = input.offset();
    input.match(colon, at);
    const value = this.#expression(commaOrEnd);
    return { id: this.#nodes.id(), offset, key, value, isOptional };
  }

  /** Reads an object. `length` is the number of tokens in its name. */
  #object(length: number): Expression {
    const input = this.#input;
    let name = "";
    for (let token = 0; token < length; token++) name += input.text(input.take());
    const offset = input.offset(input.take());
    const fields: EntryNode<string>[] = [];
    let height = 0;
    this.#partial = this.#broken(offset);
    input.sync(expectations.object);
    if ((fieldStart & (1 << input.kind)) !== 0) {
      input.enter(expectations.mapComma.expected);
      try {
        do {
          if (fields.length > 0) input.take();
          const { field, isOptional } = this.#field();
          fields.push(this.#entry(field, isOptional, expectations.fieldColon));
          height = Math.max(height, this.#height);
        } while (input.kind === comma && (fieldStart & (1 << input.ahead(1))) !== 0);
      } catch (error) {
        input.recover(error, expectations.fieldColon);
      }
      input.leave();
    }
    this.#height = height;
    this.#partial = { id: this.#nodes.id(), offset, kind: "object", name, fields };
    this.#closing(expectations.mapComma, kinds.closeBrace, expectations.mapEnd);
    return this.#partial;
  }

  #field(): { field: string; isOptional: boolean } {
    const input = this.#input;
    input.enter(setOf(colon));
    let isOptional = false;
    let token: number | undefined;
    try {
      isOptional = this.#optionalMark(expectations.field);
      token = input.match(identifier, expectations.fieldName);
    } catch (error) {
      input.recover(error, expectations.field);
    }
    input.leave();
    return { field: token === undefined ? "" : input.text(token), isOptional };
  }

  #literal(): Expression {
    const input = this.#input;
    const offset = input.offset();
    const isNegative = input.kind === kinds.minus;
    if (isNegative) {
      const next = input.ahead(1);
      if (next !== kinds.int && next !== kinds.double) input.noAlternative(1);
      input.take();
    }
    const { kind } = input;
    if ((memberStart & (1 << kind)) === 0) input.noAlternative(0);
    const text = input.text(input.take());
    const literal = literalValue(kind, isNegative ? `-${text}` : text);
    return "value" in literal ? this.#nodes.constant(offset, literal.value) : this.#issue(offset, literal.problem);
  }
}
