/** Flags that say what users may do. */
import { list } from "./flags.ts";

export const authorizationModes = ["AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"] as const;
export type AuthorizationMode = (typeof authorizationModes)[number];

export const authorizationFlags = {
  authorizationMode: {
    ...list(
      ["authorization-mode", "Authorization"],
      "modes",
      `Authorizers in order: ${authorizationModes.join(", ")}.`,
      (mode) =>
        (authorizationModes as readonly string[]).includes(mode)
          ? undefined
          : `must be one of ${authorizationModes.join(", ")}`,
    ),
    default: ["RBAC"],
  },
};
