/**
 * Descriptions of built-in types and fields, in our own words, for OpenAPI and `kubectl explain`. The texts are in
 * `descriptions/`, one file an area; they are parsed when the first document is built.
 *
 * A line is a package, a type, or (indented) a field of the types above it. Names with the same description share a
 * line:
 *
 *     package io.k8s.api.core.v1
 *     Container, EphemeralContainer: A process, or several, run from one image.
 *       name: Name of the container, unique in the pod.
 *
 * A text has a noun as its head ("The number of pods that are wanted.") or, for a boolean, begins with "Whether".
 *
 * A type may appear again to add fields. A package line may name several packages, which all have the types below it. A
 * type has no description of its own when the field that holds it says the same, since readers see both.
 */
import { perDomain } from "#meta/api-domain.ts";
import { autoscaling } from "./descriptions/autoscaling.ts";
import { certificates } from "./descriptions/certificates.ts";
import { config } from "./descriptions/config.ts";
import { devices } from "./descriptions/devices.ts";
import { extension } from "./descriptions/extension.ts";
import { flowcontrol } from "./descriptions/flowcontrol.ts";
import { meta } from "./descriptions/meta.ts";
import { nodes } from "./descriptions/nodes.ts";
import { pods } from "./descriptions/pods.ts";
import { services } from "./descriptions/services.ts";
import { storage } from "./descriptions/storage.ts";
import { volumes } from "./descriptions/volumes.ts";
import { workloads } from "./descriptions/workloads.ts";

interface TypeDescription {
  /** The description of the type; empty when only its fields are described. */
  text: string;
  readonly fields: Map<string, string>;
}

/** The texts of all areas; a later one wins where two describe the same. */
const areas = [
  meta,
  pods,
  volumes,
  services,
  workloads,
  autoscaling,
  config,
  nodes,
  storage,
  certificates,
  devices,
  extension,
  flowcontrol,
];

/** Returns descriptions by definition name, with the names of the domain. They are parsed at the first call. */
export const loadDescriptions = perDomain((domain): ReadonlyMap<string, Readonly<TypeDescription>> => {
  const types = new Map<string, TypeDescription>();
  for (const area of areas) read(domain.rename(area), types);
  return types;
});

function read(table: string, types: Map<string, TypeDescription>): void {
  let folders: string[] = [];
  let present: TypeDescription[] = [];
  for (const line of table.split("\n")) {
    if (line === "") continue;
    if (line.startsWith("package ")) {
      folders = line.slice("package ".length).split(", ");
      continue;
    }
    const colon = line.indexOf(":");
    const names = line.slice(0, colon).trim().split(", ");
    const text = line.slice(colon + 2); // empty at the end of the line
    if (line.startsWith(" ")) {
      for (const { fields } of present) for (const name of names) fields.set(name, text);
    } else {
      const full = folders.flatMap((folder) => names.map((name) => `${folder}.${name}`));
      present = full.map((name) => {
        const type = types.get(name) ?? { text: "", fields: new Map<string, string>() };
        types.set(name, type);
        if (text !== "") type.text = text;
        return type;
      });
    }
  }
}
