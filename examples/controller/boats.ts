// Printed by `binnacle types`.
import type { Kind, StoredObject } from "binnacle/client";

export interface Boat extends StoredObject {
  readonly spec: BoatSpec;
  readonly status?: BoatStatus;
}

export const Boat: Kind<Boat> = {
  group: "harbour.example.com",
  version: "v1",
  kind: "Boat",
  resource: "boats",
  namespaced: true,
};

export interface BoatSpec {
  /** The place where the boat lies. */
  readonly berth: string;
}

export interface BoatStatus {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
    readonly lastTransitionTime: string;
    readonly observedGeneration?: number;
  }[];
}
