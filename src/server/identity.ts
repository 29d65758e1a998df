/**
 * This server's identity tells it from others of its control plane: it is the name of its identity Lease, stands in
 * StorageVersions and, as a hash, in labels of metrics. It is the same at every start on one machine. Source:
 * upstream's `APIServerID`.
 */
import { hash } from "node:crypto";
import { hostname } from "node:os";

/** `kube-apiserver` in identities, whatever the API domain. */
export const identityLabelValue = "kube-apiserver";

const idBytes = 16;
const base32 = "abcdefghijklmnopqrstuvwxyz234567";

/** `apiserver-` and 26 characters, of the machine's name and what runs there. */
export function serverId(host = hostname()): string {
  const parts = [host, identityLabelValue].flatMap((part) => {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    return [length, bytes];
  });
  return `apiserver-${base32Of(hash("sha256", Buffer.concat(parts), "buffer").subarray(0, idBytes))}`;
}

/** Returns what stands for this server in labels of metrics. */
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
