/**
 * Creates claims for ephemeral volumes from the templates in pods; the pod owns the claim. Source: upstream's ephemeral
 * volume controller.
 */
import type { PersistentVolumeClaim, Pod } from "#api/core/v1.ts";
import { keyOf } from "#client/informer.ts";
import { referenceToOwner } from "#client/owner.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { goQuote } from "#meta/field-error.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { eventTeller, type TellEvent } from "./events.ts";
import { ignoreCodes, whileNamespaceLives } from "./ignore-codes.ts";
import { inNamespace, objectPath } from "./paths.ts";
import { follow, workQueue } from "./reconcile.ts";
import type { SharedInformers } from "./shared-informers.ts";

const claims = "/api/v1/persistentvolumeclaims";
const workersMax = 5;

export const ephemeralVolumesController =
  (informers: SharedInformers): Controller =>
  async (environment) => {
    const tellEvent = eventTeller(environment, "ephemeral_volume");
    const queue = workQueue(environment, {
      name: "ephemeral_volume",
      workersMax,
      work: (key) => whileNamespaceLives(makeClaims(environment, tellEvent, key)),
      logKey: "pod",
      failure: "could not make the claims of a pod's ephemeral volumes; trying again",
    });
    informers.pods.subscribe(({ type, object }) => {
      if (type === "added" && hasEphemeral(object)) queue.add(keyOf(object));
    });
    // A claim that is deleted while its pod exists is created again.
    await follow<PersistentVolumeClaim>(environment, {
      what: "claims",
      path: claims,
      changesOnly: true,
      replaced: () => undefined,
      changed(type, { metadata: { namespace = "", ownerReferences = [] } }) {
        const owner = ownerReferences.find(({ kind, controller }) => controller === true && kind === "Pod");
        if (type === "DELETED" && owner !== undefined) queue.add(`${namespace}/${owner.name}`);
      },
    });
  };

const hasEphemeral = ({ metadata, spec }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined) === true;

async function makeClaims({ client }: ControllerEnvironment, tellEvent: TellEvent, key: string): Promise<void> {
  const pod = await ignoreNotFound(client.get<Pod>(objectPath("/api/v1/pods", key)));
  if (pod === undefined || !hasEphemeral(pod)) return;
  const { namespace = "", name = "" } = pod.metadata;
  for (const { name: volume, ephemeral } of pod.spec.volumes ?? []) {
    const template = ephemeral?.volumeClaimTemplate;
    if (template === undefined) continue;
    const claim = `${name}-${volume}`;
    const present =
      (await ignoreNotFound(client.get<PersistentVolumeClaim>(objectPath(claims, { namespace, name: claim })))) ??
      (await ignoreCodes(
        [409],
        client.create<PersistentVolumeClaim>(inNamespace(claims, namespace), {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: {
            name: claim,
            labels: template.metadata.labels,
            annotations: template.metadata.annotations,
            ownerReferences: [referenceToOwner({ ...pod, apiVersion: "v1", kind: "Pod" })],
          },
          spec: template.spec,
        }),
      ));
    if (present?.metadata.ownerReferences?.some(({ uid, controller }) => controller && uid === pod.metadata.uid))
      continue;
    const message = `PVC ${goQuote(`${namespace}/${claim}`)} was not created for pod ${goQuote(key)} (pod is not owner)`;
    tellEvent({ ...pod, kind: "Pod" }, "Warning", "FailedBinding", `ephemeral volume ${goQuote(volume)}: ${message}`);
    throw new Error(message);
  }
}
