/** Detects the runtime's stack overflow, in which recursive functions on deeply nested objects end. */

const message = "Maximum call stack size exceeded";

export const isTooDeep = (error: unknown): boolean => error instanceof RangeError && error.message === message;

/** Returns the same error for an overflow in another thread. */
export const tooDeep = (): Error => new RangeError(message);
