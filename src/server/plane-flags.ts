/** Flags of planes: control planes beside the server's own, in its process. */
import { binnacleFlag, duration, integer, optional, type OptionsOf } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";

/** Labels with dots between them, and room for one more. */
const suffixForm = /^(?=.{1,189}$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*$/;

export const planeFlags = {
  planes: optional(
    binnacleFlag("planes"),
    "folder",
    "Serve control planes beside the server's own, each with a folder in this one, or in the etcd of --etcd-servers; objects of the kind Plane make and delete them (docs/planes.md).",
  ),
  planesHostSuffix: optional(
    binnacleFlag("planes-host-suffix"),
    "name",
    "Serve each control plane also at the host NAME.SUFFIX, which is then its URL. The certificate made at start has *.SUFFIX.",
    (name) => (suffixForm.test(name) ? undefined : "must be the name of a domain, in lower case"),
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

/** Returns the options with the host names of planes in the certificate that is made at start. */
export const withPlaneHosts = <Options extends PlaneFlags & { readonly tlsSan: readonly string[] }>(
  options: Options,
): Options =>
  options.planesHostSuffix === undefined
    ? options
    : { ...options, tlsSan: [...options.tlsSan, `*.${options.planesHostSuffix}`] };

/** Throws `StartError` for settings that cannot be combined with planes. */
export function checkPlanes({ planes, planesHostSuffix, processes, etcdServers }: CheckedOptions): void {
  if (planes === undefined && planesHostSuffix !== undefined)
    throw new StartError("--planes-host-suffix needs --planes");
  if (planes === undefined) return;
  if (processes > 1 && etcdServers.length === 0) {
    throw new StartError(
      "--planes and --processes need a store that processes open side by side: keep planes in etcd (--etcd-servers), or leave out --processes",
    );
  }
}
