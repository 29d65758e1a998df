/**
 * The identity of this server, which distinguishes it from other servers of its control plane. It is the name of the
 * identity Lease, and occurs in StorageVersions and, hashed, in metric labels. It is the same at every start on one
 * machine. Source: upstream's `APIServerID`.
 */
import { hash } from "node:crypto";
import { hostname } from "node:os";

/** The label value of identities: `kube-apiserver`, whatever the API domain. */
export const identityLabelValue = "kube-apiserver";

const idBytes = 16;
const base32 = "abcdefghijklmnopqrstuvwxyz234567";

/** Returns `apiserver-` and 26 characters, a hash of the machine's name and `identityLabelValue`. */
export function serverId(host = hostname()): string {
  const parts = [host, identityLabelValue].flatMap((part) => {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    return [length, bytes];
  });
  return `apiserver-${base32Of(hash("sha256", Buffer.concat(parts), "buffer").subarray(0, idBytes))}`;
}

/** Returns the hash that identifies this server in labels of metrics. */
export const identityHash = (): string => `sha256:${hash("sha256", serverId())}`;

function base32Of(bytes: Buffer): string {
  let text = "";
  let bits = 0;
  let count = 0;
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    count += 8;
    for (; count >= 5; count -= 5) text += base32[(bits >> (count - 5)) & 31];
    bits &= (1 << count) - 1;
  }
  return count === 0 ? text : text + base32[(bits << (5 - count)) & 31];
}
