/** The types of `binnacle/testing/jest` for `require`. */
import type { JestServer, TestServerOptions } from "./jest.js" with { "resolution-mode": "import" };

export type { JestServer } from "./jest.js" with { "resolution-mode": "import" };

export declare function useServer(options?: TestServerOptions): JestServer;
