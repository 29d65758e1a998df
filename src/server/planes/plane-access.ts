/** The work of the controller of Plane objects in this process: it makes what a plane needs, and removes what one has stored. */
import type { AskedPlane, PlaneAccess } from "#controllers/planes.ts";
import { StartError } from "#std/start-error.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import type { PlaneCredentials } from "../credentials.ts";
import type { ServerTrust } from "../credentials/server-trust.ts";
import { clientConfig } from "../kubeconfig.ts";
import type { Peers } from "../peers.ts";
import type { PlaneUrls } from "./plane-addresses.ts";
import type { PlaneFollower } from "./plane-follower.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import { isPlaneName, type PlaneSlots } from "./plane-slots.ts";

interface AccessParts {
  readonly slots: PlaneSlots;
  readonly planesMax: number;
  readonly trust: ServerTrust;
  /** The store of the root. */
  readonly cache: Pick<WatchCache, "revision">;
  /** The other servers of the root's store; `undefined` where it has no others. */
  readonly peers: Peers | undefined;
  urlsOf(name: string): PlaneUrls;
  /** Returns what follows the objects; `undefined` where no other server serves the planes. */
  follower(): PlaneFollower | undefined;
  /** Called when a plane is new. */
  isNew(): void;
}

export const planeAccess = (parts: AccessParts): PlaneAccess => ({
  make: async (asked) => {
    const { slots, planesMax, cache, peers, urlsOf, isNew } = parts;
    const { name } = asked;
    if (!isPlaneName(name)) throw new StartError("the name must be a DNS label");
    const slot = await slotOf(parts, asked);
    slots.count(slot, planesMax);
    if (!asked.isMade) isNew();
    const credentials = await makeCredentials(slot);
    // All servers know the plane when it is said to be ready.
    await peers?.untilInForce(cache.revision);
    slot.isMade = true;
    const [url] = urlsOf(name).urls;
    return { url, kubeconfig: kubeconfigOf(parts, url, credentials), usedBytes: slot.usedBytes };
  },
  remove: async (name, uid) => {
    const { slots } = parts;
    const follower = parts.follower();
    await follower?.inStep();
    const slot = slots.get(name);
    // The one that is there may belong to a new object, if other servers serve it.
    const isIt = uid === undefined ? follower === undefined : slot?.id.uid === uid;
    if (slot !== undefined && isIt) slots.end(slot);
    await slots.removeEnded(name);
    if (uid !== undefined) await slots.removeStored(name, uid);
  },
});

/** Resolves with the plane of an object, when nothing of an earlier plane of its name is left. */
async function slotOf({ slots, follower: find }: AccessParts, asked: AskedPlane): Promise<PlaneSlot> {
  const { name, uid } = asked;
  const follower = find();
  if (follower === undefined) {
    slots.endOther(asked);
    await slots.removeEnded(name);
    return slots.take(asked);
  }
  await follower.inStep();
  const slot = slots.get(name);
  if (slot?.id.uid !== uid) throw new StartError("the plane has ended");
  await slots.removeEnded(name);
  return slot;
}

async function makeCredentials(slot: PlaneSlot): Promise<PlaneCredentials> {
  // A request may be reading what is not there yet.
  const credentials = (await slot.prepare(true)) ?? (await slot.prepare(true));
  if (credentials === undefined) throw new StartError("the credentials of the plane cannot be read");
  return credentials;
}

/** Returns the kubeconfig of the administrator. */
function kubeconfigOf({ trust }: AccessParts, url: string, { adminToken }: PlaneCredentials): string {
  const user = { user: "admin", namespace: undefined, credentials: { token: adminToken } };
  return JSON.stringify(clientConfig({ url, ...trust, proxy: undefined, insecure: false, ...user }), undefined, 2);
}
