/** All cases, in the order in which they run. */
import { admissionCases } from "./admission-cases.ts";
import { apiServiceCases } from "./api-service-cases.ts";
import { conversionCases } from "./conversion-cases.ts";
import { matchingCases } from "./matching-cases.ts";
import type { Case } from "./session.ts";

export const webhookCases: readonly Case[] = [
  ...admissionCases,
  ...matchingCases,
  ...conversionCases,
  ...apiServiceCases,
];
