/** Flags of planes: control planes beside the server's own, in its process. */
import { binnacleFlag, duration, integer, optional, type OptionsOf } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";

export const planeFlags = {
  planes: optional(
    binnacleFlag("planes"),
    "folder",
    "Serve control planes beside the server's own, each with a folder in this one; objects of the kind Plane make and delete them (docs/planes.md).",
  ),
  planesMax: integer(
    binnacleFlag("planes-max"),
    1000,
    { min: 1, max: 100_000 },
    "Most control planes that are served at a time with --planes.",
  ),
  planesOpenMax: integer(
    binnacleFlag("planes-open-max"),
    256,
    { min: 1, max: 100_000 },
    "Most control planes that stay open at a time; of more, those are closed that were not used for longest. The next request opens them again.",
  ),
  planesIdleTimeoutMs: duration(
    binnacleFlag("planes-idle-timeout"),
    900_000,
    "How long a control plane stays open without requests and watches; the next request opens it again. 0s for as long as the server runs.",
  ),
};

type PlaneFlags = OptionsOf<typeof planeFlags>;

interface CheckedOptions extends PlaneFlags {
  readonly processes: number;
  readonly etcdServers: readonly string[];
}

/** Throws `StartError` for settings that cannot be combined with planes. */
export function checkPlanes({ planes, processes, etcdServers }: CheckedOptions): void {
  if (planes === undefined) return;
  if (processes > 1) throw new StartError("--planes needs one process: leave out --processes");
  if (etcdServers.length > 0) throw new StartError("--planes needs a data folder: leave out --etcd-servers");
}
