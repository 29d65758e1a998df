/**
 * The end of a connection whose client may still be sending. Closing it with bytes unread makes TCP reset it, and a
 * client that is reset may lose the answer. So the answer is followed by the end of our side alone, and a client has a
 * moment to read both; nothing of what it sends meanwhile is read. Go's server does the same, for as long.
 */
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import type { SocketReader } from "./read-turns.ts";

/** Enough for a round trip to the other side of the world, and little for a connection that costs nothing meanwhile. */
export const unreadMs = 500;

/** Sends what was written, and `last`, and closes the connection soon after. */
export function endUnread(socket: TLSSocket, reader: SocketReader, clock: Clock, last: string | Buffer = ""): void {
  socket.end(last);
  closeSoon(socket, reader, clock);
}

/** The same where everything was said and our side has ended. */
export function closeSoon(socket: TLSSocket, reader: SocketReader, clock: Clock): void {
  reader.close();
  const cancel = clock.after(unreadMs, () => socket.destroy());
  socket.once("close", cancel);
}
