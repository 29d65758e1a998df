/**
 * What types and fields of built-in kinds mean, in our own words, as OpenAPI shows it and `kubectl explain` prints it.
 * The texts lie in `descriptions/`, a file for each area. They are read when a document is built and not before.
 *
 * A line is a package, a type, or, indented, a field of the types before it; several that mean the same stand together:
 *
 *     package io.k8s.api.core.v1
 *     Container, EphemeralContainer: A process, or several, run from one image.
 *       name: Name of the container, unique in the pod.
 *
 * A type may come again, to say more of one that was described beside others. It has no text of its own where the field
 * that holds it says the same: readers are shown both.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { config } from "./descriptions/config.ts";
import { meta } from "./descriptions/meta.ts";
import { pods } from "./descriptions/pods.ts";
import { services } from "./descriptions/services.ts";
import { workloads } from "./descriptions/workloads.ts";

export interface TypeDescription {
  /** What the type is; empty when only its fields are described. */
  text: string;
  readonly fields: Map<string, string>;
}

/** Descriptions by definition name, the domain applied to names and texts. */
export function loadDescriptions(domain: ApiDomain): ReadonlyMap<string, Readonly<TypeDescription>> {
  const types = new Map<string, TypeDescription>();
  for (const table of [meta, pods, services, workloads, config]) read(domain.rename(table), types);
  return types;
}

function read(table: string, types: Map<string, TypeDescription>): void {
  let folder = "";
  let present: TypeDescription[] = [];
  for (const line of table.split("\n")) {
    if (line === "") continue;
    if (line.startsWith("package ")) {
      folder = line.slice("package ".length);
      continue;
    }
    const colon = line.indexOf(":");
    const names = line.slice(0, colon).trim().split(", ");
    const text = line.slice(colon + 2); // empty at the end of the line
    if (line.startsWith(" ")) {
      for (const { fields } of present) for (const name of names) fields.set(name, text);
    } else {
      present = names.map((name) => {
        const full = `${folder}.${name}`;
        const type = types.get(full) ?? { text: "", fields: new Map<string, string>() };
        types.set(full, type);
        type.text = text;
        return type;
      });
    }
  }
}
