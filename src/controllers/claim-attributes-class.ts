/**
 * Sets `status.modifyVolumeStatus` to `Pending` on a claim whose volume attributes class does not exist. A storage
 * driver does the rest once the class exists.
 */
import type { PersistentVolumeClaim } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { reconcile } from "./reconcile.ts";

/** Makes the controller. `version` is the served version of the classes. */
export const claimAttributesClassController =
  (version: string): Controller =>
  (environment) => {
    const classes = `/apis/${environment.domain.rename("storage.k8s.io")}/${version}/volumeattributesclasses`;
    return reconcile<PersistentVolumeClaim>(environment, {
      name: "volumeattributesclass",
      path: "/api/v1/persistentvolumeclaims",
      what: "claims",
      logKey: "claim",
      failure: "could not judge the class of a claim; trying again",
      workersMax: 4,
      keyOf: (claim) =>
        waitsFor(claim) === undefined ? undefined : `${claim.metadata.namespace}/${claim.metadata.name}`,
      work: (key) => judge(environment, classes, key),
    });
  };

/** Returns the class that a claim waits for, if its status does not name it yet. */
function waitsFor(claim: PersistentVolumeClaim): string | undefined {
  const wanted = claim.spec.volumeAttributesClassName ?? "";
  if (wanted === "" || wanted === claim.status.currentVolumeAttributesClassName) return undefined;
  return claim.status.modifyVolumeStatus?.targetVolumeAttributesClassName === wanted ? undefined : wanted;
}

async function judge({ client, reader }: ControllerEnvironment, classes: string, key: string): Promise<void> {
  const [namespace = "", name = ""] = key.split("/");
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
  const claim = await ignoreNotFound(client.get<PersistentVolumeClaim>(path));
  const wanted = claim === undefined ? undefined : waitsFor(claim);
  if (claim === undefined || wanted === undefined) return;
  const named = await reader.list(`${classes}?fieldSelector=${encodeURIComponent(`metadata.name=${wanted}`)}`);
  if (named.items.length > 0) return;
  const modifyVolumeStatus = { status: "Pending", targetVolumeAttributesClassName: wanted };
  await ignoreNotFound(
    client.patch<PersistentVolumeClaim>(`${path}/status`, {
      metadata: { resourceVersion: claim.metadata.resourceVersion },
      status: { modifyVolumeStatus },
    }),
  );
}
