/** Compiles names, `a.b`, `has(a.b)`, `a[b]`, and their optional forms. */
import type { Call, Expression, Identifier, Select } from "../ast.ts";
import { CelError, Optional, TypeValue, type Value } from "../values.ts";
import { type CelType, type ObjectField, typeName } from "../types.ts";
import { get, getOptional, hasField } from "./access.ts";
import type { Compilation, Meaning } from "./compilation.ts";
import type { Step } from "./frame.ts";
import { attributeNode, bareStep, type Compiled, constantNode, errorAt, inPlaceStep } from "./node.ts";
import { partReaderOf, read, type Reader, readerOf, wholeReaderOf } from "./read.ts";

/** Compiles a name: a variable of a loop, a variable of the caller, or a constant of a library. */
export function compileIdentifier(node: Identifier, compilation: Compilation): Compiled {
  const loop = compilation.findLoopVariable(node.name);
  if (loop !== undefined) {
    loop.isShared = true;
    return attributeNode(loopStep(loop.slot, loop.type), wholeReaderOf(loop.type));
  }
  const meaning = compilation.meaning(node);
  return meaning === undefined
    ? variableNode(node.name.replace(/^\./, ""), undefined, node.id)
    : namedNode(meaning, node);
}

function loopStep(slot: number, type: CelType | undefined): Step {
  const reader = partReaderOf(type);
  // The loop has read its elements without their type, so only readers of declared types change them.
  return reader === read ? (frame) => frame.slots[slot]! : (frame) => readOr(reader, frame.slots[slot]!);
}

const readOr = (reader: (value: Value) => Value, value: Value | CelError): Value | CelError =>
  value instanceof CelError ? value : reader(value);

function namedNode(meaning: Meaning, node: Expression): Compiled {
  if (meaning.kind === "constant") return constantNode(constantOf(meaning.type, meaning.value));
  return variableNode(meaning.name, meaning.kind === "variable" ? meaning.type : undefined, node.id);
}

/** Returns the value of a constant. An environment may declare a type itself as the value of its name. */
function constantOf(type: CelType, value: Value): Value {
  if (type.kind !== "type" || value instanceof TypeValue) return value;
  return new TypeValue(runtimeName(type.of));
}

/** Returns the name of a type at run time, without type parameters: values do not know the types of their elements. */
function runtimeName(type: CelType | undefined): string {
  if (type === undefined) return "type";
  if (type.kind === "list" || type.kind === "map" || type.kind === "type") return type.kind;
  return type.kind === "opaque" ? type.name : typeName(type);
}

function variableNode(name: string, type: CelType | undefined, id: number): Compiled {
  const reader = partReaderOf(type);
  const isInherited = name in Object.prototype;
  const missing = new CelError(`no such attribute(s): ${name}`, id);
  return attributeNode((frame) => {
    const value = frame.activation[name];
    if (value === undefined || (isInherited && !Object.hasOwn(frame.activation, name))) return missing;
    return reader(value);
  }, wholeReaderOf(type));
}

/** Compiles `a.b` and `has(a.b)`, or the name of a variable or constant that contains dots. */
export function compileSelect(node: Select, compilation: Compilation): Compiled {
  const meaning = compilation.meaning(node);
  if (meaning !== undefined && !node.isTest) return namedNode(meaning, node);
  const operand = inPlaceStep(compilation.compile(node.operand));
  const field = fieldOf(compilation.type(node.operand), node.field);
  const key = field?.key ?? node.field;
  const { id } = node;
  const nullIsAbsent = field !== undefined && field.isNullable !== true;
  if (node.isTest) {
    return {
      step: (frame) => {
        const value = operand(frame);
        if (value instanceof CelError) return value;
        frame.cost += 1;
        const hasIt = hasField(value, key, frame);
        if (hasIt === true && nullIsAbsent && get(value, key, frame) === null) return false;
        return hasIt instanceof CelError ? errorAt(hasIt, id) : hasIt;
      },
    };
  }
  const type = compilation.type(node) ?? field?.type;
  const reader = optionalReader(type) ?? partReaderOf(type);
  const isInherited = key in Object.prototype;
  const absent = `no such key: ${key}`;
  return attributeNode((frame) => {
    const value = operand(frame);
    if (value instanceof CelError) return value;
    frame.cost += 1;
    if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
      const member = (value as { readonly [name: string]: Value })[key]; // only JSON objects have this prototype
      if (member !== undefined && member !== null && !isInherited) return reader(member);
    }
    const selected = get(value, key, frame);
    // A property that is null is absent. Errors show the name that the expression uses for the property.
    const isAbsent =
      (selected === null && nullIsAbsent) || (selected instanceof CelError && selected.message === absent);
    if (field !== undefined && isAbsent) {
      return new CelError(`no such key: ${node.field}`, id);
    }
    return selected instanceof CelError ? errorAt(selected, id) : reader(selected);
  }, wholeReaderOf(type));
}

