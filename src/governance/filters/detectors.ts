import { findAddresses } from './address.ts'
import { findCreditCards } from './credit-card.ts'
import type { Detector } from './detector.ts'
import { findEmails } from './email.ts'
import { findIpAddresses } from './ip-address.ts'
import { findPersonNames } from './person-name.ts'
import { findPhones } from './phone.ts'
import { findInjections } from './prompt-injection.ts'
import { findSecrets } from './secrets.ts'
import { findSsns } from './ssn.ts'

/** The built-in detectors by their slugs. */
export const detectors = {
  email: findEmails,
  phone: findPhones,
  ssn: findSsns,
  'credit-card': findCreditCards,
  'ip-address': findIpAddresses,
  'person-name': findPersonNames,
  address: findAddresses,
  secrets: findSecrets,
  'regex-prompt-injection': findInjections,
} as const satisfies Record<string, Detector>

/** The replacement text of each detector. */
export const detectorLabels: Readonly<Record<DetectorSlug, string>> = {
  email: '[EMAIL]',
  phone: '[PHONE]',
  ssn: '[SSN]',
  'credit-card': '[CREDIT_CARD]',
  'ip-address': '[IP_ADDRESS]',
  'person-name': '[PERSON_NAME]',
  address: '[ADDRESS]',
  secrets: '[SECRET]',
  'regex-prompt-injection': '[PROMPT_INJECTION]',
}

export type DetectorSlug = keyof typeof detectors
export const detectorSlugs = Object.keys(detectors) as DetectorSlug[]
