/**
 * A start that cannot be: a bad flag, a port or data folder in use, an unreadable certificate. The message is one line
 * for the person who typed the command; nothing has been written when it is thrown.
 */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*\n\s*/g, " "), options);
    this.name = "StartError";
  }
}
