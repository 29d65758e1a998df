/**
 * Makes and removes planes, control planes beside the server's own, as objects of the kind Plane ask for. It keeps the
 * definition of the kind in force, tells in the status whether a plane is ready, and leaves the credentials of its first
 * administrator in a Secret of the system namespace, which only administrators of the server can read.
 */
import type { Secret } from "#api/core/v1.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import type { ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { inPages } from "./pages.ts";
import { objectPath } from "./paths.ts";
import { planeDefinition, planeGroup, planeVersion } from "./planes/definition.ts";
import { reconcile } from "./reconcile.ts";
import { retryUntilDone } from "./repeat.ts";

export { planeGroup, planeVersion } from "./planes/definition.ts";

/** The work of the controller outside of the API. */
export interface PlaneAccess {
  /** Opens a plane, and makes what it lacks. Rejects with an error whose message people may read. */
  make(plane: AskedPlane): Promise<MadePlane>;
  /**
   * Closes a plane, if there is one, and removes all that it has stored. `uid` is that of the object; `undefined` when the
   * object is gone, so that it can only be the plane that is there.
   */
  remove(name: string, uid: string | undefined): Promise<void>;
}

export interface AskedPlane {
  readonly name: string;
  readonly uid: string;
  /** Whether the plane was ready before, so that its credentials are in use. */
  readonly isMade: boolean;
  /** The bytes that all objects of the plane may have; `undefined` when they are not bounded. */
  readonly quotaBytes: number | undefined;
}

interface MadePlane {
  /** The URL by which clients reach the plane. */
  readonly url: string;
  /** The kubeconfig of the plane's administrator. */
  readonly kubeconfig: string;
  /** The bytes of all objects of the plane; `undefined` while they are not known. */
  readonly usedBytes: number | undefined;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: ObjectMeta["generation"];
}

/** An object that asks for a plane. */
export interface PlaneObject extends ApiObject {
  readonly spec?: { readonly quota?: { readonly bytes?: number } };
  readonly status?: {
    readonly used?: { readonly bytes: number };
    readonly url?: string;
    readonly kubeconfigSecret?: { readonly namespace: string; readonly name: string };
    readonly conditions?: readonly Condition[];
  };
}

export interface PlanesController {
  /** Resolves with the planes that exist, when their kind is served. */
  prepare(environment: ControllerEnvironment): Promise<readonly AskedPlane[]>;
  run(environment: ControllerEnvironment): Promise<void>;
}

/** The number of planes that are made or removed at the same time. */
const workersMax = 4;

/** The time after which the status of a plane with a quota tells again what it uses. */
const usedAfterMs = 30_000;

/** Returns the name of the Secret with the kubeconfig of a plane. */
const secretName = (plane: string): string => `plane-${plane}-kubeconfig`;

export function planesController(access: PlaneAccess): PlanesController {
  return {
    async prepare(environment) {
      const { client, domain } = environment;
      const planes: AskedPlane[] = [];
      await retryUntilDone(environment, "serve planes", async () => {
        await keepDefinition(client, domain);
        planes.length = 0;
        for await (const plane of inPages<PlaneObject>(client, collectionOf(domain))) {
          if (plane.metadata.deletionTimestamp === undefined) planes.push(askedBy(plane));
        }
      });
      return planes;
    },
    run: (environment) =>
      reconcile<PlaneObject>(environment, {
        path: collectionOf(environment.domain),
        what: "planes",
        name: "planes",
        logKey: "plane",
        failure: "could not make or remove a plane; trying again",
        workersMax,
        matters: () => true,
        work: (plane, later) => work(environment, access, plane, later),
        // Somebody has taken the finalizer away.
        gone: (name) => remove(environment, access, name, undefined),
      }),
  };
}

/** Returns the plane that an object asks for. */
export const askedBy = ({ metadata: { name = "", uid = "" }, spec = {}, status }: PlaneObject): AskedPlane => ({
  name,
  uid,
  isMade: status?.kubeconfigSecret !== undefined,
  quotaBytes: spec.quota?.bytes,
});

const collectionOf = (domain: ApiDomain): string => `/apis/${planeGroup(domain)}/${planeVersion}/planes`;
const finalizerOf = (domain: ApiDomain): string => `${planeGroup(domain)}/data`;

/** Creates the definition of planes, or updates one of an earlier release. */
async function keepDefinition(client: RestClient, domain: ApiDomain): Promise<void> {
  const path = `/apis/${domain.rename("apiextensions.k8s.io")}/v1/customresourcedefinitions`;
  const definition = planeDefinition(domain);
  await client.apply(objectPath(path, definition.metadata), "binnacle-planes", definition);
}

