/** Events of a watch as a client receives them: lines of JSON, or, within the server's process, the objects themselves. */
import type { ApiObject } from "#meta/object-meta.ts";

interface WatchEvent<T extends ApiObject = ApiObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** Objects are shared and read-only. */
export interface ReceivedEvent {
  readonly type: WatchEvent["type"];
  /** The object, where nothing has to be decoded for it. */
  readonly decoded: ApiObject | undefined;
  /** The object, decoded when it is first asked for; of an ERROR event a `Status`. */
  object(): ApiObject;
  /** The event as JSON. */
  json(): Buffer;
}

/** The event of a line of the body, without its end. Throws `SyntaxError` where it is not JSON. */
export const eventOfLine = (line: Buffer): ReceivedEvent => new LineEvent(line);

/** The beginning of an event, as servers write it. */
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
