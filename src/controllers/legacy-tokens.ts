/** The controllers of tokens that lie in Secrets: since when their use is tracked, and which are unused for so long that they go. */
import { legacyTokenCleanerController } from "./legacy-tokens/cleaner.ts";
import { legacyTokenTrackingController } from "./legacy-tokens/tracking.ts";

export const legacyTokenControllers = {
  tracking: legacyTokenTrackingController,
  cleaner: legacyTokenCleanerController,
};
