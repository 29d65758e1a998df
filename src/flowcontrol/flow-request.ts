/** The attributes of a request that priority and fairness uses. */
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { UserInfo } from "#meta/user-info.ts";

export interface FlowRequest {
  readonly user: UserInfo;
  readonly info: RequestAttributes;
  /** The URL has its query. */
  readonly url: string;
}

/** How many seats a request takes, and for how long after its answer. */
export interface WorkEstimate {
  /** While it runs. */
  readonly initialSeats: number;
  /** After its answer, for `lingerMs`: the work that its events make. */
  readonly finalSeats: number;
  readonly lingerMs: number;
}
