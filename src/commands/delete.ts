/** `binnacle delete`: deletes objects, and waits until they are gone. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiError } from "#client/api-error.ts";
import { binnacleFlag, boolean, choice, duration, integer, type Settings } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { addressInNamespace } from "./apply.ts";
import { awaitObject } from "./await-object.ts";
import { command, selectorFlag } from "./command.ts";
import { filenameFlag, readManifests } from "./manifests.ts";
import { namedObjects } from "./named-objects.ts";
import { clusterFlags, type ObjectAddress, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { ObjectReport, outputFlag, outputOf } from "./output.ts";
import { dryMark, dryRunFlag, isDry } from "./write-flags.ts";

const flags = {
  ...clusterFlags,
  filename: filenameFlag,
  selector: selectorFlag("The objects with these labels."),
  all: boolean(binnacleFlag("all"), false, "All objects of the kind in the namespace."),
  cascade: choice(
    binnacleFlag("cascade"),
    "background",
    ["background", "foreground", "orphan"],
    "What happens to objects that it owns: deleted after it, deleted before it, or kept.",
  ),
  gracePeriod: integer(
    binnacleFlag("grace-period"),
    -1,
    { min: -1, max: 2_147_483_647 },
    "Seconds that pods have to end; -1 leaves it to them.",
  ),
  ignoreNotFound: boolean(binnacleFlag("ignore-not-found"), false, "Does not fail when an object is absent."),
  wait: boolean(binnacleFlag("wait"), true, "Waits until the objects are gone, also for their finalizers."),
  timeout: duration(binnacleFlag("timeout"), 0, "The maximum time to wait for each; 0 means no limit."),
  dryRun: dryRunFlag,
  output: outputFlag,
};

const help = `Deletes objects, and waits until they are gone.

Usage: binnacle delete KIND NAME... [flags]
       binnacle delete KIND/NAME... [flags]
       binnacle delete KIND (-l LABELS | --all) [flags]
       binnacle delete -f FILE [flags]

  -h, --help                      print this

Examples:
  binnacle delete deploy web -n shop
  binnacle delete cm -l app=web --dry-run
  binnacle delete -f shop.yaml --ignore-not-found --wait=false

`;

/** Runs `binnacle delete`; ends the process with 1 if an object was not deleted. Rejects with `StartError`. */
export const deleteObjects = command(flags, help, async (settings, rest) => {
  const report = new ObjectReport(outputOf(settings.output));
  await withCluster(settings, async (cluster) => {
    const addresses = await chosen(cluster, rest, settings);
    if (addresses.length === 0) process.stderr.write("No resources found\n");
    const deleted: Unstructured[] = [];
    const gone: ObjectAddress[] = [];
    for (const address of addresses) {
      try {
        const answer = await deleteOne(cluster, address, settings);
        deleted.push(answer);
        gone.push(address);
        report.add(shownName(address.resource, address.name), `deleted${dryMark(isDry(settings.dryRun))}`, answer);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.code === 404 && settings.ignoreNotFound === true) continue;
        process.stderr.write(`binnacle: ${error.message}\n`);
        process.exitCode = 1;
      }
    }
    report.end();
    if (settings.wait !== false && !isDry(settings.dryRun)) await awaitGone(cluster, gone, deleted, settings.timeout);
  });
});

async function chosen(
  cluster: OpenCluster,
  rest: readonly string[],
  settings: Settings<typeof flags>,
): Promise<readonly ObjectAddress[]> {
  if (settings.filename === undefined) return namedObjects(cluster, "delete", rest, settings);
  if (rest.length > 0 || settings.selector !== undefined || settings.all === true) {
    throw new StartError("-f says which objects are meant: leave out kinds, names, -l and --all");
  }
  const objects = await readManifests("delete", settings.filename);
  const addresses: ObjectAddress[] = [];
  for (const object of objects) addresses.push(await addressInNamespace(cluster, object));
  return addresses;
}

const policies = { background: "Background", foreground: "Foreground", orphan: "Orphan" } as const;

function deleteOne(
  cluster: OpenCluster,
  { path }: ObjectAddress,
  { cascade = "background", gracePeriod = -1, dryRun }: Settings<typeof flags>,
): Promise<Unstructured> {
  // The query does not count beside a body.
  const body = {
    propagationPolicy: policies[cascade as keyof typeof policies],
    ...(gracePeriod < 0 ? {} : { gracePeriodSeconds: gracePeriod }),
    ...(isDry(dryRun) ? { dryRun: ["All"] } : {}),
  };
  return cluster.call<Unstructured>({ method: "DELETE", path, body });
}

/** Waits until the objects are gone, or others have their names. An answer without an object has its uid elsewhere. */
async function awaitGone(
  cluster: OpenCluster,
  addresses: readonly ObjectAddress[],
  answers: readonly Unstructured[],
  timeoutMs = 0,
): Promise<void> {
  for (const [i, address] of addresses.entries()) {
    const answer = answers[i] as Unstructured & { readonly details?: { readonly uid?: string } };
    const uid = answer.kind === "Status" ? answer.details?.uid : answer.metadata.uid;
    const test = (object: Unstructured | undefined): boolean =>
      object === undefined || (uid !== undefined && object.metadata.uid !== uid);
    // Somebody who may delete the object may be forbidden to look at it.
    const isReadable = await cluster.find(address.path).catch(() => undefined);
    if (isReadable === undefined) continue;
    const { isOver, object } = await awaitObject(cluster, address, test, timeoutMs === 0 ? undefined : timeoutMs);
    if (!isOver) continue;
    const finalizers = object?.metadata.finalizers ?? [];
    const why = finalizers.length === 0 ? "" : `: it has the finalizers ${printable(finalizers.join(", "))}`;
    process.stderr.write(`binnacle: ${shownName(address.resource, address.name)} is still there${why}\n`);
    process.exitCode = 1;
  }
}
