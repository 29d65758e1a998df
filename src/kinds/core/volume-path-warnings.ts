/** Warnings about files of a volume of which one lies where another is, or below it. Source: the answers of kube-apiserver. */
import type { Volume, VolumeProjection } from "#api/core/v1.ts";
import { goQuote } from "#meta/field-error.ts";
import { addAll } from "#std/add-all.ts";

/** A file of a volume. */
interface File {
  readonly path: string;
  /** The path in quotes, and its source within a projected volume: ` (Secret "s")`. */
  readonly shown: string;
}

/** Warnings about a pod at most. */
export const overlapWarningsMax = 100;
/** Steps of a path that are looked at. */
const stepsMax = 64;
/** Characters of a path that is looked at, the most of a file system: longer keys of a map are slow to compare. */
const lengthMax = 4096;

/** Returns at most `max` warnings. */
export function overlapWarnings(volume: Volume, max: number): string[] {
  const [what, all] = filesOf(volume);
  const files = all.filter(({ path }) => path.length <= lengthMax);
  if (files.length < 2) return [];
  const warnings: string[] = [];
  const seen = new Map<string, number[]>();
  const below = new Map<string, number[]>();
  for (const [i, { path, shown }] of files.entries()) {
    const others = [...(seen.get(path) ?? []), ...(below.get(path) ?? [])];
    for (const above of foldersOf(path)) {
      addAll(others, seen.get(above) ?? []);
      add(below, above, i);
    }
    for (const at of others.sort((a, b) => a - b)) {
      if (warnings.length === max) return warnings;
      const both = `${shown} with ${files[at]!.shown}`;
      warnings.push(`volume ${goQuote(volume.name)} (${what}): overlapping paths: ${both}`);
    }
    add(seen, path, i);
  }
  return warnings;
}

function add(map: Map<string, number[]>, key: string, at: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [at]);
  // There are warnings about the first ones of many equal paths only.
  else if (list.length < overlapWarningsMax) list.push(at);
}

/** The folders that a path leads through. */
function* foldersOf(path: string): Generator<string> {
  let at = path.indexOf("/");
  for (let step = 0; at >= 0 && step < stepsMax; step++) {
    yield path.slice(0, at);
    at = path.indexOf("/", at + 1);
  }
}

function fileAt(given: string, source = ""): File {
  // Begins with the first of its slashes, or a long run in the middle would take the square of its length.
  const path = given.replace(/(?<!\/)\/+$/, "");
  return { path, shown: goQuote(path) + source };
}

/** Returns what a volume is called in warnings, and the files that it names. */
function filesOf({ configMap, secret, downwardAPI, projected }: Volume): readonly [what: string, readonly File[]] {
  if (configMap !== undefined) {
    return [`ConfigMap ${goQuote(configMap.name ?? "")}`, (configMap.items ?? []).map(({ path }) => fileAt(path))];
  }
  if (secret !== undefined) {
    return [`Secret ${goQuote(secret.secretName ?? "")}`, (secret.items ?? []).map(({ path }) => fileAt(path))];
  }
  if (downwardAPI !== undefined) return ["DownwardAPI", (downwardAPI.items ?? []).map(({ path }) => fileAt(path))];
  return ["Projected", projectedFiles(projected?.sources ?? [])];
}

/** Upstream: a source without a list of items has, once more, the files of the source before it. */
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

/** `undefined` without a list of items. */
function sourceFiles(source: VolumeProjection): File[] | undefined {
  const { configMap, secret, downwardAPI, serviceAccountToken: token, clusterTrustBundle: bundle } = source;
  if (configMap !== undefined) return namedFiles(configMap.items, `ConfigMap ${goQuote(configMap.name ?? "")}`);
  if (secret !== undefined) return namedFiles(secret.items, `Secret ${goQuote(secret.name ?? "")}`);
  if (downwardAPI !== undefined) return namedFiles(downwardAPI.items, "DownwardAPI");
  if (token !== undefined) return namedFiles([token], "ServiceAccountToken");
  return namedFiles(bundle && [bundle], "ClusterTrustBundle");
}

const namedFiles = (items: readonly { readonly path: string }[] | undefined, what: string): File[] | undefined =>
  items?.map(({ path }) => fileAt(path, ` (${what})`));
