/** `binnacle diff`: what an apply of files would change, as the server would store it. */
import { isDeepStrictEqual } from "node:util";
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiError } from "#client/api-error.ts";
import { refuseArguments } from "#std/flags.ts";
import { addressInNamespace, applyFlags, applyObject, refusalText } from "./apply.ts";
import { command, commandOf, formFlag } from "./command.ts";
import { lineDiff } from "#std/line-diff.ts";
import { readManifests } from "./manifests.ts";
import { masked } from "#meta/masked-secret.ts";
import { shownName, withCluster } from "./open-cluster.ts";
import { isStructured, withoutManagedFields } from "./output.ts";
import { valueText } from "./print.ts";

const flags = {
  ...applyFlags,
  output: formFlag(["text", "json", "yaml"], "Lines that differ, or the objects that differ, before and after."),
};

const help = `Prints what binnacle apply would change, as the server would store it, and writes nothing. The exit code is 0 without
differences, 1 with some, and 2 after a failure. Values of secrets are not shown.

Usage: binnacle diff -f FILE [flags]

  -h, --help                      print this

Examples:
  binnacle diff -f shop.yaml -n shop
  binnacle diff -f manifests/ || binnacle apply -f manifests/

`;

interface Difference {
  readonly name: string;
  /** The object as it is; `undefined` if there is none. */
  readonly before: Unstructured | undefined;
  readonly after: Unstructured;
}

const printDifferences = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "name files with -f");
  const objects = await readManifests("diff", settings.filename);
  const { output = "text", forceConflicts: force = false, fieldManager: manager } = settings;
  await withCluster(settings, async (cluster) => {
    const differences: Difference[] = [];
    for (const object of objects) {
      const address = await addressInNamespace(cluster, object);
      const name = shownName(address.resource, address.name);
      const live = await cluster.find<Unstructured>(address.path);
      let applied: Unstructured;
      try {
        applied = await applyObject(cluster, address, object, { isDryRun: true, force, manager });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        process.stderr.write(`binnacle: ${refusalText(name, error)}\n`);
        process.exitCode = 2;
        continue;
      }
      const [before, after] = masked(live && bare(live, live), bare(applied, live));
      if (after === undefined) continue;
      if (isDeepStrictEqual(before, after)) continue;
      differences.push({ name, before, after });
      if (isStructured(output)) continue;
      const text = lineDiff(before === undefined ? "" : valueText("yaml", before), valueText("yaml", after));
      process.stdout.write(`--- live/${name}\n+++ applied/${name}\n${text}`);
    }
    if (isStructured(output)) process.stdout.write(valueText(output, differences));
    if (differences.length > 0 && process.exitCode === undefined) process.exitCode = 1;
  });
});

/** Runs `binnacle diff`; ends the process with 1 if there are differences, and with 2 after a failure. */
export const diff = commandOf(
  async (args) => {
    try {
      await printDifferences(args);
    } catch (error) {
      process.exitCode = 2;
      throw error;
    }
  },
  { flags, help },
);

/** Returns an object without what changes with every write, and what a new object is given at random. */
function bare(object: Unstructured, live: Unstructured | undefined): Unstructured {
  const { resourceVersion: _version, generation: _generation, ...rest } = withoutManagedFields(object).metadata;
  const { uid: _uid, creationTimestamp: _time, ...metadata } = rest;
  return { ...object, metadata: live === undefined ? metadata : rest };
}
