/** Walks of objects recurse: one that is nested beyond what the stack holds ends in this error of the runtime. */

const message = "Maximum call stack size exceeded";

export const isTooDeep = (error: unknown): boolean => error instanceof RangeError && error.message === message;

/** The same error, of a walk that another thread made. */
export const tooDeep = (): Error => new RangeError(message);
