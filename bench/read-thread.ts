/** A thread that sends the same request over and over on some connections, and posts the number of answers. */
import { parentPort, workerData } from "node:worker_threads";
import { Connection, type Endpoint } from "./connection.ts";

export interface ReadLoop extends Endpoint {
  readonly request: Uint8Array;
  readonly connections: number;
  readonly seconds: number;
}

const { request, connections, seconds, ...endpoint } = workerData as ReadLoop; // the bench sends this
const bytes = Buffer.from(request);
const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(endpoint)));
const endMs = performance.now() + seconds * 1000;
let count = 0;
await Promise.all(
  open.map(async (connection) => {
    for (; performance.now() < endMs; count++) {
      const { code } = await connection.request(bytes);
      if (code !== 200) throw new Error(`the server answered ${code}`);
    }
  }),
);
for (const connection of open) connection.close();
parentPort!.postMessage(count); // this is a thread
