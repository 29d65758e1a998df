/** Reads the objects in files of YAML or JSON, in folders of them, or in standard input. */
import { createReadStream, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Unstructured } from "#meta/object-meta.ts";
import { binnacleFlag, list, withShort } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import { readDocuments } from "./documents.ts";

/** The flag that names the files. */
export const filenameFlag = withShort(
  list(binnacleFlag("filename"), "file", "A file of YAML or JSON, a folder of them, or - for stdin. May be repeated."),
  "f",
);

/** Returns the objects of the files in order. Rejects with `StartError` if one of them cannot be read. */
export async function readManifests(command: string, files: readonly string[] = []): Promise<readonly Unstructured[]> {
  if (files.length === 0)
    throw new StartError(`${command} takes files: binnacle ${command} -f FILE, or -f - for stdin`);
  const objects: Unstructured[] = [];
  for (const file of files.flatMap(filesOf)) {
    for await (const document of readDocuments(linesOf(file))) {
      if ("problem" in document) throw new StartError(`${file}, line ${document.line}: ${document.problem}`);
      objects.push(document.object);
    }
  }
  if (objects.length === 0) throw new StartError(`no objects in ${files.join(", ")}`);
  return objects;
}

function filesOf(path: string): readonly string[] {
  if (path === "-") return [path];
  try {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path).filter((name) => /\.(?:ya?ml|json)$/.test(name));
    return names.sort().map((name) => join(path, name));
  } catch (error) {
    throw new StartError(`cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Yields the lines of a file, or of standard input for `-`. Throws `StartError`. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, { cause: error });
  }
}
