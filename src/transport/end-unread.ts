/**
 * The end of a connection whose client may still be sending. Closing it with bytes unread makes TCP reset it, and a
 * client that is reset may lose the answer. So the answer is followed by the end of our side alone, and a client has a
 * moment to read both; nothing of what it sends meanwhile is read. Go's server does the same, for as long.
 */
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import type { SocketReader } from "./read-turns.ts";

/**
 * The delay in milliseconds: enough for a round trip around the world, and little for a connection that costs nothing
 * meanwhile.
 */
export const unreadMs = 500;
/**
 * A connection that carried more than this may have an answer on its way that takes longer. That the client has read it
 * would be seen by its end alone, which is behind what it sends, so that such a connection has as long as a stalled one.
 */
export const longBytes = 64 * 1024;
export const longMs = 60_000;

/** Sends pending output and `last`, and closes the connection soon after. */
export function endUnread(socket: TLSSocket, reader: SocketReader, clock: Clock, last: string | Buffer = ""): void {
  socket.end(last);
  closeSoon(socket, reader, clock);
}

/** Closes a connection whose output is complete. The delay begins when the system has taken all written bytes. */
export function closeSoon(socket: TLSSocket, reader: SocketReader, clock: Clock): void {
  reader.close();
  let takenBytes = -1;
  const look = (): void => {
    const now = reader.bytesWritten - socket.writableLength;
    if (now === takenBytes) {
      socket.destroy();
      return;
    }
    takenBytes = now;
    cancel = clock.after(longMs, look);
  };
  const finish = (): void => {
    cancel();
    cancel = clock.after(reader.bytesWritten > longBytes ? longMs : unreadMs, () => socket.destroy());
  };
  let cancel = (): void => undefined;
  if (socket.writableFinished) finish();
  else {
    look();
    socket.once("finish", finish);
  }
  socket.once("close", () => cancel());
}
