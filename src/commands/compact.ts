/** `binnacle compact`: drops history and frees its space, through the running server or directly in a folder. */
import { resolve } from "node:path";
import { compactPath } from "#server/endpoints.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, duration, type Flag, integer, refuseArguments, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { valueText } from "./print.ts";
import { withStore } from "./server-or-store.ts";

/** Returns the flag without a default in its help text, since one of the two flags must be given. */
const withoutDefault = (flag: Flag<number>): Flag<number> => ({ ...flag, print: () => "" });

const flags = {
  dataDir: text(binnacleFlag("data-dir"), "./.binnacle", "folder", "The server's data folder."),
  revision: withoutDefault(
    integer(
      binnacleFlag("revision"),
      0,
      { min: 1, max: Number.MAX_SAFE_INTEGER },
      "Drops what was replaced or deleted up to this revision.",
    ),
  ),
  olderThan: withoutDefault(
    duration(
      binnacleFlag("older-than"),
      0,
      "Drops what was replaced or deleted longer ago; times are known where the server runs with --history.",
    ),
  ),
  output: formFlag(["text", "json"], "A sentence, or JSON."),
};

const help = `Drops superseded versions of objects, and gives the room back to the file system.

Usage: binnacle compact (--revision N | --older-than 1h) [flags]

  -h, --help                      print this

Watches and lists of older versions then begin anew, and binnacle history goes back no further. Objects stay as they are.

Examples:
  binnacle compact --older-than=1h
  binnacle compact --revision=41000 --data-dir=elsewhere

`;

interface Dropped {
  readonly revision: string | number;
  readonly bytes: number;
}

/** Drops history and prints the freed bytes. Rejects with `StartError`. */
export const compact = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "compact takes flags only");
  const { revision, olderThan } = settings;
  if ((revision === undefined) === (olderThan === undefined)) {
    throw new StartError("say how much is dropped: --revision N or --older-than 1h");
  }
  const dropped = await withStore<Dropped>(resolve(settings.dataDir ?? flags.dataDir.default), {
    path: compactPath,
    body: revision === undefined ? { olderThanSeconds: (olderThan ?? 0) / 1000 } : { revision: String(revision) },
    offline: (log) => log.drop(revision === undefined ? { at: systemClock.now() - (olderThan ?? 0) } : { revision }),
  });
  if (settings.output === "json")
    process.stdout.write(valueText("json", { ...dropped, revision: String(dropped.revision) }));
  else process.stdout.write(`${droppedText(dropped)}\n`);
});

function droppedText({ revision, bytes }: Dropped): string {
  if (Number(revision) === 0) return "nothing was dropped: nothing is known to be that old";
  return `history before revision ${revision} dropped, ${bytes} bytes given back`;
}
