import type { Gateway } from '../../gateway/gateway.ts'
import type { NotificationRule } from '../../identity/notification-rules.ts'
import type { NotificationKind } from '../../platform/db/schema.ts'
import { usdFromNanos } from '../../platform/money/money.ts'

/** A finding that a rule notifies about. */
export interface Alert {
  organizationId: string
  /** Null if it concerns the whole organization. */
  workspaceId: string | null
  /** The record it is about. */
  subject: string
  /** The threshold that was reached. */
  level: number
  /** Period of the notification: there is one for each subject, level and period. */
  period: string
  title: string
  /** Says what to do. */
  text: string
  data: Record<string, unknown>
}

/** The period of a condition without one of its own: it is notified again after it has ended. */
export const openPeriod = 'open'

export interface Finding {
  rule: NotificationRule
  alert: Alert
}

/** A kind of notification: finds what holds now, for all rules of the kind at once. */
export interface AlertSource {
  kind: NotificationKind
  find(gateway: Gateway, rules: RuleIndex): Promise<Finding[]>
}

/** The rules of one kind, by organization. */
export class RuleIndex {
  readonly #byOrganization: Map<string, NotificationRule[]>
  readonly #all: readonly NotificationRule[]

  constructor(rules: readonly NotificationRule[]) {
    this.#all = rules
    this.#byOrganization = Map.groupBy(rules, ({ organization_id }) => organization_id)
  }

  get organizationIds(): string[] {
    return [...this.#byOrganization.keys()]
  }

  get minThreshold(): number {
    return this.#all.reduce((min, { threshold }) => Math.min(min, threshold), Number.POSITIVE_INFINITY)
  }

  get maxThreshold(): number {
    return this.#all.reduce((max, { threshold }) => Math.max(max, threshold), 0)
  }

  /** The rules for a record; a rule of the whole organization covers all workspaces. */
  match(organizationId: string, workspaceId: string | null): NotificationRule[] {
    const rules = this.#byOrganization.get(organizationId) ?? []
    return rules.filter(({ workspace_id }) => workspace_id === null || workspace_id === workspaceId)
  }
}

/** Every digit: a rounded amount may read as the threshold that it has not reached. */
export function formatUsd(nanos: bigint): string {
  return `${usdFromNanos(nanos).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 9 })} USD`
}

const maxNameLength = 80

/** A name that users chose, in one line. */
export function quoteName(name: string): string {
  return `"${name.replace(/\s+/g, ' ').slice(0, maxNameLength)}"`
}
