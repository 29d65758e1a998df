/** `binnacle auth`: what a user may do, who a user is, and roles and bindings that are brought in line with files. */
import { StartError } from "#std/start-error.ts";
import { canI } from "./auth/can-i.ts";
import { reconcile } from "./auth/reconcile.ts";
import { whoami } from "./auth/whoami.ts";
import { type Command, commandOf } from "./command.ts";

const help = `Answers questions about access, and manages roles.

Usage: binnacle auth <command> [flags]

  can-i VERB KIND[/NAME]   whether you, or the user of --as, may do something
  whoami                   who you are for the server
  reconcile -f FILE        make roles and bindings have at least what a file says

Each has its own help: binnacle auth can-i --help

Examples:
  binnacle auth whoami
  binnacle auth can-i create deployments -n shop --as=alice
`;

const commands: Readonly<Record<string, Command>> = {
  "can-i": canI,
  whoami,
  reconcile,
};

/** Runs `binnacle auth`. Rejects with `StartError`. */
export const auth = commandOf(
  async ([name = "", ...args]) => {
    if (name === "" || name === "--help" || name === "-h") {
      process.stdout.write(help);
      return;
    }
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) {
      throw new StartError(`auth has no command ${JSON.stringify(name)}: it has ${Object.keys(commands).join(", ")}`);
    }
    await command(args);
  },
  { help, commands },
);
