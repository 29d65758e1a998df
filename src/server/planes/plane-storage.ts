/**
 * The places of planes: where their credentials and their objects are kept. Planes of one server have a folder each, or are in
 * memory with the server; those of servers that share an etcd are there (`etcd-planes.ts`).
 */
import { join } from "node:path";
import type { EtcdStores } from "#storage/etcd.ts";
import { filesOf, type PlaneCredentials, preparePlaneCredentials } from "../credentials.ts";
import { checkDataFolder, markerFile, writePrivateFiles } from "../data-folder.ts";
import { claimFolder, openPlaneFolders, removeFolder } from "./plane-folder.ts";
import type { PlaneHost } from "./plane-host.ts";

/** A plane by its name and the identity of the object that asks for it. */
export interface PlaneId {
  readonly name: string;
  readonly uid: string;
}

/** The place of one plane. One without a folder and without etcd is in memory. */
export interface PlanePlace {
  readonly folder?: string;
  readonly etcd?: {
    readonly stores: EtcdStores;
    /** The beginning of all keys. */
    readonly prefix: string;
  };
}

export interface PlaneStorage {
  /** Whether a plane that was closed has its objects when it is opened again. */
  readonly isLasting: boolean;
  /** Whether other servers have the same planes. */
  readonly isShared: boolean;
  /** Makes what all planes need. */
  open(): Promise<void>;
  placeOf(plane: PlaneId): PlanePlace;
  /**
   * Resolves with the credentials of a plane; `undefined` when another server has not made them yet. `mayMake`: they are made
   * here where there are none, unless the plane `isMade`. Rejects with `StartError`.
   */
  credentials(plane: PlaneId, mayMake: boolean, isMade: boolean): Promise<PlaneCredentials | undefined>;
  /** Resolves with whether the object that asks for the plane is there and is not being deleted. */
  isWanted(plane: PlaneId): Promise<boolean>;
  /** Removes all that a plane has stored, which this process has closed. */
  remove(plane: PlaneId): Promise<void>;
  close(): void;
}

type StorageParts = Pick<PlaneHost, "options" | "clock" | "random">;

/** Returns the place of planes that end with the process. */
export const planesInMemory = (host: StorageParts): PlaneStorage => ({
  isLasting: false,
  isShared: false,
  open: () => Promise.resolve(),
  placeOf: () => ({}),
  credentials: () => newCredentials(host),
  isWanted: () => Promise.resolve(true),
  remove: () => Promise.resolve(),
  close: () => undefined,
});

/** Makes credentials that nothing keeps. */
export const newCredentials = ({ clock, random }: Pick<PlaneHost, "clock" | "random">): Promise<PlaneCredentials> =>
  preparePlaneCredentials({ stored: undefined, isUsed: false, isKeeper: true, acceptLoss: false, clock, random });

/** Returns the place of planes that have folders in this one. */
export const planesInFolder = (host: StorageParts, folder: string): PlaneStorage => ({
  isLasting: true,
  isShared: false,
  open: () => openPlaneFolders(folder),
  placeOf: ({ name }) => ({ folder: join(folder, name) }),
  credentials: async ({ name, uid }) => {
    const own = join(folder, name);
    await claimFolder(own, uid);
    return credentialsIn(host, own);
  },
  isWanted: () => Promise.resolve(true),
  remove: ({ name, uid }) => removeFolder(join(folder, name), uid),
  close: () => undefined,
});

/** Reads the credentials in the folder of a plane, and makes new ones for a new plane. Rejects with `StartError`. */
async function credentialsIn({ options, clock, random }: StorageParts, folder: string): Promise<PlaneCredentials> {
  const { apiDomain, acceptDataLoss: acceptLoss } = options;
  const isUsed = checkDataFolder(folder, apiDomain) !== undefined;
  const stored = filesOf(folder);
  const credentials = await preparePlaneCredentials({ stored, isUsed, isKeeper: true, acceptLoss, clock, random });
  await writePrivateFiles(folder, credentials.files);
  // The marker says that the other files are there.
  if (!isUsed) await writePrivateFiles(folder, [markerFile(apiDomain, ["credentials"])]);
  return credentials;
}
