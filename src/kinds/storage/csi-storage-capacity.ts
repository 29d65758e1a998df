/** CSIStorageCapacity: how much room a storage class has in a part of the cluster. */
import type { KindBehaviour } from "../generic.ts";

export function csiStorageCapacities(): KindBehaviour {
  return { metadataRepeats: 1 };
}
