/** The inputs of authentication. */
import type { RestClient } from "#client/rest-client.ts";
import type { AuthorizationFlags } from "../authorization/flags.ts";
import type { Lookups } from "../lookups.ts";
import type { ServerParts } from "../server-parts.ts";
import type { ClientTrust } from "./client-trust.ts";
import type { ExternalAuthenticationFlags } from "./external-flags.ts";
import type { AuthenticationFlags } from "./flags.ts";
import type { AuthenticationPlan } from "./plan.ts";

export interface AuthenticationParts
  extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics" | "egress"> {
  readonly options: AuthenticationFlags & ExternalAuthenticationFlags & Pick<AuthorizationFlags, "authorizationMode">;
  readonly plan: AuthenticationPlan;
  readonly clientTrust: ClientTrust;
  /** The bearer token of a user in `system:masters`. */
  readonly adminToken: string;
  readonly lookups: Lookups;
  /** The client of the server itself; it works once there is a request pipeline. */
  readonly client: RestClient;
}
