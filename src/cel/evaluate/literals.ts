/** Compiles `[a, b]`, `{a: b}` and `Name{a: b}`. Constant literals are made once and cost nothing. */
import type { ListLiteral, MapLiteral, ObjectLiteral } from "../ast.ts";
import { CelError, Optional, type Value } from "../values.ts";
import type { Compilation } from "./compilation.ts";
import { listCost, mapCost, objectCost } from "./costs.ts";
import type { Frame, Step } from "./frame.ts";
import { kindOf } from "./kinds.ts";
import { type Compiled, constantNode } from "./node.ts";

/** Compiles `[a, ?b]`. An optional element without a value is left out. */
export function compileList(node: ListLiteral, compilation: Compilation): Compiled {
  const elements = node.elements.map((element) => compilation.compile(element));
  if (node.optional.length === 0 && elements.every(({ constant }) => constant !== undefined)) {
    return constantNode(elements.map(({ constant }) => constant!));
  }
  const steps = elements.map(({ step }) => step);
  const isOptional = steps.map((_, at) => node.optional.includes(at));
  return {
    step: (frame) => {
      const list: Value[] = [];
      frame.cost += listCost;
      for (let at = 0; at < steps.length; at++) {
        const value = steps[at]!(frame);
        if (value instanceof CelError) return value;
        if (!isOptional[at]) list.push(value);
        else if (!(value instanceof Optional)) return notOptional("list element", value, node.id);
        else if (value.value !== undefined) list.push(value.value);
      }
      return list;
    },
  };
}

const notOptional = (part: string, value: Value, id: number): CelError =>
  new CelError(`cannot initialize optional ${part} from non-optional value of type ${kindOf(value)}`, id);

interface EntryStep {
  readonly key: Step;
  readonly value: Step;
  readonly isOptional: boolean;
}

/** Adds the entries to `map`. Returns the first error, after which it adds no more. */
function fill(map: Map<Value, Value>, entries: readonly EntryStep[], frame: Frame, id: number): CelError | undefined {
  for (const entry of entries) {
    const key = entry.key(frame);
    if (key instanceof CelError) return key;
    const value = entry.value(frame);
    if (value instanceof CelError) return value;
    if (!entry.isOptional) map.set(key, value);
    else if (!(value instanceof Optional)) return notOptional("entry", value, id);
    else if (value.value !== undefined) map.set(key, value.value);
    else map.delete(key);
  }
  return undefined;
}

/**
 * Compiles `{a: b, ?c: d}`. An optional entry without a value is left out; a later entry replaces an earlier one with
 * the same key.
 */
export function compileMap(node: MapLiteral, compilation: Compilation): Compiled {
  const entries = node.entries.map(({ key, value, isOptional }) => ({
    key: compilation.compile(key),
    value: compilation.compile(value),
    isOptional,
  }));
  if (
    entries.every(
      (entry) => !entry.isOptional && entry.key.constant !== undefined && entry.value.constant !== undefined,
    )
  ) {
    return constantNode(new Map(entries.map(({ key, value }) => [key.constant!, value.constant!])));
  }
  const steps = entries.map(({ key, value, isOptional }) => ({ key: key.step, value: value.step, isOptional }));
  return {
    step: (frame) => {
      const map = new Map<Value, Value>();
      frame.cost += mapCost;
      return fill(map, steps, frame, node.id) ?? map;
    },
  };
}

/** Compiles an object literal. An object is a map whose keys are the JSON names of its fields. */
export function compileObject(node: ObjectLiteral, compilation: Compilation): Compiled {
  const declared = compilation.type(node);
  const entries = node.fields.map(({ key, value, isOptional }) => {
    const name = (declared?.kind === "object" ? declared.field(key)?.key : undefined) ?? key;
    return { key: () => name, value: compilation.compile(value).step, isOptional };
  });
  return {
    step: (frame) => {
      const map = new Map<Value, Value>();
      frame.cost += objectCost;
      return fill(map, entries, frame, node.id) ?? map;
    },
  };
}
