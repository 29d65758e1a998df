/** Two fields that say one thing: a single value, and a list of which it is the first. */
import { isZero, type Json, withField } from "./json-edit.ts";

interface Pair {
  /** Name of the field that holds the single value. */
  readonly one: string;
  /** Name of the field that holds the list. */
  readonly all: string;
  /** Text of an item. */
  text(item: unknown): unknown;
  item(text: unknown): unknown;
}

/**
 * The object with both fields, as soon as it has one of them. Where they differ the single one counts: older agents
 * write no other. Source: upstream's conversions of pod status and node spec.
 */
export function inStep(object: Json, { one, all, text, item }: Pair): Json {
  const single = object[one];
  const list = (Array.isArray(object[all]) ? object[all] : []) as readonly unknown[]; // checked
  if (isZero(single)) return list.length === 0 ? object : withField(object, one, text(list[0]));
  return list.length > 0 && text(list[0]) === single ? object : withField(object, all, [item(single)]);
}
