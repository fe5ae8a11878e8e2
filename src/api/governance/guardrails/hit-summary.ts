import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { type HitRow, walkHits } from '../../../governance/guardrail-hits.ts'
import { filterActions } from '../../../governance/policy/guardrail.ts'
import { defineOperation } from '../../../http/operation.ts'
import { type KeyName, loadKeyNames } from '../../../identity/record-names.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { yieldToEventLoop } from '../../../platform/time/time-slicer.ts'
import { hitFilters, matchesFilters, type ResolvedFilters, resolveFilters } from './hit-filters.ts'

const dayMs = 86_400_000
const maxDays = 31
const defaultDays = 7
/** Hits that are counted, newest first; a busier range has to be split. */
const maxCounted = 100_000
const maxGroups = 5000

const summaryGroup = z
  .strictObject({
    rule: z.string(),
    action: z.enum(filterActions),
    enforced: z.boolean(),
    direction: z.enum(['input', 'output']),
    day: z.string().optional().describe('In UTC; with group_by=day.'),
    api_key_hash: z
      .string()
      .nullable()
      .optional()
      .describe('With group_by=key; null if the key was deleted.'),
    api_key_name: z.string().nullable().optional(),
    user_id: z
      .string()
      .nullable()
      .optional()
      .describe('The member who created the key; with group_by=member.'),
    requests: z.int().describe('The number of requests.'),
    matches: z.int().describe('The number of matches in them.'),
  })
  .meta({ id: 'GuardrailHitGroup' })

const groupings = ['day', 'key', 'member'] as const
type Grouping = (typeof groupings)[number]

export const summaryOperation = defineOperation({
  id: 'summarizeGuardrailHits',
  method: 'GET',
  path: '/guardrails/hits/summary',
  tag: 'Guardrails',
  summary: 'Counts what the guardrails found, by rule and action, for each day, key or member.',
  description: `The range is at most ${maxDays} days; without \`from\` it is the last ${defaultDays}. The largest groups are first.`,
  permission: 'guardrails:read',
  query: hitFilters.extend({ group_by: z.enum(groupings).default('day') }),
  errors: [404],
  response: z.strictObject({
    data: z.array(summaryGroup),
    from: z.string(),
    to: z.string(),
    counted_from: z
      .string()
      .nullable()
      .describe(
        `The time before which hits were not counted, because there are more than ${maxCounted}; null if all were.`,
      ),
    truncated: z.boolean().describe(`Whether there are more than ${maxGroups} groups.`),
  }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const range = resolveRange(gateway, query)
    const filters = await resolveFilters(context, { ...query, ...range })
    const { groups, countedFrom } = await countHits(gateway, filters, query.group_by)
    const sorted = groups.toSorted((a, b) => b.requests.size - a.requests.size)
    const shown = sorted.slice(0, maxGroups)
    const keyIds = query.group_by === 'key' ? shown.map(({ first }) => first.key_id) : []
    const keys = await loadKeyNames(gateway.db, caller.organizationId, keyIds)
    return {
      data: shown.map((group) => toGroupRecord(group, query.group_by, keys)),
      ...range,
      counted_from: countedFrom,
      truncated: sorted.length > shown.length,
    }
  },
})

function resolveRange(
  { clock }: Gateway,
  query: { from?: string | undefined; to?: string | undefined },
): { from: string; to: string } {
  const to = query.to === undefined ? clock.now() : Date.parse(query.to)
  const from = query.from === undefined ? to - defaultDays * dayMs : Date.parse(query.from)
  if (to - from > maxDays * dayMs)
    throw invalidFieldError('from', `must be at most ${maxDays} days before to`)
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
}

interface HitGroup {
  first: HitRow
  requests: Set<string>
  matches: number
}

const memberOf: Record<Grouping, (row: HitRow) => string | number | null> = {
  day: ({ created_at }) => created_at.slice(0, 10),
  key: ({ key_id }) => key_id,
  member: ({ user_id }) => user_id,
}

async function countHits(
  { db }: Gateway,
  filters: ResolvedFilters,
  grouping: Grouping,
): Promise<{ groups: HitGroup[]; countedFrom: string | null }> {
  const groups = new Map<string, HitGroup>()
  let counted = 0
  for await (const batch of walkHits(db, filters.scope, null)) {
    for (const row of batch) if (matchesFilters(filters, row)) addToGroup(groups, grouping, row)
    counted += batch.length
    if (counted >= maxCounted)
      return { groups: [...groups.values()], countedFrom: batch.at(-1)?.created_at ?? null }
    await yieldToEventLoop()
  }
  return { groups: [...groups.values()], countedFrom: null }
}

function addToGroup(groups: Map<string, HitGroup>, grouping: Grouping, row: HitRow): void {
  const { rule, action, enforced, direction } = row
  const key = JSON.stringify([rule, action, enforced, direction, memberOf[grouping](row)])
  const group = groups.get(key) ?? { first: row, requests: new Set(), matches: 0 }
  group.requests.add(row.generation_id)
  group.matches += row.count
  groups.set(key, group)
}

function toGroupRecord(
  { first, requests, matches }: HitGroup,
  grouping: Grouping,
  keys: ReadonlyMap<number, KeyName>,
): z.input<typeof summaryGroup> {
  const key = keys.get(first.key_id)
  return {
    rule: first.rule,
    action: first.action,
    enforced: first.enforced === 1,
    direction: first.direction,
    ...(grouping === 'day' && { day: first.created_at.slice(0, 10) }),
    ...(grouping === 'key' && { api_key_hash: key?.hash ?? null, api_key_name: key?.name ?? null }),
    ...(grouping === 'member' && { user_id: first.user_id }),
    requests: requests.size,
    matches,
  }
}
