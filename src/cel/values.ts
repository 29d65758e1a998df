/**
 * Values of expressions. JSON objects are read in place, so most values are those that JSON decoding made:
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
 * A JSON number whose declared type is `double` becomes a `Double` when it is read. Without a declared type, a number
 * is an int if it is whole and was written as a whole number (raw numbers of `std/raw-number.ts` show this), else a
 * `Double`. Errors are values too (`CelError`), since `&&`, `||` and loops may ignore them.
 */
import type { CelType } from "./types.ts";

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A floating point number of 64 bits. It is an object, since a JavaScript number is an int. */
export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

const second = 1_000_000_000n;

/** A signed length of time. */
export class Duration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A time from year 1 to year 9999. */
export class Timestamp {
  /** The nanoseconds since 1970. */
  readonly nanoseconds: bigint;
  /** The offset in seconds east of UTC with which it was written; only its text shows it. */
  readonly offsetSeconds: number;

  constructor(nanoseconds: bigint, offsetSeconds = 0) {
    this.nanoseconds = nanoseconds;
    this.offsetSeconds = offsetSeconds;
  }

  get seconds(): bigint {
    return (this.nanoseconds - (((this.nanoseconds % second) + second) % second)) / second;
  }
}

/**
 * A type as a value, such as `int` or `type(x)`. It is not a `CelType`, since data with a field `kind` would look the
 * same.
 */
export class TypeValue {
  /** The name without parameters, such as `list` or `google.protobuf.Timestamp`. */
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value of a library type. */
export abstract class Opaque {
  abstract readonly type: CelType;
  /** Returns whether two values are equal; `undefined` if they cannot be compared, for which `==` has an error. */
  abstract equals(other: Value): boolean | undefined;
}

/** The value of `optional.of(value)`; of `optional.none()` if it is `undefined`. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** The reason why an evaluation has no value. Clients see the message. */
export class CelError {
  readonly message: string;
  /** The id of the node that failed; 0 if it is not known. */
  readonly id: number;

  constructor(message: string, id = 0) {
    this.message = message;
    this.id = id;
  }
}

/** The values of constants. */
export type Scalar = null | boolean | string | number | bigint | Uint | Double | Uint8Array;

/**
 * A value of an expression: ints are numbers, or bigints if they are not safe; a map is a `Map` that an expression
 * made, or a JSON object.
 */
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
