/** Command lines of scripts: options, `--help`, and one-line errors. */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

const help = { help: { type: "boolean", short: "h" } } as const;

/**
 * The options and names given to a script. `--help` prints `usage` and ends the process; an unknown option, or a name
 * where none is accepted, is an error with exit code 2. `args` are the process's by default.
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
    // parseArgs throws nothing but what is wrong with the command line, and what to do in more sentences.
    process.stderr.write(`${(error as Error).message.split(/\.\s/)[0]}; --help prints what there is\n`);
    process.exit(2);
  }
  if ((given.values as { help?: boolean }).help === true) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  return given;
}
