/**
 * Sets `status.modifyVolumeStatus` to `Pending` on a claim whose volume attributes class does not exist. A storage
 * driver does the rest once the class exists.
 */
import type { PersistentVolumeClaim } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { findListed } from "./find-listed.ts";
import { objectPath } from "./paths.ts";
import { reconcile } from "./reconcile.ts";

const claims = "/api/v1/persistentvolumeclaims";

/** Makes the controller. `version` is the served version of the classes. */
export const claimAttributesClassController =
  (version: string): Controller =>
  (environment) => {
    const classes = `/apis/${environment.domain.rename("storage.k8s.io")}/${version}/volumeattributesclasses`;
    return reconcile<PersistentVolumeClaim>(environment, {
      name: "volumeattributesclass",
      path: claims,
      what: "claims",
      logKey: "claim",
      failure: "could not judge the class of a claim; trying again",
      workersMax: 4,
      matters: (claim) => waitsFor(claim) !== undefined,
      work: (claim) => judge(environment, classes, claim),
    });
  };

/** Returns the class that a claim waits for, if its status does not name it yet. */
function waitsFor(claim: PersistentVolumeClaim): string | undefined {
  const wanted = claim.spec.volumeAttributesClassName ?? "";
  if (wanted === "" || wanted === claim.status.currentVolumeAttributesClassName) return undefined;
  return claim.status.modifyVolumeStatus?.targetVolumeAttributesClassName === wanted ? undefined : wanted;
}

async function judge(
  { client, reader }: ControllerEnvironment,
  classes: string,
  claim: PersistentVolumeClaim,
): Promise<void> {
  const wanted = waitsFor(claim)!; // else it does not matter
  if ((await findListed(reader, classes, wanted)) !== undefined) return;
  const modifyVolumeStatus = { status: "Pending", targetVolumeAttributesClassName: wanted };
  await ignoreNotFound(
    client.patch<PersistentVolumeClaim>(`${objectPath(claims, claim.metadata)}/status`, {
      metadata: { resourceVersion: claim.metadata.resourceVersion },
      status: { modifyVolumeStatus },
    }),
  );
}
