/** The controllers of pods, services and Jobs by upstream name. */
import type { RestClient } from "#client/rest-client.ts";
import type { Controller } from "#controllers/controller.ts";
import { disruptionController, type ScaledKinds } from "#controllers/disruption.ts";
import { endpointControllers } from "#controllers/endpoints.ts";
import { ephemeralVolumesController } from "#controllers/ephemeral-volumes.ts";
import { podGcController } from "#controllers/pod-gc.ts";
import { resourceClaimsController } from "#controllers/resource-claims.ts";
import { ttlAfterFinishedController } from "#controllers/ttl-after-finished.ts";
import type { SharedInformers } from "#controllers/shared-informers.ts";
import type { ControllerFlags } from "./flags.ts";

/** A controller with its upstream name and the client with which it writes. */
export interface NamedController {
  readonly name: string;
  readonly client: RestClient;
  readonly controller: Controller;
}

interface PodControllersOptions {
  readonly options: ControllerFlags;
  readonly informers: SharedInformers;
  readonly kinds: ScaledKinds;
  /** The served version of resource claims; empty when none is served. */
  readonly resourceClaims: string;
  /** Whether a built-in resource is served. The controllers of other resources are left out. */
  serves(resource: string): boolean;
}

/** `named` makes a controller with its account. */
export const podControllers = (
  named: (name: string, account: string, controller: Controller) => NamedController,
  { options, informers, kinds, resourceClaims, serves }: PodControllersOptions,
): readonly NamedController[] => [
  ...(serves("poddisruptionbudgets")
    ? [named("disruption-controller", "disruption-controller", disruptionController({ informers, kinds }))]
    : []),
  named("endpoints-controller", "endpoint-controller", endpointControllers.endpoints(informers)),
  ...(serves("endpointslices")
    ? [
        named(
          "endpointslice-controller",
          "endpointslice-controller",
          endpointControllers.slices({ informers, endpointsMax: options.maxEndpointsPerSlice }),
        ),
        named(
          "endpointslice-mirroring-controller",
          "endpointslicemirroring-controller",
          endpointControllers.mirroring(informers),
        ),
      ]
    : []),
  named("ephemeral-volume-controller", "ephemeral-volume-controller", ephemeralVolumesController(informers)),
  named(
    "pod-garbage-collector-controller",
    "pod-garbage-collector",
    podGcController({ informers, terminatedMax: options.terminatedPodGcThreshold }),
  ),
  ...(resourceClaims === ""
    ? []
    : [
        named(
          "resourceclaim-controller",
          "resource-claim-controller",
          resourceClaimsController({ informers, version: resourceClaims }),
        ),
      ]),
  ...(serves("jobs")
    ? [named("ttl-after-finished-controller", "ttl-after-finished-controller", ttlAfterFinishedController)]
    : []),
];
