import type { Gateway } from '../../../gateway/gateway.ts'
import {
  buildOrganizationGuardrail,
  buildWorkspaceGuardrail,
} from '../../../governance/policy/default-guardrail.ts'
import { evaluateLimit, type Limit } from '../../../ledger/ledger-state.ts'
import { type Meter, newMeter, type Window } from '../../../ledger/meter.ts'
import { loadMetersForDay } from '../../../ledger/meter-days.ts'
import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { windowByReset } from '../../../ledger/usage.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { LimitReset } from '../../../platform/db/schema.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { utcDay, utcMonthStart, utcWeekStart } from '../../../platform/time/time.ts'
import { type AlertSource, type Finding, formatUsd, openPeriod, quoteName, type RuleIndex } from '../alert.ts'
import {
  loadBudgetGuardrails,
  loadGuardrailMembers,
  loadKeysAfter,
  loadMemberLimitsAfter,
  loadWorkspaceBudgets,
} from './store.ts'

/** A limit on spending, and how a notification names it. */
interface NamedLimit {
  organizationId: string
  /** Null if it counts in all workspaces. */
  workspaceId: string | null
  subject: string
  name: string
  remedy: string
  limit: Limit
}

/** Limits whose meters are read in one statement. */
const maxLimits = 500

/** Notified at the threshold of a rule, and when the limit is reached. */
export const budgetUse: AlertSource = {
  kind: 'budget',
  async find(gateway, rules) {
    const findings: Finding[] = []
    for await (const limits of listLimits(gateway)) {
      for (let at = 0; at < limits.length; at += maxLimits)
        findings.push(...(await evaluateLimits(gateway, rules, limits.slice(at, at + maxLimits))))
    }
    return findings
  },
}

/** Every limit of the installation, in pages of keys. */
async function* listLimits({ db, clock }: Gateway): AsyncGenerator<NamedLimit[]> {
  yield (await loadWorkspaceBudgets(db)).map((row) => ({
    organizationId: row.organization_id,
    workspaceId: row.workspace_id,
    subject: `${meterSubjects.workspace(row.workspace_id)}:${row.interval}`,
    name: `The ${row.interval} budget of the workspace ${quoteName(row.name)}`,
    remedy: `raise it with PUT /workspaces/${row.workspace_id}/budgets/${row.interval}`,
    limit: toLimit('workspace', meterSubjects.workspace(row.workspace_id), {
      amount: row.limit_nanos,
      window: windowByReset[row.interval],
      includeByok: row.include_byok_in_budgets === 1,
    }),
  }))
  const guardrails = await loadBudgetGuardrails(db)
  const guardrailsById = new Map(guardrails.map((row) => [row.id, row]))
  yield (await loadGuardrailMembers(db, [...guardrailsById.keys()])).flatMap((member) => {
    const guardrail = guardrailsById.get(member.guardrail_id)
    if (!guardrail || member.workspace_id === null) return []
    const subject = meterSubjects.member(member.workspace_id, member.user_id)
    return [toGuardrailLimit(guardrail, { subject, workspaceId: member.workspace_id, name: member.email })]
  })
  yield* listMemberLimits(db)
  const now = new Date(clock.now()).toISOString()
  for (let lastId = 0; ; ) {
    const keys = await loadKeysAfter(db, lastId, now)
    yield keys.flatMap((key) => listKeyLimits(key, guardrailsById))
    const last = keys.at(-1)
    if (!last) return
    lastId = last.id
  }
}

/** Lists the limits of members, each for all of the member's keys together. */
async function* listMemberLimits(db: Db): AsyncGenerator<NamedLimit[]> {
  for (let lastId = ''; ; ) {
    const members = await loadMemberLimitsAfter(db, lastId)
    yield members.map((row) => ({
      organizationId: row.organization_id,
      workspaceId: null,
      subject: meterSubjects.memberTotal(row.user_id),
      name: `The ${describeReset(row.limit_reset)}limit of the member ${quoteName(row.email)}`,
      remedy: `raise it with PATCH /organization/members/${row.user_id}`,
      limit: toLimit('member', meterSubjects.memberTotal(row.user_id), {
        amount: row.limit_nanos,
        window: windowByReset[row.limit_reset ?? 'lifetime'],
        includeByok: false,
      }),
    }))
    const last = members.at(-1)
    if (!last) return
    lastId = last.user_id
  }
}

type KeyRow = Awaited<ReturnType<typeof loadKeysAfter>>[number]
type GuardrailRow = Awaited<ReturnType<typeof loadBudgetGuardrails>>[number]

