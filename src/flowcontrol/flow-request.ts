/** The attributes of a request that priority and fairness uses. */
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { UserInfo } from "#meta/user-info.ts";

export interface FlowRequest {
  readonly user: UserInfo;
  readonly info: RequestAttributes;
  /** The URL has its query. */
  readonly url: string;
}

/** The seats that a request takes, and the time for which it keeps them after its answer. */
export interface WorkEstimate {
  /** While it runs. */
  readonly initialSeats: number;
  /** The seats after its answer, for `lingerMs`: they stand for the work that its events make. */
  readonly finalSeats: number;
  readonly lingerMs: number;
}
