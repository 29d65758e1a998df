/** The flags of the console, and whether it is served. */
import { binnacleFlag, list, optionalBoolean, type OptionsOf } from "#std/flags.ts";
import type { GeneralFlags } from "../general-flags.ts";

export const consoleFlags = {
  console: optionalBoolean(
    binnacleFlag("console"),
    "Serve the console for browsers at /console/; default: on a loopback address only (docs/console.md).",
  ),
  consoleOidcClientId: list(
    binnacleFlag("console-oidc-client-id"),
    "ids",
    "Client of the console at identity providers, as id or https://issuer=id; default: the audience of an issuer that has one alone.",
    (entry) => (/^https:[^=]*$|=$|^$/.test(entry) ? "must be id or https://issuer=id" : undefined),
  ),
};

export type ConsoleFlags = OptionsOf<typeof consoleFlags>;

/** Whether a server has the console: where nothing is said, one that only this machine reaches. */
export const servesConsole = ({ console: wanted, bindAddress }: ConsoleFlags & Pick<GeneralFlags, "bindAddress">) =>
  wanted ?? /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(bindAddress);
