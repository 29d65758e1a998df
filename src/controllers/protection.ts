/**
 * Removes the protection finalizer of an object that is being deleted once it has no users. Users are looked up only
 * while such an object waits. Source: upstream's PVC and PV protection controllers.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "#api/core/v1.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Controller } from "./controller.ts";
import { inPages } from "./pages.ts";
import { inNamespace, objectPath } from "./paths.ts";
import { reconcile } from "./reconcile.ts";

/** `T` is the type of the protected objects. */
interface Protection<T extends ApiObject> {
  /** The finalizer, with Kubernetes' name. */
  readonly finalizer: string;
  /** The protected kind, for logs: `claim`. */
  readonly what: string;
  /** The name of the queue in metrics. */
  readonly queue: string;
  /** The path of the collection in all namespaces. */
  readonly path: string;
  isUsed(object: T, client: RestClient): MaybePromise<boolean>;
}

/** The pause before an object in use is examined again. */
const lookAgainMs = 1000;

const protectionController =
  <T extends ApiObject>(protection: Protection<NoInfer<T>>): Controller =>
  (environment) => {
    const { what, path } = protection;
    const finalizer = environment.domain.rename(protection.finalizer);
    return reconcile<T>(environment, {
      name: protection.queue,
      path,
      what: `${what}s`,
      logKey: what,
      failure: `could not release a ${what}; trying again`,
      workersMax: 4,
      matters: ({ metadata }) =>
        metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true,
      async work(object, later) {
        const { client } = environment;
        const { metadata } = object;
        if (await protection.isUsed(object, client)) return later(lookAgainMs);
        const finalizers = metadata.finalizers?.filter((text) => text !== finalizer) ?? [];
        const released = { ...object, metadata: { ...metadata, finalizers } };
        await ignoreNotFound(client.update<ApiObject>(objectPath(path, metadata), released));
      },
    });
  };

/** Protects claims while a scheduled pod of their namespace uses them. */
export const claimProtectionController = protectionController<PersistentVolumeClaim>({
  finalizer: "kubernetes.io/pvc-protection",
  what: "claim",
  queue: "pvcprotection",
  path: "/api/v1/persistentvolumeclaims",
  async isUsed({ metadata: { namespace = "", name = "" } }, client) {
    for await (const pod of inPages<Pod>(client, inNamespace("/api/v1/pods", namespace))) {
      if (uses(pod, name)) return true;
    }
    return false;
  },
});

/** Whether a pod uses the claim. An unscheduled pod does not, and will not start with a claim that is being deleted. */
function uses(pod: Pod, claim: string): boolean {
  if ((pod.spec.nodeName ?? "") === "") return false;
  return (pod.spec.volumes ?? []).some(
    (volume) =>
      volume.persistentVolumeClaim?.claimName === claim ||
      (volume.ephemeral !== undefined && `${pod.metadata.name}-${volume.name}` === claim),
  );
}

/** Protects volumes while a claim is bound to them. */
export const volumeProtectionController = protectionController<PersistentVolume>({
  finalizer: "kubernetes.io/pv-protection",
  what: "volume",
  queue: "pvprotection",
  path: "/api/v1/persistentvolumes",
  isUsed: (volume) => volume.status.phase === "Bound",
});
