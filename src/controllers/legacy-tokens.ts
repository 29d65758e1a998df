/**
 * The controllers of tokens in Secrets: one records since when their use is tracked, the other deletes tokens that are
 * unused for long.
 */
import { legacyTokenCleanerController } from "./legacy-tokens/cleaner.ts";
import { legacyTokenTrackingController } from "./legacy-tokens/tracking.ts";

export const legacyTokenControllers = {
  tracking: legacyTokenTrackingController,
  cleaner: legacyTokenCleanerController,
};