async function work(
  environment: ControllerEnvironment,
  access: PlaneAccess,
  found: PlaneObject,
  later: (ms: number) => void,
): Promise<void> {
  const { client, domain } = environment;
  const path = objectPath(collectionOf(domain), found.metadata);
  const { name = "", uid = "", finalizers = [], resourceVersion = "" } = found.metadata;
  const finalizer = finalizerOf(domain);
  if (found.metadata.deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return;
    await remove(environment, access, name, uid);
    const rest = finalizers.filter((one) => one !== finalizer);
    await ignoreCodes([404], client.patch(path, { metadata: { resourceVersion, finalizers: rest } }));
    return;
  }
  // A plane without the finalizer could not be removed with its object.
  const plane = finalizers.includes(finalizer)
    ? found
    : await client.patch<PlaneObject>(path, { metadata: { resourceVersion, finalizers: [...finalizers, finalizer] } });
  let made: MadePlane;
  try {
    made = await access.make(askedBy(plane));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await tell(environment, path, plane, { status: "False", reason: "CannotOpen", message });
    throw error;
  }
  const kubeconfigSecret = await keepSecret(client, domain, plane, made.kubeconfig);
  const condition = { status: "True", reason: "Open", message: "" };
  const { url, usedBytes } = made;
  const quota = plane.spec?.quota?.bytes;
  const used = quota === undefined || usedBytes === undefined ? {} : { used: { bytes: usedBytes } };
  await tell(environment, path, plane, condition, { url, kubeconfigSecret, ...used });
  if (quota !== undefined) later(usedAfterMs);
}

/** Removes a plane and its Secret. */
async function remove(
  { client, domain }: ControllerEnvironment,
  access: PlaneAccess,
  name: string,
  uid: string | undefined,
): Promise<void> {
  await access.remove(name, uid);
  await ignoreCodes([404], client.delete(`${secretsOf(domain)}/${secretName(name)}`));
}

const secretsOf = (domain: ApiDomain): string => `/api/v1/namespaces/${domain.rename("kube-system")}/secrets`;

/** Stores the kubeconfig in the Secret of a plane, which goes with the plane. Resolves with the Secret's names. */
async function keepSecret(client: RestClient, domain: ApiDomain, plane: PlaneObject, kubeconfig: string) {
  const { name: planeName = "", uid = "" } = plane.metadata;
  const [name, namespace] = [secretName(planeName), domain.rename("kube-system")];
  const data = { kubeconfig: Buffer.from(kubeconfig).toString("base64") };
  // A new plane has no Secret yet, as a rule.
  const isNew = plane.status?.kubeconfigSecret === undefined;
  const present = isNew ? undefined : await ignoreNotFound(client.get<Secret>(`${secretsOf(domain)}/${name}`));
  if (present?.data?.["kubeconfig"] === data.kubeconfig) return { namespace, name };
  const apiVersion = `${planeGroup(domain)}/${planeVersion}`;
  await client.apply<Secret>(`${secretsOf(domain)}/${name}`, "binnacle-planes", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, ownerReferences: [{ apiVersion, kind: "Plane", name: planeName, uid }] },
    type: `${planeGroup(domain)}/kubeconfig`,
    data,
  });
  return { namespace, name };
}

/** Writes the condition, and the other fields, unless the status has them. */
async function tell(
  { client, clock }: ControllerEnvironment,
  path: string,
  { metadata, status = {} }: PlaneObject,
  told: Pick<Condition, "status" | "reason" | "message">,
  fields: Omit<NonNullable<PlaneObject["status"]>, "conditions"> = {},
): Promise<void> {
  const before = status.conditions?.find(({ type }) => type === "Ready");
  const { kubeconfigSecret: secret } = status;
  const isTold =
    before?.status === told.status &&
    before.reason === told.reason &&
    before.message === told.message &&
    (fields.url === undefined || fields.url === status.url) &&
    (fields.kubeconfigSecret === undefined || fields.kubeconfigSecret.name === secret?.name) &&
    (fields.used === undefined || fields.used.bytes === status.used?.bytes);
  if (isTold) return;
  const lastTransitionTime = before?.status === told.status ? before.lastTransitionTime : timestampOf(clock.now());
  const condition = { type: "Ready", ...told, lastTransitionTime, observedGeneration: metadata.generation };
  const others = (status.conditions ?? []).filter(({ type }) => type !== "Ready");
  const next = { ...fields, conditions: [...others, condition] };
  await ignoreCodes([404], client.patch<PlaneObject>(`${path}/status`, { status: next }));
}
