/** Flags of commands that write objects. */
import { binnacleFlag, choice, type Flag } from "#std/flags.ts";

type DryRun = "none" | "server" | "true";

/** Without a value it means `server`, which has the server check everything. */
export const dryRunFlag: Flag<DryRun> = {
  ...choice<DryRun>(
    binnacleFlag("dry-run"),
    "none",
    ["none", "server", "true"],
    "Has the server check everything and write nothing: none, or server, which it means without a value.",
  ),
  hint: "",
};

export const isDry = (value: DryRun | undefined): boolean => value === "server" || value === "true";

/** Returns the mark of a line about something that was not written. */
export const dryMark = (isDryRun: boolean): string => (isDryRun ? " (server dry run)" : "");

/** The field manager of what the commands write. */
export const fieldManager = "binnacle";

/** Returns the query of a write. */
export function writeQuery(isDryRun: boolean, more: Readonly<Record<string, string>> = {}): string {
  return `?${new URLSearchParams({ fieldManager, ...(isDryRun ? { dryRun: "All" } : {}), ...more }).toString()}`;
}
