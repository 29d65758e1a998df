/** CSIStorageCapacity: free space of a storage class in a part of the cluster. */
import type { CSIStorageCapacity } from "#api/storage/v1.ts";
import type { KindBehaviour } from "../generic.ts";

export function csiStorageCapacities(): KindBehaviour<CSIStorageCapacity> {
  return { metadataRepeats: 1 };
}
