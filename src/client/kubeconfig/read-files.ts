/** Finds, reads and merges the files of a kubeconfig as kubectl does. */
import { createReadStream } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { reasonOf } from "#std/system-error.ts";
import { type Kubeconfig, KubeconfigError } from "../kubeconfig-entries.ts";
import { decodeKubeconfig } from "./decode.ts";

/** The maximum size of a file in bytes. */
const fileMaxBytes = 10 * 1024 * 1024;

interface Wanted {
  /** The files in order of precedence. */
  readonly files: readonly string[];
  /** Whether the files may be missing. */
  readonly mayMiss: boolean;
}

/** Returns the files that are read: those asked for, those of the variable `KUBECONFIG`, or the one at home. */
export function wantedFiles(
  files: string | readonly string[] | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Wanted {
  if (typeof files === "string") return { files: [files], mayMiss: false };
  if (files !== undefined) return { files, mayMiss: files.length > 1 };
  const named = (environment["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (named.length > 0) return { files: Array.from(new Set(named)), mayMiss: true };
  const home = environment["HOME"] ?? environment["USERPROFILE"] ?? homedir();
  return { files: [join(home, ".kube", "config")], mayMiss: true };
}

/** Reads the files and merges them. Rejects with `KubeconfigError`. */
export async function readFiles({ files, mayMiss }: Wanted): Promise<Kubeconfig> {
  const read = await Promise.all(files.map((file) => readKubeconfig(file, mayMiss)));
  const found = read.filter((one) => one !== undefined);
  return { ...merge(found), files: found.flatMap((one) => one.files), missing: files.filter((_, i) => !read[i]) };
}

/** The first file that has an entry gives all of it, and the first that names a current context decides. */
function merge(found: readonly Kubeconfig[]): Omit<Kubeconfig, "files" | "missing"> {
  const first = <T>(maps: readonly ReadonlyMap<string, T>[]): ReadonlyMap<string, T> =>
    new Map(maps.toReversed().flatMap((map) => [...map]));
  return {
    currentContext: found.find(({ currentContext }) => currentContext !== "")?.currentContext ?? "",
    clusters: first(found.map(({ clusters }) => clusters)),
    users: first(found.map(({ users }) => users)),
    contexts: first(found.map(({ contexts }) => contexts)),
  };
}

async function readKubeconfig(file: string, mayMiss: boolean): Promise<Kubeconfig | undefined> {
  const text = await readText(file).catch((error: unknown) => {
    if (mayMiss && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof KubeconfigError) throw error;
    throw new KubeconfigError(`${file}: cannot be read: ${reasonOf(error)}`, { cause: error });
  });
  return text === undefined ? undefined : decodeKubeconfig(text, file);
}

/** Resolves with the text of the file, which may be a pipe. */
async function readText(file: string): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of createReadStream(file)) {
    pieces.push(piece as Buffer); // the stream has no encoding
    size += (piece as Buffer).length;
    if (size > fileMaxBytes) throw new KubeconfigError(`${file}: is larger than 10 MB: is it a kubeconfig?`);
  }
  return Buffer.concat(pieces)
    .toString()
    .replace(/^\ufeff/, "");
}
