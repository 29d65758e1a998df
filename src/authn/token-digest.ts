/** Makes the key of a cached token: its digest, so that neither a memory dump nor look-up time reveals a token. */
import { hash } from "node:crypto";

/** Returns the digest of a token's UTF-8 bytes, one character for each byte, so that it is short to compare. */
export const tokenDigest = (token: string): string => hash("sha256", token, "latin1");
