/** `binnacle types`: prints TypeScript for custom resources, from files with their definitions or from a cluster. */
import { connect } from "#client/cluster.ts";
import { CustomResourceDefinition } from "#client/kinds.ts";
import { DefinitionError, printTypes } from "#client/type-printer.ts";
import { connectionFlags, findServer } from "#server/running-server.ts";
import { binnacleFlag, boolean, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command } from "./command.ts";
import { readDocuments } from "./documents.ts";
import { linesOf } from "./manifests.ts";

const flags = {
  ...connectionFlags,
  fromCluster: boolean(binnacleFlag("from-cluster"), false, "Reads the definitions from a cluster instead of files."),
  import: text(binnacleFlag("import"), "binnacle/client", "package", "The package that the code imports from."),
};

const help = `Prints TypeScript types and kinds for custom resources, for binnacle/client.

Usage: binnacle types FILE... [flags] > boats.ts
       binnacle types --from-cluster [KIND]... [flags] > kinds.ts

  FILE                            YAML or JSON with definitions, - for stdin; other objects in it are passed over
  KIND                            kind, plural or plural.group of a definition; default: all of them
  -h, --help                      print this

Each served version of a definition becomes an interface, with the descriptions of its schema, and a value of the same
name. The preferred version has the name of the kind, others have their version in it: Boat, BoatV1beta1.

Examples:
  binnacle types boats.yaml > boats.ts
  binnacle types --from-cluster boats.example.com > boats.ts

`;

/** Runs `binnacle types`. Rejects with `StartError`. */
export const types = command(flags, help, async (settings, rest) => {
  const { fromCluster = false, import: library } = settings;
  if (rest.length === 0 && !fromCluster) {
    throw new StartError("types needs files with definitions, or --from-cluster: binnacle types boats.yaml > boats.ts");
  }
  const definitions = fromCluster ? await clusterDefinitions(settings, rest) : await fileDefinitions(rest);
  try {
    process.stdout.write(printTypes(definitions, { library }));
  } catch (error) {
    if (error instanceof DefinitionError) throw new StartError(error.message, { cause: error });
    throw error;
  }
});

async function fileDefinitions(files: readonly string[]): Promise<readonly unknown[]> {
  const definitions: unknown[] = [];
  for (const file of files) {
    const before = definitions.length;
    for await (const document of readDocuments(linesOf(file))) {
      if ("problem" in document) throw new StartError(`${file}, line ${document.line}: ${document.problem}`);
      if (document.object.kind === "CustomResourceDefinition") definitions.push(document.object);
    }
    if (definitions.length === before) throw new StartError(`${file} has no CustomResourceDefinition`);
  }
  return definitions;
}

async function clusterDefinitions(
  settings: Parameters<typeof findServer>[0],
  words: readonly string[],
): Promise<readonly unknown[]> {
  await using cluster = await connect({ settings: await findServer(settings), manager: "binnacle-types" });
  let definitions: CustomResourceDefinition[];
  try {
    definitions = await Array.fromAsync(cluster.kind(CustomResourceDefinition).list());
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  if (words.length === 0) return definitions;
  return words.flatMap((word) => {
    const lower = word.toLowerCase();
    const named = definitions.filter(({ metadata, spec: { names } }) =>
      [metadata.name, names.plural, names.singular, names.kind].some((name) => name?.toLowerCase() === lower),
    );
    if (named.length === 0) throw new StartError(`the cluster has no definition of ${JSON.stringify(word)}`);
    return named;
  });
}
