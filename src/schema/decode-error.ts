/** A JSON value that its type cannot hold. Callers add the object's identity and answer 400. */
export class DecodeError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DecodeError";
  }
}
