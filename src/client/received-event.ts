/** Events of a watch as a client receives them: as lines of JSON, or, within the server's process, as objects. */
import type { ApiObject } from "#meta/object-meta.ts";

interface WatchEvent<T extends ApiObject = ApiObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** An event of a watch. Its objects are shared and read-only. */
export interface ReceivedEvent {
  readonly type: WatchEvent["type"];
  /** The object, if it is available without decoding. */
  readonly decoded: ApiObject | undefined;
  /** Returns the object, decoded at the first call. The object of an ERROR event is a `Status`. */
  object(): ApiObject;
  /** Returns the event as JSON. */
  json(): Buffer;
}

/** Returns the event of a line of the body, without its line end. It throws `SyntaxError` when the line is not JSON. */
export const eventOfLine = (line: Buffer): ReceivedEvent => new LineEvent(line);

/** Matches the beginning of an event, as servers write it. */
const beginning = /^\{"type":"([A-Z]+)",/;
const beginningLength = 24;

class LineEvent implements ReceivedEvent {
  readonly type: WatchEvent["type"];
  readonly #line: Buffer;
  #event: WatchEvent | undefined;

  constructor(line: Buffer) {
    this.#line = line;
    const type = beginning.exec(line.toString("latin1", 0, beginningLength))?.[1];
    this.type = (type as WatchEvent["type"] | undefined) ?? this.#decode().type; // what watches write
  }

  get decoded(): ApiObject | undefined {
    return this.#event?.object;
  }

  object(): ApiObject {
    return this.#decode().object;
  }

  json(): Buffer {
    return this.#line;
  }

  #decode(): WatchEvent {
    return (this.#event ??= JSON.parse(this.#line.toString()) as WatchEvent); // what watches write
  }
}
