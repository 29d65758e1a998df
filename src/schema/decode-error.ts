/** The error of decoding. */
import type { FieldPath } from "#meta/field-path.ts";

/** A JSON value that its type cannot hold. Callers add the object's identity and answer 400. */
export class DecodeError extends Error {
  /** The path of the field is set where upstream's message does not name it: for types with a special JSON form, such as Time and Quantity. */
  readonly path: FieldPath | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly path?: FieldPath | undefined }) {
    super(message, options);
    this.name = "DecodeError";
    this.path = options?.path;
  }
}
