/** A finding of `binnacle doctor`, and the interface of its checks. */
import type { FoundObjects } from "../explain/all-metadata.ts";
import type { OpenCluster } from "../open-cluster.ts";
import type { Samples } from "./samples.ts";

export interface DoctorFinding {
  /** A problem keeps something from working; a warning will, or may. */
  readonly severity: "problem" | "warning";
  /** The thing that is meant, such as `namespace/shop`. */
  readonly about: string;
  /** A sentence that says what is wrong and why. */
  readonly what: string;
  /** A sentence that says what can be done. */
  readonly next: string;
}

/** A cluster as the checks see it. */
export interface ExaminedCluster {
  readonly cluster: OpenCluster;
  readonly found: FoundObjects;
  readonly metrics: Samples;
  readonly nowMs: number;
}

export interface DoctorCheck {
  /** The title, such as `namespaces`, for the list of what was looked at. */
  readonly name: string;
  run(examined: ExaminedCluster): Promise<readonly DoctorFinding[]> | readonly DoctorFinding[];
}
