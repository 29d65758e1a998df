/** A server of gRPC for tests, which answers as a test says: well, badly, or not at all. */
import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { ProtobufWriter } from "#codec/protobuf-writer.ts";

export interface FakeCall {
  readonly stream: ServerHttp2Stream;
  /** The path without the package, as in `KV/Range`. */
  readonly method: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

export class FakeMember {
  readonly endpoint: string;
  readonly sessions = new Set<ServerHttp2Session>();
  /** The methods that were called, in order. */
  readonly methods: string[] = [];
  readonly #server: Http2Server;

  private constructor(server: Http2Server) {
    this.#server = server;
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
  }

  /** Starts a server. `answer` gets each call when its headers are there. */
  static async listen(answer: (call: FakeCall) => void): Promise<FakeMember> {
    const server = createServer({ settings: { maxHeaderListSize: 1 << 20 } });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const member = new FakeMember(server);
    server.on("session", (session) => {
      member.sessions.add(session);
      session.on("close", () => member.sessions.delete(session));
      session.on("error", () => {}); // clients may break off
    });
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      stream.on("error", () => {});
      const method = String(headers[":path"]).replace("/etcdserverpb.", "");
      member.methods.push(method);
      answer({ stream, method, headers });
    });
    return member;
  }

  async close(): Promise<void> {
    for (const session of this.sessions) session.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Begins an answer, whose status comes with `end`. */
export function begin(
  stream: ServerHttp2Stream,
  trailers: Readonly<Record<string, string>> = { "grpc-status": "0" },
): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
}

/** Answers with messages that are not framed yet. */
export function reply(stream: ServerHttp2Stream, ...messages: readonly Buffer[]): void {
  begin(stream);
  for (const message of messages) stream.write(framed(message));
  stream.end();
}

/** Answers with a status alone, in the headers. */
export function refuse(stream: ServerHttp2Stream, status: string, message: string): void {
  const headers = { "content-type": "application/grpc", "grpc-status": status, "grpc-message": message };
  stream.respond({ ":status": 200, ...headers }, { endStream: true });
}

/** Puts the five bytes of gRPC before a message. */
export function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Writes a message with `write`, which writes the last field first. */
export function messageOf(write: (writer: ProtobufWriter) => void): Buffer {
  const writer = new ProtobufWriter();
  write(writer);
  return writer.finish();
}

/** Writes the header of an answer as field 1. */
export function writeHeader(writer: ProtobufWriter, revision: number, cluster = 7): void {
  writer.message(1, () => {
    writer.varint(4, 1);
    writer.varint(3, revision);
    writer.varint(2, 9);
    writer.varint(1, cluster);
  });
}

/** Returns an answer that has a header alone, as the one of a range without keys. */
export const emptyAnswer = (revision: number, cluster?: number): Buffer =>
  messageOf((writer) => writeHeader(writer, revision, cluster));
