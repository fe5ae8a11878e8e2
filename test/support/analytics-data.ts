// A small installation with every kind of request, and corrections of some of them.

import { createKey } from '../../src/identity/keys.ts'
import { createWorkspace } from '../../src/identity/workspaces.ts'
import { encodeUsageRecord } from '../../src/ledger/usage-record.ts'
import type { GenerationTable } from '../../src/platform/db/generation-table.ts'
import { blankGeneration } from './generations.ts'
import type { Tenant, TestServer } from './harness.ts'
import { seededDice } from './records.ts'

export const analyticsNow = '2028-03-15T12:00:00.000Z'
const dayMs = 86_400_000
const days = 40

type Row = GenerationTable

/** Ids that differ between installations, and what stands for them in answers that are compared. */
export type Labels = Map<string, string>

export interface AnalyticsData {
  labels: Labels
  keys: { id: number; hash: string; workspaceId: string; userId: string | null }[]
  workspaceIds: string[]
}

/** The keys and workspaces that requests belong to. */
export async function createAnalyticsData({ gateway, own }: TestServer): Promise<AnalyticsData> {
  const { db, clock } = gateway
  const organizationId = own.organization.id
  const labels: Labels = new Map([
    [organizationId, 'organization'],
    [own.owner.id, 'owner'],
    [own.workspace.id, 'workspace-0'],
  ])
  const second = await createWorkspace(
    db,
    clock,
    { organizationId, createdBy: null },
    { name: 'Zweite 🚀', slug: 'second' },
  )
  labels.set(second.id, 'workspace-1')
  const workspaceIds = [own.workspace.id, second.id]
  const keys: AnalyticsData['keys'] = []
  for (let at = 0; at < 4; at++) {
    const workspaceId = workspaceIds[at % 2]!
    const userId = at === 3 ? null : own.owner.id
    const scope = { organizationId, workspaceId, name: `Key ${at} “Ü”`, kind: 'inference' as const }
    const { key } = await createKey(db, clock, { ...scope, creatorUserId: userId })
    labels.set(key.hash, `hash-${at}`)
    keys.push({ id: key.id, hash: key.hash, workspaceId, userId })
  }
  return { labels, keys, workspaceIds }
}

const models = ['maker/big', 'maker/small', 'maker/small:free', 'other/größe', 'other/模型']
const apps: [string | null, string | null][] = [
  [null, null],
  ['https://one.example.com/', 'The One'],
  ['https://two.example.com/a/b?c=d', 'Zwei \\ "quoted" \'single\''],
  ['https://two.example.com/x', null],
  ['not a url', 'Tab\tand\nline'],
  [null, 'Only a title'],
]
const externals = [null, 'user-1', 'user-2', "o'neil; DROP TABLE x", 'ユーザー 😀', '%_\\']
const tags = [
  null,
  'project=apollo',
  'env=prod\nproject=apollo',
  'project=Apollo',
  'note=a, \'b\' \\ "c" %_\nproject=月',
]
const finishes = ['stop', 'length', 'tool_calls', null, 'content_filter']

/** Request number `i` of all of them. Times include the first and the last millisecond of days, weeks and months. */
export function buildAnalyticsRow(tenant: Tenant, data: AnalyticsData, i: number): Row {
  const roll = seededDice(1000 + i * 7919)
  for (let at = 0; at < 5; at++) roll(2)
  const key = data.keys[roll(data.keys.length)]!
  const day = Date.parse(analyticsNow.slice(0, 10)) - roll(days) * dayMs
  const times = [0, dayMs - 1, 1, roll(dayMs), roll(dayMs), 12 * 3_600_000 - 1]
  const at = Math.min(day + times[i % times.length]!, Date.parse(analyticsNow) - 1 - i)
  const status = (['completed', 'completed', 'completed', 'failed', 'cancelled'] as const)[roll(5)]!
  const isByok = roll(4) === 0
  const model = models[roll(models.length)]!
  const isFree = model.endsWith(':free')
  const latency = [0, 1, 7, 120, 3333, 65_535, 65_536, 400_000][roll(8)]!
  const cost = isFree ? 0n : BigInt(roll(1_000_000_000)) * BigInt(1 + roll(5)) + 1n
  const [app_url, app_title] = apps[roll(apps.length)]!
  const prompt = [0, 1, 999, 1000, 3999, 64_000, 130_000, 1_000_000][roll(8)]!
  return {
    ...blankGeneration,
    id: `gen-${String(i).padStart(8, '0')}`,
    organization_id: tenant.organization.id,
    workspace_id: key.workspaceId,
    key_id: key.id,
    user_id: key.userId,
    created_at: new Date(at).toISOString(),
    ended_at: new Date(at + latency).toISOString(),
    ...{ requested_model: roll(5) === 0 ? 'alias/of-it' : model, model },
    ...{ provider: ['sandbox', 'fast', 'slow'][roll(3)]!, endpoint: ['sandbox', 'fast/eu'][roll(2)]! },
    ...{ dialect: ['chat', 'messages', 'responses'][roll(3)]!, streamed: roll(2) as 0 | 1 },
    ...{ status, error_code: status === 'failed' ? ['timeout', 'provider_error'][roll(2)]! : null },
    ...{ is_byok: isByok ? 1 : 0, cost_nanos: isByok ? cost / 20n : cost, upstream_cost_nanos: cost },
    ...{ tokens_input: prompt, tokens_cache_read: roll(3) * 10, tokens_output: roll(500) },
    ...{ tokens_reasoning: roll(3) * 17, tokens_input_audio: roll(10) === 0 ? 5 : 0 },
    ...{ latency_ms: latency, first_token_ms: roll(3) === 0 ? null : Math.floor(latency / 2) },
    ...{ finish_reason: finishes[roll(finishes.length)]!, app_url, app_title },
    external_user: externals[roll(externals.length)]!,
    session_id: roll(3) === 0 ? null : `session-${roll(20)}`,
    preset_id: roll(6) === 0 ? 'preset-1' : null,
    flag: roll(12) === 0 ? 'capped' : null,
    request_id: `req-${i}`,
    reported_cost_nanos: roll(2) === 0 ? null : cost,
    upstream_id: roll(2) === 0 ? null : `up-"${i}"`,
    tags: tags[roll(tags.length)]!,
  }
}

/** A correction of a request that ClickHouse and the roll-ups may have, as the ledger writes it. */
export async function correctRow(
  { gateway: { db } }: TestServer,
  id: string,
  change: Partial<Row>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('instance')
      .set((eb) => ({ value: eb.cast<string>(eb(eb.cast<number>('value', 'bigint'), '+', 1), 'text') }))
      .where('name', '=', 'roll_up_steps')
      .execute()
    const before = await tx
      .selectFrom('generations')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const isUnrolled = await tx
      .selectFrom('unrolled_generations')
      .select('generation_id')
      .where('generation_id', '=', id)
      .executeTakeFirst()
    await tx.updateTable('generations').set(change).where('id', '=', id).execute()
    if (isUnrolled) return
    await tx
      .insertInto('unrolled_generations')
      .values({
        generation_id: id,
        organization_id: before.organization_id,
        previous: encodeUsageRecord({ ...before }),
      })
      .execute()
  })
}
