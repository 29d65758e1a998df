/** `binnacle undelete`: brings deleted objects back, or with `--overwrite` an older version of one that is there. */
import { ApiError } from "#client/api-error.ts";
import { withQuery } from "#client/pages.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { binnacleFlag, boolean, optional } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag, selectorFlag } from "./command.ts";
import { clusterFlags, type OpenCluster, withCluster } from "./open-cluster.ts";
import { isStructured, objectsText } from "./output.ts";
import { hasNoHistory, needsBinnacle, pastPath, readPast } from "./past-events.ts";
import { type KindTarget, targetsOf } from "./targets.ts";

const flags = {
  ...clusterFlags,
  selector: selectorFlag("Brings back all deleted objects of the kind that had these labels: app=web,!old."),
  since: optional(
    binnacleFlag("since"),
    "time",
    "With --selector: objects that were deleted since then, such as 10m, 2d or 2026-01-31T12:00:00Z; default: 1h.",
  ),
  toVersion: optional(
    binnacleFlag("to-version"),
    "version",
    "Which version; default: the last one before the deletion.",
  ),
  overwrite: boolean(
    binnacleFlag("overwrite"),
    false,
    "Replaces an object that is there by the version of --to-version.",
  ),
  dryRun: boolean(binnacleFlag("dry-run"), false, "Has the server check it and write nothing."),
  output: formFlag(["text", "json", "yaml"], "A sentence for each object, or the restored objects."),
};

const help = `Brings deleted objects back, or with --overwrite an older version of one that is there.

Usage: binnacle undelete KIND NAME... [flags]
       binnacle undelete KIND -l LABELS [--since TIME] [flags]

  KIND                            plural, singular or short name of the kind, also with .GROUP: deploy, deploy.apps
  NAME                            name of the object
  -h, --help                      print this

Each is a new object of that content, without its status and without owners that are gone. That takes the rights to
restore, get and create (with --overwrite: update) it, and with -l the right to list the kind. An object that cannot be
restored is told, and the others are restored; the exit code is then 1.

Examples:
  binnacle undelete deploy web -n shop
  binnacle undelete cm -l app=web --since 30m --dry-run
  binnacle undelete cm settings --to-version=1234 --overwrite --dry-run

`;

/** The number of deletions that a selector may find. */
const deletionsMax = 100_000;

/** Runs `binnacle undelete`. Rejects with `StartError`. */
export const undelete = command(flags, help, async (settings, rest) => {
  const { toVersion, overwrite = false, dryRun = false, output = "text", selector, since } = settings;
  if (overwrite && toVersion === undefined) throw new StartError("--overwrite needs --to-version");
  if (since !== undefined && selector === undefined) throw new StartError("--since needs labels: add -l");
  await withCluster(settings, async (cluster) => {
    const targets = await targetsOf(cluster, "undelete", rest);
    const named = targets.flatMap(({ names }) => names);
    if (selector === undefined ? named.length === 0 : named.length > 0) {
      throw new StartError("undelete takes names or labels: binnacle undelete KIND NAME..., or KIND -l LABELS");
    }
    if (toVersion !== undefined && named.length !== 1) throw new StartError("--to-version is that of one object");
    const body = {
      ...(toVersion === undefined ? {} : { resourceVersion: toVersion }),
      ...(overwrite ? { overwrite } : {}),
    };
    const restored: Unstructured[] = [];
    for (const target of targets) {
      const names =
        selector === undefined ? target.names : await deletedNames(cluster, target, selector, since ?? "1h");
      if (names.length === 0) process.stderr.write("No deleted objects found\n");
      for (const name of names) {
        const path = `${pastPath(target.resource, cluster.namespace, name)}/restore${dryRun ? "?dryRun=All" : ""}`;
        try {
          const value = await cluster.call<Unstructured>({ method: "POST", path, body });
          restored.push(value);
          if (!isStructured(output)) process.stdout.write(`${restoredText(value, dryRun)}\n`);
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          if (hasNoHistory(error)) throw needsBinnacle("undelete");
          if (names.length === 1) throw error;
          process.stderr.write(`binnacle: ${error.message}\n`);
          process.exitCode = 1;
        }
      }
    }
    if (isStructured(output) && restored.length > 0) process.stdout.write(objectsText(output, restored));
  });
});

/** Returns the names of the objects with these labels that were deleted since a time, and are not there now. */
async function deletedNames(
  cluster: OpenCluster,
  { resource }: KindTarget,
  selector: string,
  since: string,
): Promise<readonly string[]> {
  const query = new URLSearchParams({ deleted: "true", labelSelector: selector, since });
  const path = withQuery(pastPath(resource, cluster.namespace), query.toString());
  try {
    const { items } = await readPast(cluster, path, deletionsMax);
    const names = new Set(items.flatMap(({ name }) => name ?? []));
    const gone: string[] = [];
    for (const name of names) {
      if ((await cluster.find(cluster.address(resource, name).path)) === undefined) gone.push(name);
    }
    return gone.sort();
  } catch (error) {
    throw hasNoHistory(error) ? needsBinnacle("undelete") : error;
  }
}

function restoredText({ kind = "object", metadata }: Unstructured, dryRun: boolean): string {
  const { name = "", namespace: ns, resourceVersion } = metadata;
  const where = ns === undefined ? "" : ` in ${ns}`;
  const what = `${kind} ${JSON.stringify(name)}${where}`;
  return dryRun ? `${what} would be restored (dry run)` : `${what} restored, now in version ${resourceVersion ?? "?"}`;
}
