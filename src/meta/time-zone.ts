/** Names of time zones, from the IANA database of the runtime. */

/** Names that the runtime knows but the database does not have. */
const foreign =
  /^(?:A[CES]T|A[GR]T|B[ES]T|C[ANS]T|CTT|E[AC]T|I[ES]T|JST|MIT|N[ES]T|P[LNRS]T|SST|VST|SystemV\/.*|US\/Pacific-New|Canada\/East-Saskatchewan)$/;

/** Whether the database has a zone or a link with this name, in the same case. */
export function isTimeZone(name: string): boolean {
  if (name === "Factory") return true;
  // Every part begins with a capital letter; this leaves out offsets such as `+01:00`.
  if (!/^[A-Z][\w+-]*(?:\/[A-Z][\w+-]*)*$/.test(name) || foreign.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions();
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false; // a RangeError: the runtime does not know the name
  }
}
