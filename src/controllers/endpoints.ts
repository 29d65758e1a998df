/** The controllers of where services lead: Endpoints, EndpointSlices, and slices that mirror Endpoints of others. */
import { endpointsController } from "./endpoints/endpoints.ts";
import { endpointSliceMirroringController } from "./endpoints/mirroring.ts";
import { endpointSlicesController } from "./endpoints/slices.ts";

export const endpointControllers = {
  endpoints: endpointsController,
  slices: endpointSlicesController,
  mirroring: endpointSliceMirroringController,
};
