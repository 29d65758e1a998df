/** Tells a pool which addresses the objects of a controller have. */
import type { EventPredicate } from "#client/controllers.ts";
import type { StoredObject } from "#client/kind.ts";
import type { KeyedAddresses } from "#meta/keyed-addresses.ts";

/** Returns a predicate that lets all events pass, and takes back the address of an object that has lost it or has gone. */
export const followAddresses =
  <T extends StoredObject>(pool: KeyedAddresses, addressOf: (object: T) => string | undefined): EventPredicate<T> =>
  (event) => {
    const { uid } = event.object.metadata;
    const address = event.type === "deleted" ? undefined : addressOf(event.object);
    const isLost = event.type === "changed" && addressOf(event.previous) !== address;
    if (event.type === "deleted" || isLost) pool.delete(uid);
    if (address !== undefined) pool.set(uid, address);
    return true;
  };
