/** Values of log files before layout 5, which contain their revision. */
import type { Revision } from "../log-store.ts";
import { packed, unversioned, unversionedBytes } from "../versioned-value.ts";

const member = '"resourceVersion":"';

/** The value of a row in today's form: an object or a short text, whose first byte differs from all values of today. */
export function legacyValue({
  value,
  revision,
}: {
  readonly value: Uint8Array;
  readonly revision: Revision;
}): Uint8Array {
  const first = value[0];
  if (first === undefined || first === 0 || first === 0xff) return value;
  const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
  const known = `${member}${revision}"`;
  const at = text.indexOf(known);
  if (at < 0) return packed(unversionedBytes(value));
  return packed(unversioned(`${text.slice(0, at)}${member}"${text.slice(at + known.length)}`, member));
}
