/** ControllerRevision: an earlier state of a workload, for rollbacks. */
import type { ControllerRevision } from "#api/apps/v1.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function controllerRevisions(): KindBehaviour<ControllerRevision> {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Controller", "Workload that the state is of.", controllerText),
      text("Revision", "Number of the state.", ({ revision }) => revision),
      ageColumn,
    ],
  };
}

function controllerText({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return "<none>";
  const group = parseApiVersion(owner.apiVersion)?.group ?? "";
  return `${(group === "" ? owner.kind : `${owner.kind}.${group}`).toLowerCase()}/${owner.name}`;
}
