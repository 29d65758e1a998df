/** Detects the runtime's stack overflow, in which recursive walks of deeply nested objects end. */

const message = "Maximum call stack size exceeded";

export const isTooDeep = (error: unknown): boolean => error instanceof RangeError && error.message === message;

/** The same error, of a walk that another thread made. */
export const tooDeep = (): Error => new RangeError(message);
