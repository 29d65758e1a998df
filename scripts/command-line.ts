/** The command lines of scripts: options, `--help`, and errors in one line. */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

const help = { help: { type: "boolean", short: "h" } } as const;

/**
 * Parses the options and names given to a script. `--help` prints `usage` and ends the process. An unknown option, or a
 * name that is not accepted, ends the process with code 2. `args` are those of the process by default.
 */
export function readCommandLine<const T extends ParseArgsOptionsConfig, const P extends boolean = false>(
  usage: string,
  options: T,
  allowPositionals?: P,
  args: readonly string[] = process.argv.slice(2),
) {
  const parse = () =>
    parseArgs({ args, allowPositionals: (allowPositionals ?? false) as P, options: { ...options, ...help } });
  let given: ReturnType<typeof parse>;
  try {
    given = parse();
  } catch (error) {
    // The error of parseArgs is about the command line; only its first sentence is shown.
    process.stderr.write(`${(error as Error).message.split(/\.\s/)[0]}; --help prints what there is\n`);
    process.exit(2);
  }
  if ((given.values as { help?: boolean }).help === true) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  return given;
}
