/** The key of a cached token: its digest, so that neither a memory dump nor look-up time reveals a token. */
import { hash } from "node:crypto";

/** Digest of a token's UTF-8 bytes, short to compare: a character for each of its bytes. */
export const tokenDigest = (token: string): string => hash("sha256", token, "latin1");
