/**
 * Ends a connection whose client may still be sending. A connection that is closed with unread bytes is reset by TCP,
 * and the client may lose the answer. So only the server's direction ends after the answer, and the client has a moment
 * to read both; the bytes that it sends meanwhile are not read. Go's server does the same, with the same delay.
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
 * The bytes from which an answer may still be on its way after that delay. The server cannot see when the client has
 * read it, since the client's end of the connection comes after the bytes that are not read. So the delay is longer.
 */
export const longBytes = 64 * 1024;
/** The delay in milliseconds after a long answer, and the time in which a client has to take more of its output. */
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
