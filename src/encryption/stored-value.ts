/** Decrypts a stored value with the providers for its key. */
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Unversioned, ValueForm } from "#storage/log-store.ts";
import { type Decrypted, encryptedPrefix, startsWith } from "./transformer.ts";
import type { Transformers } from "./transformers.ts";

interface ClearValue {
  readonly value: Unversioned;
  /**
   * The provider that encrypted the value, and the number of bytes that this added; `undefined` for a value that was
   * not encrypted.
   */
  readonly stored: { readonly origin: string; readonly extraBytes: number } | undefined;
}

/** Whether a stored value is encrypted. */
export const isEncrypted = ({ bytes, revisionOffset }: Unversioned): boolean =>
  revisionOffset < 0 && startsWith(bytes, encryptedPrefix);

/**
 * Decrypts the value of a key, which is stored in a form. Throws or rejects with `TransformError`. The memory of `value`
 * is reused when this function has returned.
 */
export function inClear(
  transformers: Transformers,
  form: ValueForm,
  { key, value }: { readonly key: string; readonly value: Unversioned },
): MaybePromise<ClearValue> {
  const transformer = transformers.of(key);
  const { bytes } = value;
  const isHidden = isEncrypted(value);
  // The usual case: resources that are not encrypted.
  if (!isHidden && transformer.origin === "") return { value, stored: undefined };
  const opened = ({ value: clear, origin }: Decrypted): ClearValue =>
    isHidden
      ? { value: form.unpack(clear, key), stored: { origin, extraBytes: bytes.length - clear.length } }
      : { value, stored: undefined };
  return andThen(transformer.decrypt(bytes, form.nameOf(key)), opened);
}
