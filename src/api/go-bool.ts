/** Boolean values of flags, parsed as Go does. */

/** Returns the value, or Go's error message. */
export function parseBool(text: string): boolean | string {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
  return `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`;
}
