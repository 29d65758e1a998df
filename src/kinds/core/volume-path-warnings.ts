/**
 * Warnings about files of a volume with the same path, or with a path below another file. Source: the answers of
 * kube-apiserver.
 */
import type { Volume, VolumeProjection } from "#api/core/v1.ts";
import { goQuote } from "#meta/field-error.ts";
import { addAll } from "#std/add-all.ts";

/** A file of a volume. */
interface File {
  readonly path: string;
  /** The quoted path, with the source in a projected volume: ` (Secret "s")`. */
  readonly shown: string;
}

/** The maximum number of warnings about a pod. */
export const overlapWarningsMax = 100;
/** The maximum number of steps of a path that are compared. */
const stepsMax = 64;
/**
 * The maximum number of characters of a compared path, which is the limit of file systems: longer keys of a map are
 * slow to compare.
 */
const lengthMax = 4096;

/** Returns warnings about overlapping paths, at most `max`. */
export function overlapWarnings(volume: Volume, max: number): string[] {
  const { configMap, secret, downwardAPI, projected } = volume;
  const warnings: string[] = [];
  const add = (what: string, files: readonly File[]): void => {
    const from = `volume ${goQuote(volume.name)} (${what}): overlapping paths: `;
    for (const pair of overlaps(files, max - warnings.length)) warnings.push(from + pair);
  };
  if (configMap?.items !== undefined) add(`ConfigMap ${goQuote(configMap.name ?? "")}`, listed(configMap.items));
  if (secret?.items !== undefined) add(`Secret ${goQuote(secret.secretName ?? "")}`, listed(secret.items));
  if (downwardAPI?.items !== undefined) add("DownwardAPI", listed(downwardAPI.items));
  if (projected?.sources !== undefined) add("Projected", projectedFiles(projected.sources ?? []));
  return warnings;
}

/** Returns the overlapping pairs of a list of files, at most `max`. */
function overlaps(all: readonly File[], max: number): string[] {
  const files = all.filter(({ path }) => path !== "" && path.length <= lengthMax);
  if (files.length < 2) return [];
  const pairs: string[] = [];
  const seen = new Map<string, number[]>();
  const below = new Map<string, number[]>();
  for (const [i, { path, shown }] of files.entries()) {
    const others = [...(seen.get(path) ?? []), ...(below.get(path) ?? [])];
    for (const above of foldersOf(path)) {
      addAll(others, seen.get(above) ?? []);
      add(below, above, i);
    }
    for (const at of others.sort((a, b) => a - b)) {
      if (pairs.length === max) return pairs;
      pairs.push(`${shown} with ${files[at]!.shown}`);
    }
    add(seen, path, i);
  }
  return pairs;
}

function add(map: Map<string, number[]>, key: string, at: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [at]);
  // If many paths are equal, warnings name the first ones only.
  else if (list.length < overlapWarningsMax) list.push(at);
}

/** Returns the folders above a path. */
function* foldersOf(path: string): Generator<string> {
  let at = path.indexOf("/");
  for (let step = 0; at >= 0 && step < stepsMax; step++) {
    yield path.slice(0, at);
    at = path.indexOf("/", at + 1);
  }
}

function fileAt(rawPath: string, source = ""): File {
  // The match begins at the first slash of a run: otherwise, the time would be quadratic in the length of a long run.
  const path = rawPath.replace(/(?<!\/)\/+$/, "");
  return { path, shown: goQuote(path) + source };
}

const listed = (items: readonly { readonly path: string }[]): File[] => items.map(({ path }) => fileAt(path));

/**
 * Returns the files of all sources. Upstream: a source without a list of items has the files of the source before it
 * once more.
 */
function projectedFiles(sources: readonly VolumeProjection[]): File[] {
  const all: File[] = [];
  let last: readonly File[] = [];
  for (const source of sources) {
    if (Object.keys(source).length === 0) continue;
    const files = sourceFiles(source);
    addAll(all, files ?? last);
    last = files ?? []; // a third time would give the same warnings
  }
  return all;
}

/** Returns the files of a source, those of its first list if it has several; `undefined` if it has no list of items. */
function sourceFiles(source: VolumeProjection): File[] | undefined {
  const { configMap, secret, downwardAPI, serviceAccountToken: token, clusterTrustBundle: bundle } = source;
  return (
    namedFiles(configMap?.items, `ConfigMap ${goQuote(configMap?.name ?? "")}`) ??
    namedFiles(secret?.items, `Secret ${goQuote(secret?.name ?? "")}`) ??
    namedFiles(downwardAPI?.items, "DownwardAPI") ??
    namedFiles(token && [token], "ServiceAccountToken") ??
    namedFiles(bundle && [bundle], "ClusterTrustBundle")
  );
}

const namedFiles = (items: readonly { readonly path: string }[] | undefined, what: string): File[] | undefined =>
  items?.map(({ path }) => fileAt(path, ` (${what})`));
