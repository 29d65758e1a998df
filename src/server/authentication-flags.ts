/** Flags that say who a server knows. */
import { boolean, inert, optional } from "./flags.ts";

const authentication = (name: string) => [name, "Authentication"] as const;

export const authenticationFlags = {
  anonymousAuth: boolean(
    authentication("anonymous-auth"),
    true,
    "Take requests without credentials as system:anonymous.",
  ),
  clientCaFile: optional(
    authentication("client-ca-file"),
    "file",
    "Certificates (PEM) whose client certificates are trusted, beside the server's own.",
  ),
  tokenAuthFile: optional(
    authentication("token-auth-file"),
    "file",
    'Fixed tokens: lines of token,user,uid,"group1,group2".',
  ),
  enableBootstrapTokenAuth: inert(
    boolean(authentication("enable-bootstrap-token-auth"), false, "Take bootstrap tokens of the system namespace."),
    "bootstrap tokens come with a later step",
  ),
};
