/** A mistake on the command line: told in one line, without a stack. */
export class UsageError extends Error {}
