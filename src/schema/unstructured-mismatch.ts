/**
 * Finds the error of a value that does not fit its type, in the words of upstream's converter of untyped values, which
 * strategic patches and applies use: the types alone, in the order of the struct's fields. The search is slow, and runs
 * only for refused bodies.
 */
import { isRawNumber } from "#std/raw-number.ts";
import { base64Error, canonicalBase64 } from "./base64.ts";
import { DecodeError } from "./decode-error.ts";
import { findMismatch, mismatchError } from "./mismatch.ts";
import type { Schema } from "./schema.ts";
import { goNumber } from "./go-json.ts";

/**
 * Returns the converter's error for `raw`: the first one in its order. Map keys, which have no order there, are sorted.
 */
export function unstructuredMismatch(schema: Schema, raw: unknown): DecodeError {
  try {
    const problem = problemOf(schema, raw);
    if (problem !== undefined) return problem;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return mismatchError(schema, raw);
}

function problemOf(schema: Schema, raw: unknown): DecodeError | undefined {
  if (raw === null || raw === undefined) return undefined;
  // These types decode JSON by a method of their own, which does not know their location.
  if (schema.special !== undefined) return findMismatch(schema, raw);
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? bytesProblem(raw) : scalarProblem(raw, "string", schema.goType ?? "string");
    case "integer":
      return scalarProblem(raw, schema.format ?? "int64");
    case "number":
      return scalarProblem(raw, "float64");
    case "boolean":
      return scalarProblem(raw, "bool");
    case "array":
      if (!Array.isArray(raw)) return new DecodeError(`cannot restore slice from ${goKind(raw)}`);
      // The schema of a list has `items`.
      return firstProblem(raw as readonly unknown[], (item) => problemOf(schema.items!, item));
    case "map":
      if (goKind(raw) !== "map") return new DecodeError(`cannot restore map from ${goKind(raw)}`);
      // The schema of a map has `items`.
      return firstProblem(Object.keys(raw).sort(), (key) => problemOf(schema.items!, member(raw, key)));
    case "object":
      if (schema.fields === undefined) return undefined;
      if (goKind(raw) !== "map") return new DecodeError(`cannot restore struct from: ${goKind(raw)}`);
      return firstProblem([...schema.fields], ([name, field]) => problemOf(field.schema, member(raw, name)));
    case "any":
      return undefined;
  }
}

function firstProblem<T>(parts: readonly T[], of: (part: T) => DecodeError | undefined): DecodeError | undefined {
  for (const part of parts) {
    const problem = of(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function member(raw: unknown, name: string): unknown {
  // The value is an object.
  return Object.hasOwn(raw as object, name) ? (raw as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** Returns the error of a scalar. `type` is the kind of the expected type, `name` its name. */
function scalarProblem(raw: unknown, type: string, name = type): DecodeError | undefined {
  const kind = goKind(raw);
  if (kind === type) return undefined;
  const isNumber = kind === "int64" || kind === "float64";
  if (isNumber && type === "float64") return undefined;
  if (isNumber && (type === "int32" || type === "int64")) {
    if (kind === "int64" && fitsInteger(raw, type)) return undefined;
    return new DecodeError(`cannot convert ${kind} to ${name}`);
  }
  if (kind === "int64" && type === "string") return new DecodeError(`cannot convert int64 to ${name}`);
  return new DecodeError(`unrecognized type: ${type}`);
}

function fitsInteger(raw: unknown, type: "int32" | "int64"): boolean {
  return type === "int64" || BigInt.asIntN(32, BigInt(goNumber(raw))) === BigInt(goNumber(raw));
}

function bytesProblem(raw: unknown): DecodeError | undefined {
  if (typeof raw === "string") {
    if (canonicalBase64(raw) !== undefined) return undefined;
    return new DecodeError(`error decoding from json: ${base64Error(raw)}`);
  }
  if (!Array.isArray(raw)) return new DecodeError(`cannot restore slice from ${goKind(raw)}`);
  const wrong = raw.some((item) => item !== null && goKind(item) !== "int64");
  return wrong ? new DecodeError("unrecognized type: uint8") : undefined;
}

/** Returns the kind of Go's value for a JSON value. */
function goKind(raw: unknown): string {
  if (Array.isArray(raw)) return "slice";
  if (typeof raw === "bigint") return BigInt.asIntN(64, raw) === raw ? "int64" : "float64";
  if (isRawNumber(raw)) return /^-?[0-9]{1,18}$/.test(raw.rawJSON) ? "int64" : "float64";
  if (typeof raw === "number") return Number.isInteger(raw) && Math.abs(raw) < 2 ** 63 ? "int64" : "float64";
  if (typeof raw === "boolean") return "bool";
  return typeof raw === "string" ? "string" : "map";
}
