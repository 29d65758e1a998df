/** `binnacle completion SHELL`: the script by which a shell completes lines, and the command that the script calls. */
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command, type Command, commandOf } from "./command.ts";
import { complete, type CommandLoaders } from "./completion/candidates.ts";
import { filesMark, replacementOf, scripts, type Shell, shells, wordsOf } from "./completion/scripts.ts";

const help = `Prints the script by which a shell completes lines of binnacle: commands, flags and their values, kinds and names of
objects of the cluster that the line is about.

Usage: binnacle completion (bash | zsh | fish)

  -h, --help                      print this

Examples:
  source <(binnacle completion bash)
  binnacle completion bash > /etc/bash_completion.d/binnacle
  binnacle completion zsh > "\${fpath[1]}/_binnacle"
  binnacle completion fish > ~/.config/fish/completions/binnacle.fish

`;

/** Prints the script of a shell. Rejects with `StartError`. */
export const completion = command({}, help, async (_, rest) => {
  const [name, ...more] = rest;
  const shell = shellNamed(name);
  if (shell === undefined || more.length > 0)
    throw new StartError(`name one shell of ${shells.join(", ")}: binnacle completion bash`);
  process.stdout.write(scripts[shell]);
});

const shellNamed = (name: string | undefined): Shell | undefined => shells.find((one) => one === name);

/** The time after which a line has no more candidates, in milliseconds. */
const patienceMs = 3000;

/**
 * Makes the command of the scripts: `binnacle complete-line SHELL -- WORD…` prints what can stand for the last word, one
 * candidate a line.
 */
export const lineCompletion = (loaders: CommandLoaders, helpOf: (command: string) => string): Command =>
  commandOf(async ([name, mark, ...given]) => {
    const shell = shellNamed(name);
    if (shell === undefined || mark !== "--") throw new StartError("complete-line is called by the script of a shell");
    setTimeout(() => process.exit(0), patienceMs).unref();
    const words = wordsOf(shell, given);
    const last = words.at(-1) ?? "";
    const found = await complete(words, loaders, helpOf);
    if (found === "files") {
      process.stdout.write(`${filesMark}\n`);
      return;
    }
    const value = last.startsWith("-") && last.includes("=") ? last.slice(last.indexOf("=") + 1) : last;
    const lines = found
      .filter(({ text }) => text.startsWith(value))
      .map(({ text, help: about }) => `${replacementOf(shell, last, text)}\t${printable(about)}\n`);
    process.stdout.write(lines.join(""));
  });
