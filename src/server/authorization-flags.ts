/** Flags that say what users may do. */
import { inert, list } from "./flags.ts";

export const authorizationFlags = {
  authorizationMode: inert(
    list(["authorization-mode", "Authorization"], "modes", "Authorizers in order."),
    "until RBAC comes with a later step, system:masters may do everything and others may read what discovery needs",
  ),
};
