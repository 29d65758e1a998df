/** Converts values between the types of the language: `int(x)`, `string(x)`, …. */
import { codePointCount } from "#std/code-points.ts";
import { decodeUtf8, encodeUtf8 } from "../evaluate/text.ts";
import { isInt, kindOf } from "../evaluate/kinds.ts";
import {
  doubleText,
  intOf,
  intOfDouble,
  parseDouble,
  parseInt64,
  parseUint64,
  uintOf,
  uintOfDouble,
} from "../evaluate/numbers.ts";
import { durationText, readDuration, parseTimestamp, timestampOf, timestampText } from "../evaluate/time.ts";
import { CelError, Double, Duration, Timestamp, TypeValue, Uint, type Value } from "../values.ts";

type Result = Value | CelError | undefined;

const wrong = (to: string, from = "string"): CelError =>
  new CelError(`type conversion error from '${from}' to '${to}'`);

const booleans: ReadonlyMap<string, boolean> = new Map(
  [
    ["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
    ["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
  ].flat(),
);

function toBool(value: Value): Result {
  if (typeof value === "boolean") return value;
  return typeof value === "string" ? (booleans.get(value) ?? wrong("bool")) : undefined;
}

function toBytes(value: Value): Result {
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? encodeUtf8(value) : undefined;
}

function toDouble(value: Value): Result {
  if (value instanceof Double) return value;
  if (isInt(value)) return new Double(Number(value));
  if (value instanceof Uint) return new Double(Number(value.value));
  return typeof value === "string" ? (parseDouble(value) ?? wrong("double")) : undefined;
}

function toInt(value: Value): Result {
  if (isInt(value)) return value;
  if (typeof value === "string") return parseInt64(value) ?? wrong("int");
  if (value instanceof Double) return intOfDouble(value.value);
  if (value instanceof Uint) return intOf(value.value);
  if (value instanceof Timestamp) return intOf(value.seconds);
  return value instanceof Duration ? intOf(value.nanoseconds) : undefined;
}

function toUint(value: Value): Result {
  if (value instanceof Uint) return value;
  if (isInt(value)) return uintOf(BigInt(value));
  if (value instanceof Double) return uintOfDouble(value.value);
  return typeof value === "string" ? (parseUint64(value) ?? wrong("uint")) : undefined;
}

function toText(value: Value): Result {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || isInt(value)) return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Double) return doubleText(value.value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (!(value instanceof Uint8Array)) return undefined;
  return decodeUtf8(value) ?? new CelError("invalid UTF-8 in bytes, cannot convert to string");
}

function toTimestamp(value: Value): Result {
  if (value instanceof Timestamp) return value;
  if (isInt(value)) return timestampOf(BigInt(value) * 1_000_000_000n);
  return typeof value === "string" ? (parseTimestamp(value) ?? wrong("google.protobuf.Timestamp")) : undefined;
}

function toDuration(value: Value): Result {
  if (value instanceof Duration) return value;
  // Upstream: the function is declared for integers, and has no result for them.
  if (isInt(value)) return wrong("google.protobuf.Duration", "int");
  if (typeof value !== "string" || codePointCount(value) > 1000)
    return typeof value === "string" ? wrong("google.protobuf.Duration") : undefined;
  return readDuration(value) ?? wrong("google.protobuf.Duration");
}

/** The conversions by the names of their functions. */
export const conversions: Readonly<Record<string, (value: Value) => Result>> = {
  type: (value) => new TypeValue(kindOf(value)),
  dyn: (value) => value,
  bool: toBool,
  bytes: toBytes,
  double: toDouble,
  duration: toDuration,
  int: toInt,
  string: toText,
  timestamp: toTimestamp,
  uint: toUint,
};