/** Compiles `operand[key]` and `operand[?key]`. */
export function compileIndex(node: Call, isOptional: boolean, compilation: Compilation): Compiled {
  const operand = inPlaceStep(compilation.compile(node.args[0]!));
  const key = bareStep(compilation.compile(node.args[1]!));
  const type = compilation.type(node);
  const step = isOptional
    ? optionalStep(operand, key, readerOf(optionalPart(type)), node.id)
    : keyedStep(operand, key, optionalReader(type) ?? partReaderOf(type), node.id);
  return attributeNode(step, isOptional ? undefined : wholeReaderOf(type));
}

/** Compiles `operand.?field`. */
export function compileOptionalSelect(node: Call, compilation: Compilation): Compiled {
  const operand = inPlaceStep(compilation.compile(node.args[0]!));
  const name = node.args[1]!;
  const text = name.kind === "constant" && typeof name.value === "string" ? name.value : "";
  const field = fieldOf(compilation.type(node.args[0]!), text);
  const key = field?.key ?? text;
  const reader = readerOf(field?.type ?? optionalPart(compilation.type(node)));
  const step = optionalStep(operand, () => key, reader, node.id);
  if (field === undefined || field.isNullable === true) return attributeNode(step, undefined);
  return attributeNode((frame) => {
    const stepValue = step(frame);
    return stepValue instanceof Optional && stepValue.value === null ? new Optional(undefined) : stepValue;
  }, undefined);
}

const optionalPart = (type: CelType | undefined): CelType | undefined =>
  type?.kind === "opaque" && type.name === "optional_type" ? type.parameters[0] : undefined;

/** Returns the declared field of an object, or of an optional object. */
function fieldOf(operand: CelType | undefined, name: string): ObjectField | undefined {
  const type = optionalPart(operand) ?? operand;
  return type?.kind === "object" ? type.field(name) : undefined;
}

/** Returns a reader of the value inside of an optional value; `undefined` if the type is not optional. */
function optionalReader(type: CelType | undefined): Reader | undefined {
  const part = optionalPart(type);
  if (part === undefined) return undefined;
  const reader = readerOf(part);
  return (value) => (value instanceof Optional ? insideOptional(value, reader) : value);
}

function keyedStep(operand: Step, key: Step, reader: Reader, id: number): Step {
  return (frame) => {
    const value = operand(frame);
    if (value instanceof CelError) return value;
    const index = key(frame);
    if (index instanceof CelError) return index;
    const selected = get(value, index, frame);
    frame.cost += 1;
    return selected instanceof CelError ? errorAt(selected, id) : reader(selected);
  };
}

function optionalStep(operand: Step, key: Step, reader: Reader, id: number): Step {
  return (frame) => {
    const value = operand(frame);
    if (value instanceof CelError) return value;
    const index = key(frame);
    if (index instanceof CelError) return index;
    const selected = getOptional(value, index, frame);
    if (selected instanceof CelError) {
      frame.cost += 1;
      return errorAt(selected, id);
    }
    // The cost does not count if the part is absent.
    if (!(selected instanceof Optional) || selected.value !== undefined) frame.cost += 1;
    return selected instanceof Optional ? insideOptional(selected, reader) : selected;
  };
}

function insideOptional(optional: Optional, reader: Reader): Optional {
  if (optional.value === undefined) return optional;
  const value = reader(optional.value);
  return value === optional.value ? optional : new Optional(value);
}
