/** The memory limit of one large request, and the error beyond it. */
import { requestTooLarge } from "#meta/status-error.ts";

/** The memory limit of a thread in megabytes; the largest bodies of honest clients need a tenth. */
export const memoryMbMax = 384;

export const outgrown = (): ReturnType<typeof requestTooLarge> =>
  requestTooLarge(`it needs more than the ${memoryMbMax} MB of memory that one request may have`);

/** Whether a text was to become longer than any may be, as deep nesting makes it when it is indented. */
export const isTextTooLong = (error: unknown): boolean =>
  error instanceof RangeError && error.message === "Invalid string length";
