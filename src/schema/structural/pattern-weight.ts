/**
 * Estimates the work of the patterns of a schema for a value, before any matching, to decide in which thread the work
 * is done.
 */
import { isRawNumber } from "#std/raw-number.ts";
import { combinedSchemas, type SchemaNode } from "./node.ts";
import type { Pattern } from "./pattern.ts";

/**
 * The number of steps (characters times instructions of a pattern) that weigh as much as a byte of an object: about 0.2
 * us.
 */
const stepsPerByte = 4;
/** The weight in bytes of compiling one instruction. */
const compiledWeight = 6;

/** Returns an upper bound for the work, as the number of bytes of an object that take as long. */
export function patternWeight(node: SchemaNode, value: unknown): number {
  return node.patternSize === 0 ? 0 : new Weighing().weightOf(node, value);
}

class Weighing {
  readonly #uncompiled = new Set<Pattern>();

  weightOf(node: SchemaNode, value: unknown): number {
    if (node.patternSize === 0) return 0;
    let weight = 0;
    if (typeof value === "string") {
      if (node.pattern !== undefined) weight += this.#textWeight(node.pattern, value);
    } else if (Array.isArray(value)) {
      if (node.items !== undefined) for (const item of value) weight += this.weightOf(node.items, item);
    } else if (typeof value === "object" && value !== null && !isRawNumber(value)) {
      weight += this.#membersWeight(node, value as Readonly<Record<string, unknown>>);
    }
    if (node.logic !== undefined) for (const one of combinedSchemas(node.logic)) weight += this.weightOf(one, value);
    return weight;
  }

  #membersWeight({ properties, additional }: SchemaNode, value: Readonly<Record<string, unknown>>): number {
    const other = typeof additional === "object" ? additional : undefined;
    let weight = 0;
    for (const name of Object.keys(value)) {
      const inner = properties?.get(name) ?? other;
      if (inner !== undefined && inner.patternSize > 0) weight += this.weightOf(inner, value[name]);
    }
    return weight;
  }

  #textWeight(pattern: Pattern, text: string): number {
    let weight = (text.length * pattern.size) / stepsPerByte;
    if (!pattern.isCompiled && !this.#uncompiled.has(pattern)) {
      this.#uncompiled.add(pattern);
      weight += pattern.compiledSize * compiledWeight;
    }
    return weight;
  }
}
