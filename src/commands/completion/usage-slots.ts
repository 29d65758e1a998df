/** Reads from the usage lines of a command's help what its arguments are, so that help and completion cannot differ. */

/** An argument: a word of the command itself, or one that the help names in capitals. */
export interface Slot {
  /** `KIND`, `NAME`, `KIND/NAME`, `VERB`, `FILE`, …; or the word itself, in small letters. */
  readonly is: string;
  /** Whether more arguments of this sort may follow. */
  readonly isRepeated: boolean;
}

/** Returns the arguments in each form of a command: one list for each line `binnacle COMMAND … [flags]` of the help. */
export function usageSlots(help: string, command: readonly string[]): readonly (readonly Slot[])[] {
  const opening = `binnacle ${command.join(" ")} `;
  return help
    .split("\n")
    .map((line) => line.replace(/^Usage:/, "      ").trim())
    .filter((line) => `${line} `.startsWith(opening))
    .map((line) => slotsOf(line.slice(opening.length)));
}

/** Returns the arguments of a line without its flags, and without what follows a pipe or redirection. */
function slotsOf(line: string): readonly Slot[] {
  const slots: Slot[] = [];
  let isValue = false;
  for (const word of line.replace(/\s[>|]\s.*$|\([^)]*\)|\[-[^\]]*\](?:\.\.\.)?/g, " ").split(/\s+/)) {
    const isFlag = word.startsWith("-");
    // The word after a flag of one letter is its value.
    if (isFlag || isValue || word === "" || word === "[flags]") {
      isValue = isFlag && !word.includes("=");
      continue;
    }
    const is = word
      .replace(/\.\.\.$/, "")
      .replaceAll(/\[,.*?\]/g, "")
      .replaceAll(/[[\]]/g, "");
    slots.push({ is, isRepeated: word.endsWith("...") });
  }
  return slots;
}
