/** A command-line mistake, reported in one line without a stack. */
export class UsageError extends Error {}
