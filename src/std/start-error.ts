/**
 * An error that prevents the start: an invalid flag, a port or data folder in use, an unreadable certificate. Its
 * message is one line for the user. It is thrown before anything is written.
 */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*\n\s*/g, " "), options);
    this.name = "StartError";
  }
}
