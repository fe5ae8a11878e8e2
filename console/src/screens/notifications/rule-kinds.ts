import type { Schemas } from '../../api/client.ts'

export type Rule = Schemas['NotificationRule']
export type RuleKind = Rule['kind']

interface RuleKindText {
  label: string
  /** The condition of a notification: the text before and after the threshold. */
  when: [before: string, after: string]
  unit: string
  min: number
  max: number
  fallback: number
  /** Whether it can be for one workspace. */
  hasWorkspaces: boolean
}

/** The kinds of notifications. A test compares the thresholds with openapi.json. */
export const ruleKinds: Record<RuleKind, RuleKindText> = {
  low_balance: {
    label: 'Low credits',
    when: ['The organization has less than $', ' of credits left.'],
    unit: 'USD',
    min: 0.01,
    max: 1e9,
    fallback: 100,
    hasWorkspaces: false,
  },
  budget: {
    label: 'Used budget',
    when: ['A budget or the limit of a key is used to ', '%, and to 100%.'],
    unit: 'percent',
    min: 1,
    max: 100,
    fallback: 80,
    hasWorkspaces: true,
  },
  key_expiring: {
    label: 'Key expires',
    when: ['A key that works has ', ' days left.'],
    unit: 'days',
    min: 1,
    max: 365,
    fallback: 7,
    hasWorkspaces: true,
  },
  destination_failing: {
    label: 'Destination fails',
    when: ['Events have waited for ', ' minutes because a destination fails.'],
    unit: 'minutes',
    min: 1,
    max: 10_080,
    fallback: 30,
    hasWorkspaces: true,
  },
  provider_failing: {
    label: 'Provider fails',
    when: ['An endpoint of a provider has failed for ', ' minutes without a success.'],
    unit: 'minutes',
    min: 1,
    max: 1440,
    fallback: 15,
    hasWorkspaces: false,
  },
  unusual_spend: {
    label: 'Unusual spending',
    when: ['A key spends at least $', ' in an hour, and unusually much for it.'],
    unit: 'USD',
    min: 0.01,
    max: 1e9,
    fallback: 5,
    hasWorkspaces: true,
  },
}

export function describeRule({ kind, threshold }: Pick<Rule, 'kind' | 'threshold'>): string {
  return ruleKinds[kind].when.join(String(threshold))
}
