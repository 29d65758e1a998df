/** The controllers of pods, services and Jobs by upstream name. */
import type { Controller } from "#controllers/controller.ts";
import { disruptionController, type ScaledKinds } from "#controllers/disruption.ts";
import { endpointControllers } from "#controllers/endpoints.ts";
import { ephemeralVolumesController } from "#controllers/ephemeral-volumes.ts";
import { podGcController } from "#controllers/pod-gc.ts";
import { resourceClaimsController } from "#controllers/resource-claims.ts";
import { ttlAfterFinishedController } from "#controllers/ttl-after-finished.ts";
import type { SharedInformers } from "#controllers/shared-informers.ts";
import type { ControllerFlags } from "./flags.ts";

/** Controllers by upstream name. Those whose resources are not served are `undefined`. */
export type Controllers = Readonly<Record<string, Controller | undefined>>;

interface PodControllersOptions {
  readonly options: ControllerFlags;
  readonly informers: SharedInformers;
  readonly scaledKinds: ScaledKinds;
  /** The served version of resource claims; empty when none is served. */
  readonly resourceClaims: string;
  /** Whether a built-in resource is served. */
  serves(resource: string): boolean;
}

export function podControllers(parts: PodControllersOptions): Controllers {
  const { options, informers, scaledKinds: kinds, resourceClaims: version, serves } = parts;
  const servesSlices = serves("endpointslices");
  const { endpoints, slices, mirroring } = endpointControllers;
  return {
    "disruption-controller": serves("poddisruptionbudgets") ? disruptionController({ informers, kinds }) : undefined,
    "endpoints-controller": endpoints(informers),
    "endpointslice-controller": servesSlices
      ? slices({ informers, endpointsMax: options.maxEndpointsPerSlice })
      : undefined,
    "endpointslice-mirroring-controller": servesSlices ? mirroring(informers) : undefined,
    "ephemeral-volume-controller": ephemeralVolumesController(informers),
    "pod-garbage-collector-controller": podGcController({ informers, terminatedMax: options.terminatedPodGcThreshold }),
    "resourceclaim-controller": version === "" ? undefined : resourceClaimsController({ informers, version }),
    "ttl-after-finished-controller": serves("jobs") ? ttlAfterFinishedController : undefined,
  };
}
