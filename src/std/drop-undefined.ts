/** Objects whose optional fields are computed. */

/** Returns the object without optional fields that are undefined. */
export function dropUndefined<T extends object>(fields: { readonly [Field in keyof T]: T[Field] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T; // says the caller
}
