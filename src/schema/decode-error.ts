/** The error that decoders throw. */
import type { FieldPath } from "#meta/field-path.ts";

/** The error of a value that does not fit its type. Callers add the identity of the object and answer 400. */
export class DecodeError extends Error {
  /**
   * The path of the field; set only if upstream's message does not name it: for types with a special JSON form, such as
   * Time and Quantity.
   */
  readonly path: FieldPath | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly path?: FieldPath | undefined }) {
    super(message, options);
    this.name = "DecodeError";
    this.path = options?.path;
  }
}
