/** A JSON value that its type can not hold. Callers that answer a client say which object it was and make it a 400. */
export class DecodeError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DecodeError";
  }
}
