/** The error of credentials that cannot be had. */

/** The message is one line that says what to do, and holds no secret. */
export class CredentialsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CredentialsError";
  }
}
