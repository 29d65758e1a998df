/** Unpacks the bodies of answers that were compressed. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ConnectionError } from "../connection-error.ts";
import { bodyTooLong } from "./problem.ts";

/** Resolves with the body. Rejects with `ConnectionError` when it is no gzip, or longer than `bytesMax`. */
export async function unpack(packed: Buffer, bytesMax: number, address: string): Promise<Buffer> {
  try {
    return await promisify(gunzip)(packed, { maxOutputLength: bytesMax });
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException; // what zlib throws
    if (code === "ERR_BUFFER_TOO_LARGE") throw bodyTooLong(address, bytesMax);
    const message = `${address} sent an answer that is packed as gzip and cannot be unpacked (${code})`;
    throw new ConnectionError(message, { code, sent: true, temporary: false, cause });
  }
}
