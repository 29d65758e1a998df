/**
 * Lets deleted claims go once no pod uses them: takes the protection finalizer off a claim that is being deleted when no
 * scheduled pod of its namespace has it as a volume. Pods are looked at only while such a claim waits, so a cluster
 * without one pays nothing. Source: upstream's PVC protection controller.
 */
import { reflect } from "#client/reflector.ts";
import { WorkQueue } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";

/** How long a claim in use waits for the next look. */
const lookAgainMs = 1000;
const workers = 4;

interface Pod extends ApiObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
      readonly ephemeral?: object;
    }[];
  };
}

export const claimProtectionController: Controller = async (environment) => {
  const { client, clock, signal, log, domain } = environment;
  const finalizer = domain.rename("kubernetes.io/pvc-protection");
  const queue = new WorkQueue({
    clock,
    workersMax: workers,
    work: async (key) => {
      if (!(await release(environment, finalizer, key))) queue.addAfter(key, lookAgainMs);
    },
    failed: (claim, error) => log.warn({ claim, err: error }, "could not release a claim; trying again"),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });
  const look = ({ metadata }: ApiObject): void => {
    if (metadata.deletionTimestamp === undefined || metadata.finalizers?.includes(finalizer) !== true) return;
    queue.add(`${metadata.namespace}/${metadata.name}`);
  };
  await reflect({
    client,
    clock,
    signal,
    path: "/api/v1/persistentvolumeclaims",
    replaced: (claims) => claims.forEach(look),
    changed: (_type, claim) => look(claim),
    failed: (error) => log.warn({ err: error }, "could not follow claims; starting over"),
  });
};

/** Whether the claim needs no more looks. */
async function release({ client }: ControllerEnvironment, finalizer: string, key: string): Promise<boolean> {
  const [namespace = "", name = ""] = key.split("/");
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
  try {
    const claim = await client.get(path);
    const finalizers = claim.metadata.finalizers ?? [];
    if (claim.metadata.deletionTimestamp === undefined || !finalizers.includes(finalizer)) return true;
    const pods = await client.list(`/api/v1/namespaces/${namespace}/pods`);
    if (pods.items.some((pod) => uses(pod as Pod, name))) return false; // the path names the kind
    const rest = finalizers.filter((text) => text !== finalizer);
    await client.update(path, { ...claim, metadata: { ...claim.metadata, finalizers: rest } });
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 404) return true;
    // Somebody wrote the claim meanwhile: look again.
    if (error instanceof StatusError && error.status.code === 409) return false;
    throw error;
  }
}

/** A pod that was not scheduled uses nothing yet, and will not be started with a claim that is being deleted. */
function uses(pod: Pod, claim: string): boolean {
  if ((pod.spec?.nodeName ?? "") === "") return false;
  return (pod.spec?.volumes ?? []).some(
    (volume) =>
      volume.persistentVolumeClaim?.claimName === claim ||
      (volume.ephemeral !== undefined && `${pod.metadata.name}-${volume.name}` === claim),
  );
}
