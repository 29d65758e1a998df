/**
 * Planes of servers that share an etcd. The objects of each lie below a prefix of its own beside that of the root, with the
 * identity of the Plane object in it, so that nothing is ever written there for another plane. The credentials are in a Secret
 * of the root, where every server reads the same.
 *
 *     /registry/…                            the root
 *     /registry.planes/shop/6e1b…/configmaps/…   the plane shop
 */
import type { Secret } from "#api/core/v1.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import { planeGroup, planeVersion } from "#controllers/planes.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { pause } from "#std/clock.ts";
import { StartError } from "#std/start-error.ts";
import type { EtcdStores } from "#storage/etcd.ts";
import { type CredentialFiles, type PlaneCredentials, preparePlaneCredentials } from "../credentials.ts";
import type { PlaneHost } from "./plane-host.ts";
import type { PlaneId, PlaneStorage } from "./plane-storage.ts";

interface EtcdPlanesParts extends Pick<PlaneHost, "options" | "clock" | "random" | "domain"> {
  readonly stores: EtcdStores;
  /** The client of the root. */
  readonly client: RestClient;
  /** Ends waiting. */
  readonly signal: AbortSignal;
}

/** The pause between looks whether other servers have closed a plane, and the number of looks; then the removal begins anew. */
const [lookMs, looksMax] = [100, 300];
/** The number of tries to store credentials that other servers store at the same time. */
const triesMax = 5;
const filesFolder = "pki/";

/** Returns the name of the Secret with the credentials of a plane. */
const secretName = (plane: string): string => `plane-${plane}-credentials`;

export function planesOnEtcd(parts: EtcdPlanesParts): PlaneStorage {
  const { clock, domain, options, stores, client, signal } = parts;
  const prefixOf = ({ name, uid }: PlaneId): string =>
    `${options.etcdPrefix.replace(/\/+$/, "")}.planes/${name}/${uid}`;
  const secrets = `/api/v1/namespaces/${domain.rename("kube-system")}/secrets`;
  return {
    isLasting: true,
    isShared: true,
    open: () => Promise.resolve(),
    placeOf: (plane) => ({ etcd: { stores, prefix: prefixOf(plane) } }),
    credentials: (plane, mayMake, isMade) => credentialsOf({ ...parts, secrets }, plane, mayMake, isMade),
    async isWanted({ name, uid }) {
      const path = `/apis/${planeGroup(domain)}/${planeVersion}/planes/${name}`;
      const { metadata } = (await ignoreNotFound(client.get<ApiObject>(path))) ?? {};
      return metadata?.uid === uid && metadata.deletionTimestamp === undefined;
    },
    async remove(plane) {
      const prefix = prefixOf(plane);
      for (let looks = 0; await stores.isOpen(prefix); looks++) {
        if (looks === looksMax || signal.aborted) throw new StartError("another server has not closed the plane yet");
        await pause(clock, lookMs, signal);
      }
      await stores.remove(prefix);
      const present = await ignoreNotFound(client.get<Secret>(`${secrets}/${secretName(plane.name)}`));
      if (present !== undefined && isOf(present, plane)) await removeSecret(client, secrets, present);
    },
    close: () => stores.close(),
  };
}

interface SecretParts extends EtcdPlanesParts {
  /** The path of the collection of the Secret. */
  readonly secrets: string;
}

/** Reads the credentials of a plane, and makes those that are missing, or renews them, if it may. */
async function credentialsOf(
  { client, secrets, domain, options, clock, random }: SecretParts,
  plane: PlaneId,
  mayMake: boolean,
  isMade: boolean,
): Promise<PlaneCredentials | undefined> {
  const name = secretName(plane.name);
  const path = `${secrets}/${name}`;
  const { acceptDataLoss: acceptLoss } = options;
  for (let tries = 0; tries < triesMax; tries++) {
    const found = await ignoreNotFound(client.get<Secret>(path));
    const present = found !== undefined && isOf(found, plane) ? found : undefined;
    if (present === undefined && !mayMake) return undefined;
    try {
      // It is that of an earlier plane of this name.
      if (found !== undefined && present === undefined) await removeSecret(client, secrets, found);
      const stored = filesIn(present, `Secret ${domain.rename("kube-system")}/${name}`);
      const isUsed = present !== undefined || isMade;
      const made = await preparePlaneCredentials({ stored, isUsed, isKeeper: mayMake, acceptLoss, clock, random });
      if (made.files.size === 0 || !mayMake) return made;
      const data = { ...present?.data, ...dataOf(made.files) };
      if (present === undefined) await client.create<Secret>(secrets, secretOf(domain, plane, name, data));
      else await client.update<Secret>(path, { ...present, data });
      return made;
    } catch (error) {
      // Another server has done so.
      if (!(error instanceof StatusError && [404, 409].includes(error.status.code))) throw error;
    }
  }
  throw new StartError("the credentials of the plane change all the time");
}

const isOf = ({ metadata }: Secret, { uid }: PlaneId): boolean =>
  metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;

const removeSecret = async (client: RestClient, secrets: string, { metadata }: Secret): Promise<void> => {
  const preconditions = { uid: metadata.uid };
  await ignoreNotFound(client.delete(`${secrets}/${metadata.name}`, { preconditions }));
};

const filesIn = (secret: Secret | undefined, name: string): CredentialFiles => {
  const keyOf = (file: string): string => file.slice(filesFolder.length);
  return {
    read(file) {
      const text = secret?.data?.[keyOf(file)];
      return text === undefined ? undefined : Buffer.from(text, "base64").toString();
    },
    nameOf: (file) => `${keyOf(file)} of ${name}`,
    remedy: "restore it from a backup",
  };
};

const dataOf = (files: PlaneCredentials["files"]): Record<string, string> =>
  Object.fromEntries(
    [...files].map(([file, text]) => [file.slice(filesFolder.length), Buffer.from(text).toString("base64")]),
  );

const secretOf = (
  domain: EtcdPlanesParts["domain"],
  plane: PlaneId,
  name: string,
  data: Record<string, string>,
): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name,
    namespace: domain.rename("kube-system"),
    ownerReferences: [
      { apiVersion: `${planeGroup(domain)}/${planeVersion}`, kind: "Plane", name: plane.name, uid: plane.uid },
    ],
  },
  type: `${planeGroup(domain)}/credentials`,
  data,
});
