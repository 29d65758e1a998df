/** The credentials that all servers of one store have in common, in files that a process makes once. */
import type { ServerSettings } from "#server/options.ts";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { keyPem, newKey } from "#std/certificate.ts";
import { file } from "../harness.ts";

type SharedCredentials = Pick<ServerSettings, "clientCaFile" | "serviceAccountSigningKeyFile">;

let credentials: SharedCredentials | undefined;

/** Returns the settings by which servers trust the same clients, and sign and verify tokens with the same key. */
export async function sharedCredentials(): Promise<SharedCredentials> {
  const { certificate } = await fakeAuthority("clients");
  credentials ??= {
    clientCaFile: file("clients.crt", certificate),
    serviceAccountSigningKeyFile: file("sa.key", keyPem(newKey())),
  };
  return credentials;
}
