/** The second-factor pages, below `/interaction/:uid/mfa`. */
import type { Request } from 'express';
import type { Interaction } from '../interaction/interaction.ts';
import {
  checkEmail,
  checkOtp,
  checkRecovery,
  checkSecurityKey,
  checkSms,
  choose,
  showChoice,
  showEmail,
  showKey,
  showOtp,
  showRecovery,
  showSecondFactor,
  showSms,
  showWait,
} from './challenge.ts';
import { chooseEnrolment, confirmCodesSaved, enrolmentPages, showEnrolmentChoice, showRecoveryCodes } from './enrol.ts';

import { answerPasskeyOffer, showPasskeyOffer } from './passkey.ts';

type Handler = (interaction: Interaction, request: Request) => Promise<void>;

/** Path below `mfa`, what a GET shows there, and what handles its form. */
type Page = [path: string, show: Handler, check?: Handler];

const pages: Page[] = [
  ['', showSecondFactor],
  ['/choose', showChoice, choose],
  ['/otp', showOtp, checkOtp],
  ['/email', showEmail, checkEmail],
  ['/sms', showSms, checkSms],
  ['/key', showKey, checkSecurityKey],
  ['/recovery', showRecovery, checkRecovery],
  ['/wait', showWait],
  ['/enrol', showEnrolmentChoice, chooseEnrolment],
  ...enrolmentPages.map(({ path, show, answer }): Page => [`/enrol/${path}`, show, answer]),
  ['/passkey', showPasskeyOffer, answerPasskeyOffer],
  ['/recovery-codes', showRecoveryCodes, confirmCodesSaved],
];

export function addFactorPages(
  page: (path: string, show: Handler) => void,
  post: (path: string, check: Handler) => void,
): void {
  for (const [path, show, check] of pages) {
    page(`/interaction/:uid/mfa${path}`, show);
    if (check) post(`/interaction/:uid/mfa${path}`, check);
  }
}
