/** Waiting for a field that names a state: `outcome` makes the predicate of `until`, and fails for unknown states. */

/** The values of a field by what they mean; `undefined` means that the field is absent. */
interface KnownValues {
  /** The values with which the waiting ends. */
  readonly done: readonly (string | undefined)[];
  /** The values with which it goes on. */
  readonly waiting: readonly (string | undefined)[];
}

/** A field has a value that is neither waited for nor on the way there. */
export class UnexpectedValueError extends Error {
  readonly value: string | undefined;

  constructor(message: string, value: string | undefined) {
    super(message);
    this.name = "UnexpectedValueError";
    this.value = value;
  }
}

/**
 * Returns a predicate for `until`: true for a value of `done`, false for one of `waiting` and while there is no object.
 * It throws `UnexpectedValueError` for every other value: servers may have more values than a program knows, and each
 * of these counts as failure.
 *
 *     await claims.until("data", outcome((claim) => claim.status.phase, { done: ["Bound"], waiting: ["Pending"] }));
 */
export function outcome<T extends object>(
  read: (object: T) => string | undefined,
  { done, waiting }: KnownValues,
): (object: T | undefined) => boolean {
  return (object) => {
    if (object === undefined) return false;
    const value = read(object);
    if (done.includes(value)) return true;
    if (waiting.includes(value)) return false;
    const { kind = "object", metadata } = object as { kind?: string; metadata?: { name?: string } }; // as all objects
    const told = value === undefined ? "no value" : JSON.stringify(value);
    throw new UnexpectedValueError(
      `${kind} ${JSON.stringify(metadata?.name ?? "")} has ${told}, which is none of ${[...done, ...waiting].join(", ")}`,
      value,
    );
  };
}
