/** ControllerRevision: an earlier state of a workload, kept to go back to. */
import { parseApiVersion } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { int64Field } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function controllerRevisions(): KindBehaviour {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Controller", "Workload that the state is of.", controllerText),
      text("Revision", "Number of the state.", (object) => int64Field(object, "revision") ?? 0),
      ageColumn,
    ],
  };
}

function controllerText(object: Unstructured): string {
  const owner = object.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return "<none>";
  const group = parseApiVersion(owner.apiVersion)?.group ?? "";
  return `${(group === "" ? owner.kind : `${owner.kind}.${group}`).toLowerCase()}/${owner.name}`;
}
