/** The attributes of a request that priority and fairness uses. */
import type { UserInfo } from "#meta/user-info.ts";

export interface FlowRequest {
  readonly user: UserInfo;
  readonly info: FlowTarget;
  /** With its query. */
  readonly url: string;
}

/** The target of a request: path and method, parsed. */
export interface FlowTarget {
  readonly isResourceRequest: boolean;
  readonly path: string;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** How many seats a request takes, and for how long after its answer. */
export interface Work {
  /** While it runs. */
  readonly initialSeats: number;
  /** After its answer, for `lingerMs`: the work that its events make. */
  readonly finalSeats: number;
  readonly lingerMs: number;
}
