/** `binnacle apply`: server-side apply of files, with conflicts told by field and manager. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiError } from "#client/api-error.ts";
import { binnacleFlag, boolean, refuseArguments, text } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command } from "./command.ts";
import { filenameFlag, readManifests } from "./manifests.ts";
import { clusterFlags, type ObjectAddress, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { ObjectReport, outputFlag, outputOf } from "./output.ts";
import { dryMark, dryRunFlag, fieldManager, isDry, writeQuery } from "./write-flags.ts";

export const applyFlags = {
  ...clusterFlags,
  filename: filenameFlag,
  forceConflicts: boolean(binnacleFlag("force-conflicts"), false, "Takes fields that other managers own."),
  fieldManager: text(binnacleFlag("field-manager"), fieldManager, "name", "The name under which fields are owned."),
};

const flags = { ...applyFlags, dryRun: dryRunFlag, output: outputFlag };

const help = `Makes objects have what files say, by server-side apply: fields that a file had before and no longer has are removed, and
fields of others stay. A field that somebody else manages with another value is a conflict, and nothing of its object is written.

Usage: binnacle apply -f FILE [flags]

  -h, --help                      print this

Examples:
  binnacle apply -f shop.yaml -n shop
  binnacle apply -f manifests/ --dry-run
  cat web.yaml | binnacle apply -f - --force-conflicts -o yaml

`;

/** Runs `binnacle apply`; ends the process with 1 if an object was refused. Rejects with `StartError`. */
export const apply = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "name files with -f");
  const report = new ObjectReport(outputOf(settings.output));
  const isDryRun = isDry(settings.dryRun);
  const objects = await readManifests("apply", settings.filename);
  await withCluster(settings, async (cluster) => {
    for (const object of objects) {
      const address = await addressInNamespace(cluster, object);
      const name = shownName(address.resource, address.name);
      try {
        const how = { isDryRun, force: settings.forceConflicts ?? false, manager: settings.fieldManager };
        report.add(name, `applied${dryMark(isDryRun)}`, await applyObject(cluster, address, object, how));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        process.stderr.write(`binnacle: ${refusalText(name, error)}\n`);
        process.exitCode = 1;
      }
    }
    report.end();
  });
});

/** Returns the address of an object of a file. Throws `StartError` if it names another namespace than `-n`. */
export function addressInNamespace(cluster: OpenCluster, object: Unstructured): Promise<ObjectAddress> {
  const { namespace } = object.metadata;
  if (cluster.isNamespaceGiven && namespace !== undefined && namespace !== cluster.namespace) {
    throw new StartError(
      `${object.kind} ${JSON.stringify(object.metadata.name)} is of namespace ${namespace}, and -n says ${cluster.namespace}: leave out one of them`,
    );
  }
  return cluster.addressOf(object);
}

interface ApplyHow {
  readonly isDryRun: boolean;
  readonly force: boolean;
  readonly manager?: string | undefined;
}

export function applyObject(
  cluster: OpenCluster,
  { path, namespace }: ObjectAddress,
  object: Unstructured,
  { isDryRun, force, manager = fieldManager }: ApplyHow,
): Promise<Unstructured> {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return cluster.call<Unstructured>({
    method: "PATCH",
    path: path + writeQuery(isDryRun, { fieldManager: manager, ...(force ? { force: "true" } : {}) }),
    contentType: "application/apply-patch+yaml",
    body: { ...object, metadata: namespace === "" ? metadata : { ...metadata, namespace } },
  });
}

/** Returns what was refused and why; conflicts have a line for each field. */
export function refusalText(name: string, error: ApiError): string {
  const causes = error.status.details?.causes ?? [];
  const conflicts = causes.filter(({ reason }) => reason === "FieldManagerConflict");
  if (conflicts.length === 0) return `${name}: ${error.message}`;
  const lines = conflicts.map(({ field = "", message = "" }) => {
    return `  ${printable(field)} belongs to ${printable(message.replace(/^conflict with (?=")/, ""))}`;
  });
  const count = conflicts.length === 1 ? "a field" : `${conflicts.length} fields`;
  return `${name}: not applied, since ${count} would change that others manage; --force-conflicts takes them\n${lines.join("\n")}`;
}
