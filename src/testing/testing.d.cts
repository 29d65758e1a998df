/** The types of `binnacle/testing` for `require`. */
import type * as Testing from "./testing.js" with { "resolution-mode": "import" };

export type {
  ClockControls,
  RequestFault,
  FaultControls,
  RecordedRequest,
  RequestMatch,
  Snapshot,
  TestServer,
  TestServerOptions,
} from "./testing.js" with { "resolution-mode": "import" };

export declare const startTestServer: typeof Testing.startTestServer;
