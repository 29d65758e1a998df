/**
 * Follows the Plane objects on each of several servers: one that leads makes and removes planes, all serve them. That this
 * server has taken in a change is told to the others, so that a plane is ready, or gone, everywhere when it is said to be.
 */
import { type AskedPlane, askedBy, planeGroup, type PlaneObject } from "#controllers/planes.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { AppliedRevision } from "#registry/applied-revision.ts";
import { StoreInformer, type StoreInformerOptions } from "#registry/informer.ts";
import { parseObject } from "#registry/stored-object.ts";
import type { Entry } from "#storage/watch-cache.ts";

interface FollowerOptions extends Pick<StoreInformerOptions, "cache" | "clock" | "log"> {
  readonly domain: ApiDomain;
  readonly applied: AppliedRevision;
  /** Takes all planes that there are; others have ended. */
  replaced(planes: readonly AskedPlane[]): void;
  /** Takes a new plane, or a change of one. */
  changed(plane: AskedPlane): void;
  /** Takes the end of a plane. `isGone`: its object is gone, too. */
  ended(plane: AskedPlane, isGone: boolean): void;
}

export interface PlaneFollower {
  /** Resolves when everything that reads of the root see now was taken. */
  inStep(): Promise<void>;
  close(): void;
}

/** Starts to follow. Resolves when all planes were taken. */
export async function followPlanes(options: FollowerOptions): Promise<PlaneFollower> {
  const { domain, applied, replaced, changed, ended } = options;
  const read = (entry: Entry): PlaneObject => parseObject(entry.value.toString());
  const isEnding = ({ metadata }: PlaneObject): boolean => metadata.deletionTimestamp !== undefined;
  const informer = new StoreInformer({
    ...options,
    prefix: `/registry/${planeGroup(domain)}/planes/`,
    replace: (entries) =>
      replaced(
        entries
          .map(read)
          .filter((plane) => !isEnding(plane))
          .map(askedBy),
      ),
    handle(events) {
      for (const { type, entry } of events) {
        const plane = read(entry);
        if (type === "DELETED" || isEnding(plane)) ended(askedBy(plane), type === "DELETED");
        else changed(askedBy(plane));
      }
    },
    reached: (revision) => applied.reached(revision),
  });
  applied.add(informer);
  await informer.start();
  return informer;
}
