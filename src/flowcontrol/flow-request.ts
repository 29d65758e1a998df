/** The attributes of a request that priority and fairness use. */
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { UserInfo } from "#meta/user-info.ts";

export interface FlowRequest {
  readonly user: UserInfo;
  readonly info: RequestAttributes;
  /** The URL with its query. */
  readonly url: string;
}

/** The seats that a request takes, and the time for which it keeps them after its answer. */
export interface WorkEstimate {
  /** The seats while the request runs. */
  readonly initialSeats: number;
  /** The seats after its answer, for `lingerMs`. They represent the work that its watch events cause. */
  readonly finalSeats: number;
  readonly lingerMs: number;
}