/** The limit of a key, and the budgets of the guardrails that apply to each key. */
function listKeyLimits(key: KeyRow, guardrails: ReadonlyMap<string, GuardrailRow>): NamedLimit[] {
  const { organization_id, workspace_id, limit_nanos } = key
  const subject = meterSubjects.key(key.id)
  const ids = [
    buildOrganizationGuardrail(organization_id).id,
    buildWorkspaceGuardrail(workspace_id).id,
    key.guardrail_id,
  ]
  const ofGuardrails = ids.flatMap((id) => {
    const guardrail = id === null ? undefined : guardrails.get(id)
    if (!guardrail) return []
    return [
      toGuardrailLimit(guardrail, {
        subject,
        workspaceId: workspace_id,
        name: `the key ${quoteName(key.name)}`,
      }),
    ]
  })
  if (limit_nanos === null) return ofGuardrails
  const ofKey: NamedLimit = {
    organizationId: organization_id,
    workspaceId: workspace_id,
    subject,
    name: `The ${describeReset(key.limit_reset)}limit of the key ${quoteName(key.name)}`,
    remedy: `raise it with PATCH /keys/${key.hash}`,
    limit: toLimit('key', subject, {
      amount: limit_nanos,
      window: windowByReset[key.limit_reset ?? 'lifetime'],
      includeByok: key.include_byok_in_limit === 1,
    }),
  }
  return [ofKey, ...ofGuardrails]
}

function toGuardrailLimit(
  row: GuardrailRow,
  { subject, workspaceId, name }: { subject: string; workspaceId: string; name: string },
): NamedLimit {
  return {
    organizationId: row.organization_id,
    workspaceId,
    subject: `guardrail:${row.id}:${subject}`,
    name: `The ${describeReset(row.reset_interval)}budget of the guardrail ${quoteName(row.name)} for ${name}`,
    remedy: `raise it with PATCH /guardrails/${row.id}`,
    limit: toLimit('guardrail', subject, {
      amount: row.limit_nanos ?? 0n,
      window: windowByReset[row.reset_interval ?? 'lifetime'],
      includeByok: row.include_byok_in_budgets === 1,
    }),
  }
}

function toLimit(
  kind: Limit['kind'],
  subject: string,
  rest: { amount: bigint; window: Window; includeByok: boolean },
): Limit {
  return { kind, subject, ...rest }
}

function describeReset(reset: LimitReset | null): string {
  return reset === null ? '' : `${reset} `
}

async function evaluateLimits(
  { db, clock }: Gateway,
  rules: RuleIndex,
  limits: readonly NamedLimit[],
): Promise<Finding[]> {
  const now = clock.now()
  const subjects = [...new Set(limits.map(({ limit }) => limit.subject))]
  const meters = new Map(
    (await loadMetersForDay(db, subjects, utcDay(now))).map((meter) => [meter.subject, meter]),
  )
  return limits.flatMap((named) => {
    const meter = meters.get(named.limit.subject) ?? newMeter(named.limit.subject)
    return evaluateNamedLimit(named, meter, rules, now)
  })
}

function evaluateNamedLimit(named: NamedLimit, meter: Meter, rules: RuleIndex, now: number): Finding[] {
  const { limit, organizationId, workspaceId, subject, name, remedy } = named
  const { spent } = evaluateLimit(limit, meter, { amount: 0n, byok: 0n })
  return rules.match(organizationId, workspaceId).flatMap((rule) => {
    const level = findLevel(limit.amount, spent, rule.threshold)
    if (level === null) return []
    const isReached = level === 100
    const consequence = isReached ? 'Requests that cost more are refused' : 'At 100 %, requests are refused'
    const alert = {
      organizationId,
      workspaceId,
      subject,
      level,
      period: periodOf(limit, now),
      title: `${name} is ${isReached ? 'reached' : `at ${level} %`}`,
      text: `${name} is ${formatUsd(limit.amount)}, of which ${formatUsd(spent)} are spent. ${consequence}${limit.window === 'total' ? '' : ` until it resets (${limit.window}, UTC)`}. To continue, ${remedy}.`,
      data: {
        spent_usd: usdFromNanos(spent),
        limit_usd: usdFromNanos(limit.amount),
        percent: level,
        limit_kind: limit.kind,
        window: limit.window,
      },
    }
    return [{ rule, alert }]
  })
}

/** The highest level that is reached: 100 percent, or the threshold. */
function findLevel(amount: bigint, spent: bigint, threshold: number): number | null {
  // A limit of zero blocks its key on purpose.
  if (amount === 0n) return null
  if (spent >= amount) return 100
  const hundredths = BigInt(Math.round(threshold * 100))
  return spent * 10_000n >= amount * hundredths ? threshold : null
}

/** A raised limit is notified again within its window. */
function periodOf({ window, amount }: Limit, now: number): string {
  if (window === 'total') return openPeriod
  const start = { day: utcDay, week: utcWeekStart, month: utcMonthStart }[window](now)
  return `${start} ${usdFromNanos(amount)}`
}
