/**
 * The controllers of the addresses behind services: Endpoints, EndpointSlices, and slices that mirror Endpoints which
 * clients wrote.
 */
import { endpointsController } from "./endpoints/endpoints.ts";
import { endpointSliceMirroringController } from "./endpoints/mirroring.ts";
import { endpointSlicesController } from "./endpoints/slices.ts";

export const endpointControllers = {
  endpoints: endpointsController,
  slices: endpointSlicesController,
  mirroring: endpointSliceMirroringController,
};
