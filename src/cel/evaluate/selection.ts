/** Compiles names, `a.b`, `has(a.b)`, `a[b]` and their optional forms. */
import type { Call, Expression, Identifier, Select } from "../ast.ts";
import { CelError, Optional, TypeValue, type Value } from "../values.ts";
import { type CelType, typeName } from "../types.ts";
import { get, getOptional, hasField } from "./access.ts";
import type { Compilation, Meaning } from "./compilation.ts";
import type { Step } from "./frame.ts";
import { attributeNode, bareStep, type Compiled, constantNode, errorAt } from "./node.ts";
import { read, readerOf } from "./read.ts";

export function compileIdentifier(node: Identifier, compilation: Compilation): Compiled {
  const loop = compilation.findLoopVariable(node.name);
  if (loop !== undefined) {
    loop.isShared = true;
    return attributeNode(loopStep(loop.slot, loop.type));
  }
  const meaning = compilation.meaning(node);
  return meaning === undefined
    ? variableNode(node.name.replace(/^\./, ""), undefined, node.id)
    : namedNode(meaning, node);
}

function loopStep(slot: number, type: CelType | undefined): Step {
  const reader = readerOf(type);
  // What a loop runs over is read by then; only declared types add to that.
  return reader === read ? (frame) => frame.slots[slot]! : (frame) => readOr(reader, frame.slots[slot]!);
}

const readOr = (reader: (value: Value) => Value, value: Value | CelError): Value | CelError =>
  value instanceof CelError ? value : reader(value);

function namedNode(meaning: Meaning, node: Expression): Compiled {
  if (meaning.kind === "constant") return constantNode(constantOf(meaning.type, meaning.value));
  return variableNode(meaning.name, meaning.kind === "variable" ? meaning.type : undefined, node.id);
}

/** Environments may give the type itself as the value of its name. */
function constantOf(type: CelType, value: Value): Value {
  if (type.kind !== "type" || value instanceof TypeValue) return value;
  return new TypeValue(runtimeName(type.of));
}

/** Values do not know the types of their elements. */
function runtimeName(type: CelType | undefined): string {
  if (type === undefined) return "type";
  if (type.kind === "list" || type.kind === "map" || type.kind === "type") return type.kind;
  return type.kind === "opaque" ? type.name : typeName(type);
}

function variableNode(name: string, type: CelType | undefined, id: number): Compiled {
  const reader = readerOf(type);
  const isInherited = name in Object.prototype;
  const missing = new CelError(`no such attribute(s): ${name}`, id);
  return attributeNode((frame) => {
    const value = frame.activation[name];
    if (value === undefined || (isInherited && !Object.hasOwn(frame.activation, name))) return missing;
    return reader(value);
  });
}

export function compileSelect(node: Select, compilation: Compilation): Compiled {
  const meaning = compilation.meaning(node);
  if (meaning !== undefined && !node.isTest) return namedNode(meaning, node);
  const operand = bareStep(compilation.compile(node.operand));
  const declared = compilation.type(node.operand);
  const field = declared?.kind === "object" ? declared.field(node.field) : undefined;
  const key = field?.key ?? node.field;
  const { id } = node;
  if (node.isTest) {
    return {
      step: (frame) => {
        const value = operand(frame);
        if (value instanceof CelError) return value;
        frame.cost += 1;
        const found = hasField(value, key, frame);
        return found instanceof CelError ? errorAt(found, id) : found;
      },
    };
  }
  const reader = readerOf(field?.type ?? compilation.type(node));
  const isInherited = key in Object.prototype;
  return attributeNode((frame) => {
    const value = operand(frame);
    if (value instanceof CelError) return value;
    frame.cost += 1;
    if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
      const found = (value as { readonly [name: string]: Value })[key]; // only objects of JSON have that prototype
      if (found !== undefined && !isInherited) return reader(found);
    }
    const found = get(value, key, frame);
    return found instanceof CelError ? errorAt(found, id) : reader(found);
  });
}

/** `operand[key]` and `operand[?key]`. */
export function compileIndex(node: Call, isOptional: boolean, compilation: Compilation): Compiled {
  const operand = bareStep(compilation.compile(node.args[0]!));
  const key = bareStep(compilation.compile(node.args[1]!));
  const reader = readerOf(isOptional ? undefined : compilation.type(node));
  return keyed(operand, key, isOptional, reader, node.id);
}

/** `operand.?field`. */
export function compileOptionalSelect(node: Call, compilation: Compilation): Compiled {
  const operand = bareStep(compilation.compile(node.args[0]!));
  const field = node.args[1]!;
  const name = field.kind === "constant" && typeof field.value === "string" ? field.value : "";
  const declared = compilation.type(node.args[0]!);
  const key = (declared?.kind === "object" ? declared.field(name)?.key : undefined) ?? name;
  return keyed(operand, () => key, true, read, node.id);
}

function keyed(operand: Step, key: Step, isOptional: boolean, reader: (value: Value) => Value, id: number): Compiled {
  return attributeNode((frame) => {
    const value = operand(frame);
    if (value instanceof CelError) return value;
    const index = key(frame);
    if (index instanceof CelError) return index;
    const found = isOptional ? getOptional(value, index, frame) : get(value, index, frame);
    // What is not there may cost nothing.
    if (!(found instanceof Optional) || found.value !== undefined) frame.cost += 1;
    return found instanceof CelError ? errorAt(found, id) : isOptional ? found : reader(found);
  });
}
