import type { Gateway } from '../../gateway/gateway.ts'
import { listChannels, listEnabledRules, type NotificationRule } from '../../identity/notification-rules.ts'
import { newUuid } from '../../platform/crypto/ids.ts'
import type { NotificationKind } from '../../platform/db/schema.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { type Alert, type AlertSource, type Finding, openPeriod, RuleIndex } from './alert.ts'
import { buildDelivery } from './deliveries/delivery.ts'
import { budgetUse } from './kinds/budgets.ts'
import { destinationFailure } from './kinds/destinations.ts'
import { keyExpiry } from './kinds/key-expiry.ts'
import { lowBalance } from './kinds/low-balance.ts'
import { providerFailure, recordFailingEndpoints } from './kinds/providers.ts'
import { unusualSpend } from './kinds/unusual-spend.ts'
import {
  closeNotification,
  deleteOldNotifications,
  findExisting,
  insertDeliveries,
  insertNotification,
  listOpen,
  takeTurn,
} from './store.ts'

const sources: readonly AlertSource[] = [
  lowBalance,
  budgetUse,
  keyExpiry,
  destinationFailure,
  providerFailure,
  unusualSpend,
]

/** All nodes together evaluate about this often. */
const turnMs = 50_000
const retentionMs = 90 * 86_400_000
/** Findings that are looked up in one statement. */
const chunkSize = 200

/** The job: one node at a time evaluates the rules of all organizations. */
export async function runNotifications(gateway: Gateway): Promise<void> {
  const { db, clock } = gateway
  await recordFailingEndpoints(gateway)
  const until = new Date(clock.now() + turnMs).toISOString()
  if (await takeTurn(db, isoNow(clock), until)) await evaluateNotifications(gateway)
}

/** Evaluates all rules. Several nodes may do it at once: a notification is inserted once, with its deliveries. */
export async function evaluateNotifications(gateway: Gateway): Promise<void> {
  const { db, clock } = gateway
  const startedAt = isoNow(clock)
  const rules = Map.groupBy(await listEnabledRules(db), ({ kind }) => kind)
  for (const source of sources) {
    const findings = await source.find(gateway, new RuleIndex(rules.get(source.kind) ?? []))
    await closeEnded(gateway, source.kind, findings, startedAt)
    await raise(gateway, source.kind, findings)
  }
  await deleteOldNotifications(db, new Date(clock.now() - retentionMs).toISOString())
}

/** Conditions that hold no longer are notified again when they return. */
async function closeEnded(
  { db }: Gateway,
  kind: NotificationKind,
  findings: readonly Finding[],
  startedAt: string,
): Promise<void> {
  const holding = new Set(findings.map(({ alert }) => identify(alert)))
  // Not those of a node that started later: this one may have been paused since.
  for (const { id, organization_id, subject, level } of await listOpen(db, kind, startedAt)) {
    const condition = { organizationId: organization_id, subject, level, period: openPeriod }
    if (!holding.has(identify(condition))) await closeNotification(db, id, startedAt)
  }
}

type AlertIdentity = Pick<Alert, 'organizationId' | 'subject' | 'level' | 'period'>

function identify({ organizationId, subject, level, period }: AlertIdentity): string {
  return `${organizationId} ${subject} ${level} ${period}`
}

async function raise(gateway: Gateway, kind: NotificationKind, findings: readonly Finding[]): Promise<void> {
  for (const [organizationId, all] of Map.groupBy(findings, ({ alert }) => alert.organizationId)) {
    for (let at = 0; at < all.length; at += chunkSize) {
      for (const finding of await selectNew(gateway, organizationId, kind, all.slice(at, at + chunkSize)))
        await store(gateway, kind, finding)
      await yieldToEventLoop()
    }
  }
}

/** Selects findings that have no notification yet, or none that was sent for their rule. */
async function selectNew(
  { db }: Gateway,
  organizationId: string,
  kind: NotificationKind,
  findings: readonly Finding[],
): Promise<Finding[]> {
  const subjects = [...new Set(findings.map(({ alert }) => alert.subject))]
  const periods = [...new Set(findings.map(({ alert }) => alert.period))]
  const rows = await findExisting(db, organizationId, kind, subjects, periods)
  const ruleIds = new Map(
    [...Map.groupBy(rows, (row) => identify({ organizationId, ...row }))].map(([key, some]) => [
      key,
      new Set(some.map(({ rule_id }) => rule_id)),
    ]),
  )
  return findings.filter(({ rule, alert }) => {
    const sent = ruleIds.get(identify(alert))
    return !sent || (hasChannels(rule) && !sent.has(rule.id))
  })
}

function hasChannels(rule: NotificationRule): boolean {
  return listChannels(rule).length > 0
}

/** The notification and its deliveries, together. */
async function store(
  { db, clock }: Gateway,
  kind: NotificationKind,
  { rule, alert }: Finding,
): Promise<void> {
  const now = clock.now()
  await db.transaction().execute(async (tx) => {
    const id = await insertNotification(tx, {
      id: newUuid(),
      organization_id: alert.organizationId,
      workspace_id: alert.workspaceId,
      kind,
      subject: alert.subject,
      level: alert.level,
      period: alert.period,
      title: alert.title,
      text: alert.text,
      data: JSON.stringify(alert.data),
      created_at: new Date(now).toISOString(),
      read_at: null,
    })
    await insertDeliveries(
      tx,
      listChannels(rule).map((channel) => buildDelivery(rule, channel, id, now)),
    )
  })
}
