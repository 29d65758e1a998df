/** `binnacle import`: creates the objects of a file on a running server, and reports each result. */
import { connectionFlags, findServer, withServer } from "#server/running-server.ts";
import { binnacleFlag, boolean, choice } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag, namespaceFlag } from "./command.ts";
import { readDocuments } from "./documents.ts";
import { Importer, type ImportReport } from "./importer.ts";
import { linesOf } from "./manifests.ts";
import { valueText } from "./print.ts";

const flags = {
  ...connectionFlags,
  namespace: namespaceFlag("Where objects go that name no namespace; default: default."),
  conflict: choice(
    binnacleFlag("conflict"),
    "skip",
    ["skip", "replace", "fail"],
    "What to do with an object that exists already: keep it, replace it, or count it as a failure.",
  ),
  apply: boolean(binnacleFlag("apply"), false, "Merges objects into those that are there, by server-side apply."),
  status: boolean(binnacleFlag("status"), false, "Writes the status of objects, too."),
  dryRun: boolean(binnacleFlag("dry-run"), false, "Has the server check everything and write nothing."),
  output: formFlag(["text", "json"], "Print a sentence, or JSON for programs."),
};

const help = `Makes objects from YAML or JSON, such as binnacle export and kubectl get -o yaml write, on a running server.

Usage: binnacle import FILE [flags]
       binnacle export … | binnacle import - [flags]

  FILE                            the text; - for stdin
  -h, --help                      print this

It waits until new definitions of custom resources are served. References to owners get the uids that the owners have on
this server. After a failure it goes on with the next object; each failure is printed, and the command then ends with 1.

Examples:
  binnacle import cluster.yaml
  binnacle import shop.yaml -n shop --conflict=replace --dry-run

`;

/** Creates the objects of a file; ends the process with 1 if any of them failed. Rejects with `StartError`. */
export const importObjects = command(flags, help, async (settings, rest) => {
  const [file, ...more] = rest;
  if (file === undefined || more.length > 0)
    throw new StartError("import takes one file, or - for stdin: binnacle import FILE");
  const { namespace = "default", conflict = "skip", apply = false, status = false, dryRun = false, output } = settings;
  if (apply && settings.conflict !== undefined) throw new StartError("--apply merges: it goes without --conflict");
  await withServer(await findServer(settings), async ({ rest }) => {
    const importer = new Importer(rest, {
      namespace,
      existing: apply ? "apply" : conflict === "replace" || conflict === "fail" ? conflict : "skip",
      writesStatus: status,
      dryRun,
    });
    for await (const document of readDocuments(linesOf(file))) {
      if ("problem" in document) importer.failed(`line ${document.line}`, document.problem);
      else await importer.add(document.object);
    }
    const report = await importer.finish();
    if (output === "json") process.stdout.write(valueText("json", report));
    else process.stdout.write(`${reportText(report, dryRun)}\n`);
    if (report.failed > 0) process.exitCode = 1;
  });
});

function reportText({ created, replaced, applied, skipped, failed }: ImportReport, dryRun: boolean): string {
  const counts = { created, replaced, applied, skipped, failed };
  const countTexts = Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
  const text = countTexts.length === 0 ? "no objects" : countTexts.join(", ");
  return dryRun ? `${text} (dry run)` : text;
}
