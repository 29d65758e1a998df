/** The error that a command ends with. */
import { oneLine } from "./printable.ts";

/**
 * An error that prevents the start: an invalid flag, a port or data folder in use, an unreadable certificate. Its
 * message is one line for the user, without control characters. It is thrown before anything is written.
 */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(oneLine(message), options);
    this.name = "StartError";
  }
}
