/**
 * Values of expressions. JSON objects are read in place, so most values are what JSON decoding made:
 *
 * | type | value |
 * | --- | --- |
 * | null, bool, string | `null`, boolean, string |
 * | int | number while it is a safe integer, bigint beyond |
 * | uint, double, bytes | `Uint`, `Double`, `Uint8Array` |
 * | list | array |
 * | map, object | plain object (JSON; own keys only), `Map` where keys are not strings or the expression made it |
 * | timestamp, duration | `Timestamp`, `Duration` |
 * | type | `TypeValue` |
 * | optional, opaque types of libraries | `Optional`, instances of `Opaque` |
 *
 * Where the declared type of a JSON number is `double`, reading it makes a `Double`. In data without a declared type a
 * number is an int if it is whole and was written so, a `Double` otherwise (raw numbers of `std/raw-number.ts` tell).
 * Errors are values too (`CelError`), since `&&`, `||` and loops take them in.
 */
import type { CelType } from "./types.ts";

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

const second = 1_000_000_000n;

/** A span of time with a sign. */
export class Duration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A moment from year 1 to year 9999. */
export class Timestamp {
  /** Nanoseconds since 1970. */
  readonly nanoseconds: bigint;
  /** East of UTC, as it was written; only its text shows that. */
  readonly offsetSeconds: number;

  constructor(nanoseconds: bigint, offsetSeconds = 0) {
    this.nanoseconds = nanoseconds;
    this.offsetSeconds = offsetSeconds;
  }

  get seconds(): bigint {
    return (this.nanoseconds - (((this.nanoseconds % second) + second) % second)) / second;
  }
}

/** A type as a value: `int`, `type(x)`. No `CelType`, which data with a field `kind` could not be told from. */
export class TypeValue {
  /** Without parameters: `list`, `google.protobuf.Timestamp`. */
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value of a library's own type. */
export abstract class Opaque {
  abstract readonly type: CelType;
  /** `undefined`: the two cannot be compared, as `==` says with an error. */
  abstract equals(other: Value): boolean | undefined;
}

/** `optional.of(value)`, or `optional.none()`. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** The reason why an evaluation has no value. Clients see the message. */
export class CelError {
  readonly message: string;
  /** The node that failed has this id. */
  readonly id: number;

  constructor(message: string, id = 0) {
    this.message = message;
    this.id = id;
  }
}

/** Values that constants have. */
export type Scalar = null | boolean | string | number | bigint | Uint | Double | Uint8Array;

export type Value =
  | Scalar
  | Timestamp
  | Duration
  | TypeValue
  | Opaque
  | Optional
  | readonly Value[]
  | ReadonlyMap<Value, Value>
  | { readonly [key: string]: Value };
