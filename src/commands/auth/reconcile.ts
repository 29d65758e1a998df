/** `binnacle auth reconcile`: makes roles and bindings have at least what files say. */
import type { RoleBinding } from "#api/rbac/v1.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiError } from "#client/api-error.ts";
import { binnacleFlag, boolean, refuseArguments } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { command, formFlag } from "../command.ts";
import { collectionPath } from "../discovery.ts";
import { filenameFlag, readManifests } from "../manifests.ts";
import { clusterFlags, type ObjectAddress, type OpenCluster, shownName, withCluster } from "../open-cluster.ts";
import { isStructured, objectsText } from "../output.ts";
import { printWarnings } from "../print.ts";
import { dryMark, dryRunFlag, isDry, writeQuery } from "../write-flags.ts";
import { type AnyRole, type Change, reconciledBinding, reconciledRole } from "./reconciled.ts";

const flags = {
  ...clusterFlags,
  filename: filenameFlag,
  removeExtraPermissions: boolean(
    binnacleFlag("remove-extra-permissions"),
    false,
    "Removes the rules of a role that its file does not have.",
  ),
  removeExtraSubjects: boolean(
    binnacleFlag("remove-extra-subjects"),
    false,
    "Removes the subjects of a binding that its file does not have.",
  ),
  dryRun: dryRunFlag,
  output: formFlag(["text", "json", "yaml"], "Sentences, or the objects as they are now."),
};

const help = `Makes roles and bindings have at least the rules and subjects of a file: those that are missing are added. A binding to
another role is deleted and made anew, since its role cannot be changed. Namespaces that are missing are made.

Usage: binnacle auth reconcile -f FILE [flags]

  -h, --help                      print this

Examples:
  binnacle auth reconcile -f roles.yaml --dry-run
  binnacle auth reconcile -f roles.yaml --remove-extra-permissions --remove-extra-subjects

`;

/** Runs `binnacle auth reconcile`. Rejects with `StartError`. */
export const reconcile = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "name files with -f");
  const objects = await readManifests("auth reconcile", settings.filename);
  const { removeExtraPermissions = false, removeExtraSubjects = false, output = "text" } = settings;
  const isDryRun = isDry(settings.dryRun);
  await withCluster(settings, async (cluster) => {
    const written: Unstructured[] = [];
    for (const object of objects) {
      if (!isRbac(object)) {
        printWarnings([
          `left out ${object.kind} ${JSON.stringify(object.metadata.name)}: reconcile is for roles and bindings`,
        ]);
        continue;
      }
      const address = await cluster.addressOf(object);
      const wanted = withNamespace(object, address);
      const outcome = await write({ cluster, address, isDryRun }, wanted, (existing) =>
        isBinding(object)
          ? // The kind and the group of the object say which fields it has.
            (reconciledBinding(
              existing as unknown as RoleBinding,
              wanted as unknown as RoleBinding,
              removeExtraSubjects,
            ) as unknown as Change<Unstructured>)
          : (reconciledRole(
              existing as unknown as AnyRole,
              wanted as unknown as AnyRole,
              removeExtraPermissions,
            ) as unknown as Change<Unstructured>),
      );
      written.push(outcome.object);
      if (isStructured(output)) continue;
      const lines = [`${shownName(address.resource, address.name)} reconciled${dryMark(isDryRun)}`];
      for (const line of outcome.lines) lines.push(`\t${printable(line)}`);
      process.stdout.write(`${lines.join("\n")}\n`);
    }
    if (isStructured(output)) process.stdout.write(objectsText(output, written));
  });
});

const isRbac = ({ apiVersion = "", kind = "" }: Unstructured): boolean =>
  apiVersion.startsWith("rbac.authorization.") && /^(?:Cluster)?Role(?:Binding)?$/.test(kind);

const isBinding = ({ kind = "" }: Unstructured): boolean => kind.endsWith("Binding");

const withNamespace = (object: Unstructured, { namespace }: ObjectAddress): Unstructured =>
  namespace === "" ? object : { ...object, metadata: { ...object.metadata, namespace } };

interface Target {
  readonly cluster: OpenCluster;
  readonly address: ObjectAddress;
  readonly isDryRun: boolean;
}

interface Outcome {
  readonly object: Unstructured;
  readonly lines: readonly string[];
}

const attemptsMax = 5;

/** Writes what `changeOf` makes of the object that exists, again if somebody else has changed it meanwhile. */
async function write(
  target: Target,
  wanted: Unstructured,
  changeOf: (existing: Unstructured) => Change<Unstructured>,
): Promise<Outcome> {
  const { cluster, address, isDryRun } = target;
  for (let attempt = 1; ; attempt++) {
    try {
      const existing = await cluster.find<Unstructured>(address.path);
      if (existing === undefined) return { object: await create(target, wanted), lines: ["created"] };
      const { object, isAnew, lines } = changeOf(existing);
      if (lines.length === 0) return { object: existing, lines };
      if (isAnew) return { object: await makeAnew(target, existing, object), lines };
      const path = address.path + writeQuery(isDryRun);
      return { object: await cluster.call<Unstructured>({ method: "PUT", path, body: object }), lines };
    } catch (error) {
      const isRace = error instanceof ApiError && ["Conflict", "AlreadyExists"].includes(error.reason);
      if (!isRace || attempt === attemptsMax) throw error;
    }
  }
}

/** Deletes a binding, and makes one of the same name, subjects, labels and annotations. */
async function makeAnew(target: Target, existing: Unstructured, object: Unstructured): Promise<Unstructured> {
  const { cluster, address, isDryRun } = target;
  const { uid, resourceVersion } = existing.metadata;
  // The new one must have everything that the old one had, so the old one must be as it was read.
  const body = { preconditions: { uid, resourceVersion }, ...(isDryRun ? { dryRun: ["All"] } : {}) };
  await cluster.call({ method: "DELETE", path: address.path, body });
  const { name, namespace, labels, annotations } = object.metadata;
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const bare = { ...object, metadata } as Unstructured; // the server gives the rest
  // In a dry run the old one is still there.
  return isDryRun ? bare : create(target, bare);
}

async function create({ cluster, address, isDryRun }: Target, object: Unstructured): Promise<Unstructured> {
  const post = (): Promise<Unstructured> =>
    cluster.call<Unstructured>({
      method: "POST",
      path: collectionPath(address.resource, address.namespace) + writeQuery(isDryRun),
      body: object,
    });
  try {
    return await post();
  } catch (error) {
    const isNamespaceMissing =
      error instanceof ApiError && error.code === 404 && error.status.details?.kind === "namespaces";
    if (!isNamespaceMissing || isDryRun) throw error;
    await cluster.call({
      method: "POST",
      path: `/api/v1/namespaces${writeQuery(false)}`,
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name: address.namespace } },
    });
    return post();
  }
}
