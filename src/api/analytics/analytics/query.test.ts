import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  createSessionCaller,
  createTenant,
  describeOnEachDatabase,
  selectCases,
  type Tenant,
  type TestServer,
} from '../../../../test/support/harness.ts'
import { buildGeneration, insertGenerations, seededDice } from '../../../../test/support/records.ts'
import { compactSegments } from '../../../analytics/rollups/compact-segments.ts'
import { rollUp } from '../../../analytics/rollups/roll-up.ts'
import { createKey } from '../../../identity/keys.ts'
import { createMember } from '../../../identity/members.ts'
import { createWorkspace } from '../../../identity/workspaces.ts'
import type { GenerationTable } from '../../../platform/db/generation-table.ts'

type Row = Record<string, string | number | null>
const now = '2028-03-15T12:00:00.000Z'
const dayMs = 86_400_000

/** Random generations of the last 40 days: some that end days later, keys, apps, BYOK keys, failures. */
async function makeRows(server: TestServer, tenant: Tenant, count: number, seed: number) {
  const { db, clock } = server.gateway
  const organizationId = tenant.organization.id
  const second = await createWorkspace(
    db,
    clock,
    { organizationId, createdBy: null },
    { name: 'Second', slug: 'second' },
  )
  const email = `ada-${organizationId}@example.com`
  const names = { firstName: 'Ada', lastName: 'L' }
  const member = await createMember(db, clock, { organizationId, email, role: 'org:member', ...names })
  const keys: Awaited<ReturnType<typeof createKey>>['key'][] = []
  for (let i = 0; i < 4; i++) {
    const workspaceId = i % 2 ? second.id : tenant.workspace.id
    keys.push(
      (await createKey(db, clock, { organizationId, workspaceId, kind: 'inference', name: `K${i}` })).key,
    )
  }
  const dice = seededDice(seed)
  const pick = <T>(items: readonly T[]): T => items[dice(items.length)] as T
  const rows = Array.from({ length: count }, () => {
    const key = pick(keys)
    const began = Date.parse(now) - dice(40 * dayMs)
    const ended = Math.min(Date.parse(now), began + (dice(20) === 0 ? dice(3 * dayMs) : dice(60_000)))
    const isByok = dice(4) === 0
    const model = pick(['sandbox/echo', 'sandbox/echo:free', 'gone/model', 'gone/model:free'])
    return buildGeneration(tenant, {
      created_at: new Date(began).toISOString(),
      ended_at: new Date(ended).toISOString(),
      key_id: key.id,
      workspace_id: key.workspace_id,
      user_id: pick([null, member.id, tenant.owner.id]),
      model,
      provider: pick(['sandbox', 'nobody']),
      endpoint: pick(['sandbox', 'nobody/a', 'nobody/b']),
      status: pick(['completed', 'completed', 'failed', 'cancelled']),
      finish_reason: pick([null, 'stop', 'length', 'error']),
      tokens_input: dice(5) === 0 ? dice(400_000) : dice(900),
      tokens_cache_read: dice(3) * dice(2000),
      tokens_cache_read_audio: dice(10),
      tokens_cache_write: dice(50),
      tokens_cache_write_1h: dice(5),
      tokens_input_audio: dice(3),
      tokens_input_image: dice(3),
      tokens_input_video: dice(3),
      tokens_output: dice(3000),
      tokens_reasoning: dice(2) * dice(500),
      tokens_output_audio: dice(3),
      tokens_output_image: dice(3),
      cost_nanos: BigInt(isByok ? dice(1000) : dice(5_000_000)) * (dice(50) === 0 ? 1_000_000n : 1n),
      upstream_cost_nanos: BigInt(dice(9_000_000)),
      // Negative where writing to a prompt cache cost more than reading from it saved.
      cache_savings_nanos: pick([null, BigInt(dice(1_000_000)) - 300_000n]),
      is_byok: isByok ? 1 : 0,
      latency_ms: 200 + dice(20_000),
      first_token_ms: pick([null, dice(200)]),
      ...appOf(
        pick([null, 'https://one.example.com/a', 'https://one.example.com/b', 'https://two.example.com']),
      ),
      external_user: pick([null, 'u1', 'u2', 'u3']),
    })
  })
  await insertGenerations(db, rows)
  return { rows, keys, member, second }
}

const sum = (rows: GenerationTable[], read: (row: GenerationTable) => bigint | number) =>
  rows.reduce((total, row) => total + BigInt(read(row)), 0n)
const usd = (nanos: bigint) => Number(nanos) / 1e9
const prompt = (row: GenerationTable) =>
  row.tokens_input +
  row.tokens_cache_read +
  row.tokens_cache_read_audio +
  row.tokens_cache_write +
  row.tokens_cache_write_1h +
  row.tokens_input_audio +
  row.tokens_input_image +
  row.tokens_input_video
const completion = (row: GenerationTable) =>
  row.tokens_output + row.tokens_reasoning + row.tokens_output_audio + row.tokens_output_image
const cached = (row: GenerationTable) => row.tokens_cache_read + row.tokens_cache_read_audio

function appOf(url: string | null) {
  return { app_url: url, app_title: url && `The app at ${url}` }
}

const isError = ({ finish_reason }: GenerationTable) => finish_reason === null || finish_reason === 'error'

/** A naive reimplementation of the query, to compare with. */
const naive: Record<string, (rows: GenerationTable[]) => number | null> = {
  request_count: (rows) => rows.length,
  error_count: (rows) => rows.filter(isError).length,
  error_rate: (rows) => (rows.length === 0 ? null : rows.filter(isError).length / rows.length),
  tokens_total: (rows) => Number(sum(rows, (row) => prompt(row) + completion(row))),
  tokens_prompt: (rows) => Number(sum(rows, prompt)),
  tokens_completion: (rows) => Number(sum(rows, completion)),
  reasoning_tokens: (rows) => Number(sum(rows, (row) => row.tokens_reasoning)),
  cached_tokens: (rows) => Number(sum(rows, cached)),
  cache_savings: (rows) => usd(sum(rows, (row) => row.cache_savings_nanos ?? 0n)),
  byok_request_count: (rows) => rows.filter((row) => row.is_byok).length,
  total_usage: (rows) =>
    usd(sum(rows, (row) => row.cost_nanos + (row.is_byok ? row.upstream_cost_nanos : 0n))),
  credits_usage: (rows) => usd(sum(rows, (row) => row.cost_nanos)),
  byok_usage: (rows) => usd(sum(rows, (row) => (row.is_byok ? row.upstream_cost_nanos : 0n))),
  usage_upstream: (rows) => usd(sum(rows, (row) => row.upstream_cost_nanos)),
  service_usage: (rows) => usd(sum(rows, (row) => (row.is_byok ? 0n : row.cost_nanos))),
  byok_fees: (rows) => usd(sum(rows, (row) => (row.is_byok ? row.cost_nanos : 0n))),
  cache_hit_rate: (rows) => {
    const whole = Number(sum(rows, prompt))
    return whole === 0 ? null : Number(sum(rows, cached)) / whole
  },
}
for (const name of ['guardrail_invoked_count', 'response_cached_count', 'guardrail_invoked_rate'])
  naive[name] = () => null
for (const name of ['response_cached_rate', 'usage_cache', 'usage_data', 'usage_web', 'usage_upstream_web'])
  naive[name] = () => null
for (const name of ['usage_file', 'usage_upstream_file', 'usage_web_fetch', 'usage_upstream_web_fetch'])
  naive[name] = () => null

const latency = (row: GenerationTable) =>
  row.status === 'failed' ? null : (row.first_token_ms ?? row.latency_ms)
const throughput = (row: GenerationTable) => {
  const seconds = (row.latency_ms - (row.first_token_ms ?? 0)) / 1000
  return row.status === 'failed' || completion(row) === 0 ? null : completion(row) / seconds
}

/** Percentiles are documented to be accurate to one percent. */
const near: Record<string, (rows: GenerationTable[]) => number | null> = {}
for (const [name, read] of Object.entries({ latency, throughput })) {
  const values = (rows: GenerationTable[]) =>
    rows
      .map(read)
      .filter((value) => value !== null)
      .sort((a, b) => a - b)
  for (const share of [50, 90, 95, 99]) {
    near[`p${share}_${name}`] = (rows) => {
      const sorted = values(rows)
      return sorted[Math.ceil((sorted.length * share) / 100) - 1] ?? null
    }
  }
  near[`avg_${name}`] = (rows) => {
    const all = values(rows)
    return all.length === 0 ? null : all.reduce((total, value) => total + value, 0) / all.length
  }
}

const dimensionsOf: Record<string, (row: GenerationTable) => string | null> = {
  model: (row) => row.model.replace(/^sandbox\/echo:free$/, 'sandbox/echo'),
  variant: (row) => row.model.split(':')[1] ?? 'standard',
  api_key_id: (row) => String(row.key_id),
  user: (row) => row.user_id,
  workspace: (row) => row.workspace_id,
  app: (row) => row.app_url,
  generation_id: (row) => row.id,
  provider: (row) => (row.provider === 'sandbox' ? 'Sandbox (simulated)' : row.provider),
  origin: (row) => row.app_url && new URL(row.app_url).origin,
  country: () => null,
  finish_reason: (row) => row.finish_reason,
  external_user: (row) => row.external_user,
  context_length_bucket: (row) => {
    const names = ['0-1k', '1k-4k', '4k-16k', '16k-64k', '64k-128k', '128k-256k', '256k-1m', '1m+']
    const below = [1e3, 4e3, 16e3, 64e3, 128e3, 256e3, 1e6, Number.POSITIVE_INFINITY]
    return names[below.findIndex((limit) => prompt(row) < limit)] ?? null
  },
}

const bucketsOf: Record<string, (row: GenerationTable) => string> = {
  minute: (row) => `${row.created_at.slice(0, 16)}:00.000Z`,
  hour: (row) => `${row.created_at.slice(0, 13)}:00:00.000Z`,
  day: (row) => row.created_at.slice(0, 10),
  week: (row) => {
    const day = new Date(`${row.created_at.slice(0, 10)}T00:00:00Z`)
    day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7))
    return day.toISOString().slice(0, 10)
  },
  month: (row) => `${row.created_at.slice(0, 7)}-01`,
}

const exact = Object.keys(naive)
const long = exact.filter(
  (name) => !/^(error|guardrail|response|service|byok_fees|usage_.*(file|fetch))/.test(name),
)
const all = [...exact, ...Object.keys(near)]

describeOnEachDatabase('Analytics', (server, kind) => {
  let tenant: Tenant
  let made: Awaited<ReturnType<typeof makeRows>>
  beforeAll(async () => {
    server().clock.freeze(now)
    tenant = await createTenant(server().gateway, 'Measured')
    made = await makeRows(server(), tenant, 400, 42)
    await makeRows(server(), await createTenant(server().gateway, 'Neighbour'), 100, 43)
  })
  afterAll(() => server().clock.release())

  let calls = 0
  const post = async (body: object, key = tenant.managementKey) => {
    // Queries are rate limited per minute, so the clock advances by hours.
    if (++calls % 60 === 0) await resetMinute(server())
    return server().call('POST', '/analytics/query', { key, body })
  }
  const query = async (body: object): Promise<Row[]> => {
    const { status, body: result } = await post({ limit: 10_000, ...body })
    expect(status, JSON.stringify(result)).toBe(200)
    expect(result.data.metadata.row_count).toBe(result.data.data.length)
    return result.data.data
  }
  const range = (days: number) => {
    const start = Date.parse(now) - days * dayMs
    return { start: new Date(start).toISOString(), end: now }
  }
  const within = ({ start, end }: { start: string; end: string }) =>
    made.rows.filter((row) => row.created_at >= start && row.created_at < end)
  const idOf = (dimension: string, row: Row): string | null => {
    const shown = row[dimension] ?? null
    if (dimension === 'api_key_id') return String(made.keys.find((key) => key.name === shown)?.id)
    if (dimension === 'app') return shown === null ? null : String(shown).replace('The app at ', '')
    if (dimension === 'workspace') return shown === 'Second' ? made.second.id : tenant.workspace.id
    if (dimension === 'user') {
      const known = { 'Ada L': made.member.id, [tenant.owner.email]: tenant.owner.id }
      expect(row.user_email ?? null).toBe(shown === 'Ada L' ? made.member.email : shown)
      return shown === null ? null : (known[String(shown)] ?? 'nobody')
    }
    return shown === null ? null : String(shown)
  }

  /** Compares every group of the response with the same group of the rows. */
  const compareAll = async (
    rows: Row[],
    source: GenerationTable[],
    by: string[],
    metrics: string[],
    grain?: string,
  ) => {
    const field = grain && (['minute', 'hour'].includes(grain) ? `created_at__${grain}` : `date__${grain}`)
    const expected = Map.groupBy(source, (row) =>
      JSON.stringify([
        grain ? bucketsOf[grain]?.(row) : null,
        ...by.map((name) => dimensionsOf[name]?.(row) ?? null),
      ]),
    )
    expect(rows).toHaveLength(expected.size)
    const problems: unknown[] = []
    for (const row of rows) {
      const ids = by.map((name) => idOf(name, row))
      const group = expected.get(JSON.stringify([field ? row[field] : null, ...ids]))
      if (!group) problems.push({ row, problem: 'no generation is in this group' })
      for (const metric of group ? metrics : []) {
        const value = row[metric] as number | null
        const truth = (naive[metric] ?? near[metric])?.(group ?? []) ?? null
        if (naive[metric] ? value !== truth : !isNear(value, truth)) problems.push({ row, metric, truth })
      }
    }
    expect(problems).toEqual([])
  }

  /** Columns read for another metric must not make one correct. */
  const compareEachAlone = async () => {
    const month = range(31)
    for (const dimension of Object.keys(dimensionsOf)) {
      const rows = await query({ metrics: ['request_count'], dimensions: [dimension], time_range: month })
      await compareAll(rows, within(month), [dimension], ['request_count'])
    }
    for (const metric of all)
      await compareAll(await query({ metrics: [metric], time_range: month }), within(month), [], [metric])
  }

  const compareEverything = async () => {
    const month = range(31)
    for (const dimension of Object.keys(dimensionsOf)) {
      const rows = await query({ metrics: all, dimensions: [dimension], time_range: month })
      await compareAll(rows, within(month), [dimension], all)
    }
    for (const pair of [
      ['model', 'api_key_id'],
      ['user', 'workspace'],
      ['provider', 'finish_reason'],
      ['variant', 'external_user'],
    ]) {
      const rows = await query({ metrics: exact, dimensions: pair, time_range: month })
      await compareAll(rows, within(month), pair, exact)
    }
    for (const granularity of ['hour', 'day', 'week', 'month']) {
      const whole = range(40)
      const rows = await query({ metrics: long, granularity, time_range: whole })
      await compareAll(rows, within(whole), [], long, granularity)
      const both = await query({
        metrics: exact,
        granularity,
        dimensions: ['model'],
        time_range: range(10),
      })
      await compareAll(both, within(range(10)), ['model'], exact, granularity)
    }
    const hours = { start: '2028-03-14T22:30:00Z', end: '2028-03-15T01:30:00Z' }
    const minutes = await query({ metrics: all, granularity: 'minute', time_range: hours })
    await compareAll(minutes, within(hours), [], all, 'minute')
    const days = { start: '2028-02-10T00:00:00Z', end: '2028-03-11T00:00:00Z' }
    await compareAll(await query({ metrics: exact, time_range: days }), within(days), [], exact)
  }

  describe('R23 I6 every metric by every dimension is what the generations add up to', () => {
    test('before anything is rolled up', compareEverything, 60_000)
    test('before anything is rolled up, each alone', compareEachAlone, 60_000)
    test('while part of it is', async () => {
      server().clock.freeze('2028-03-01T00:00:00.000Z')
      await rollUp(server().gateway, { minRows: 1, maxRows: 100 })
      server().clock.freeze(now)
      await compareEverything()
    }, 60_000)
    test('after it is', async () => {
      await rollUp(server().gateway, { minRows: 1, maxRows: 100 })
      await compareEverything()
    }, 60_000)
    test('after it is, each alone', compareEachAlone, 60_000)
    test('after its days are put in order', async () => {
      await compactSegments(server().gateway)
      await compareEverything()
    }, 60_000)
  })

  describe('filters', () => {
    const count = async (...filters: object[]) =>
      (await query({ metrics: ['request_count'], filters, time_range: range(31) }))[0]?.request_count ?? 0
    const expected = (keeps: (row: GenerationTable) => boolean) => within(range(31)).filter(keeps).length

    test('each operator', async () => {
      const user = 'external_user'
      expect(await count({ field: user, operator: 'eq', value: 'u1' })).toBe(
        expected((row) => row.external_user === 'u1'),
      )
      expect(await count({ field: user, operator: 'neq', value: 'u1' })).toBe(
        expected((row) => row.external_user !== null && row.external_user !== 'u1'),
      )
      expect(await count({ field: user, operator: 'in', value: ['u1', 'u2', 'u9'] })).toBe(
        expected((row) => ['u1', 'u2'].includes(row.external_user ?? '')),
      )
      expect(await count({ field: user, operator: 'in', value: ['u1'], include_unset: true })).toBe(
        expected((row) => [null, 'u1'].includes(row.external_user)),
      )
      expect(await count({ field: user, operator: 'not_in', value: ['u1'] })).toBe(
        expected((row) => ['u2', 'u3'].includes(row.external_user ?? '')),
      )
      expect(await count({ field: user, operator: 'not_in', value: ['u1'], include_unset: true })).toBe(
        expected((row) => row.external_user !== 'u1'),
      )
      expect(await count({ field: user, operator: 'gt', value: 'u1' })).toBe(
        expected((row) => (row.external_user ?? '') > 'u1'),
      )
      expect(await count({ field: user, operator: 'lte', value: 'u2' })).toBe(
        expected((row) => row.external_user !== null && row.external_user <= 'u2'),
      )
      const [first] = made.keys
      expect(await count({ field: 'api_key_id', operator: 'gte', value: first!.id + 2 })).toBe(
        expected((row) => row.key_id >= first!.id + 2),
      )
      expect(await count({ field: 'api_key_id', operator: 'lt', value: first!.id + 1 })).toBe(
        expected((row) => row.key_id === first!.id),
      )
    })

    test('all of them must hold', async () => {
      const filters = [
        { field: 'model', operator: 'eq', value: 'sandbox/echo' },
        { field: 'workspace', operator: 'eq', value: made.second.id },
        { field: 'finish_reason', operator: 'eq', value: 'stop' },
      ]
      expect(await count(...filters)).toBe(
        expected(
          (row) =>
            row.model.startsWith('sandbox/echo') &&
            row.workspace_id === made.second.id &&
            row.finish_reason === 'stop',
        ),
      )
    })

    test('a key by its number or its hash; an unknown hash warns and finds nothing', async () => {
      const [key] = made.keys
      const own = expected((row) => row.key_id === key!.id)
      expect(await count({ field: 'api_key_id', operator: 'eq', value: key!.id })).toBe(own)
      expect(await count({ field: 'api_key_id', operator: 'eq', value: key!.hash })).toBe(own)
      const body = {
        metrics: ['request_count'],
        dimensions: ['model'],
        filters: [{ field: 'api_key_id', operator: 'eq', value: 'f'.repeat(64) }],
      }
      const { body: result } = await post(body)
      expect(result.data.data).toEqual([])
      expect(result.data.warnings).toEqual([expect.stringContaining('f'.repeat(64))])
    })

    test.each([
      ['api_key_id', 'api_key_hash'],
      ['user', 'user_id'],
      ['workspace', 'workspace_id'],
      ['app', 'app_url'],
    ])('a group of %s has in %s what selects it', async (field, idField) => {
      const rows = await query({ metrics: ['request_count'], dimensions: [field], time_range: range(31) })
      const named = rows.filter((row) => row[field] !== null)
      expect(named.length).toBeGreaterThan(1)
      for (const row of named)
        expect(await count({ field, operator: 'eq', value: row[idField] ?? '' })).toBe(
          Number(row.request_count),
        )
      expect(rows.filter((row) => row[field] === null).every((row) => row[idField] === null)).toBe(true)
    })

    test('a generation by its id', async () => {
      const requested = within(range(31)).slice(0, 3)
      const rows = await query({
        metrics: ['total_usage', 'request_count'],
        dimensions: ['generation_id'],
        filters: [{ field: 'generation_id', operator: 'in', value: requested.map((row) => row.id) }],
        time_range: range(31),
      })
      expect(rows.map((row) => row.generation_id).sort()).toEqual(requested.map((row) => row.id).sort())
    })
  })

  describe('rows', () => {
    test('newest first, largest first, or in the requested order', async () => {
      const metrics = ['request_count', 'tokens_total']
      const days = (await query({ metrics, granularity: 'day' })).map((row) => String(row.date__day))
      expect(days).toEqual(days.toSorted().reverse())
      const models = (await query({ metrics, dimensions: ['model'] })).map((row) => Number(row.request_count))
      expect(models).toEqual(models.toSorted((a, b) => b - a))
      const order_by = { field: 'model', direction: 'asc' }
      const names = (await query({ metrics, dimensions: ['model'], order_by })).map((row) =>
        String(row.model),
      )
      expect(names).toEqual(names.toSorted())
      const ordered = await query({
        metrics: ['tokens_total'],
        dimensions: ['api_key_id'],
        order_by: { field: 'request_count', direction: 'desc' },
      })
      expect(Object.keys(ordered[0] ?? {}).sort()).toEqual(['api_key_hash', 'api_key_id', 'tokens_total'])
    })

    test('the models with the most errors, and those with the highest share of errors', async () => {
      for (const field of ['error_count', 'error_rate']) {
        const rows = await query({
          metrics: ['request_count', 'error_count', 'error_rate'],
          dimensions: ['model'],
          order_by: { field, direction: 'desc' },
          time_range: range(31),
        })
        const values = rows.map((row) => Number(row[field]))
        expect(new Set(values).size).toBeGreaterThan(1)
        expect(values).toEqual(values.toSorted((a, b) => b - a))
      }
    })

    test('a group limit keeps the groups with the most errors', async () => {
      const more = { dimensions: ['api_key_id'], time_range: range(31) }
      const everything = await query({ metrics: ['error_count'], ...more })
      const most = Math.max(...everything.map(({ error_count }) => Number(error_count)))
      const kept = await query({ metrics: ['error_count', 'request_count'], ...more, group_limit: 1 })
      expect(kept.map(({ error_count }) => error_count)).toEqual([most])
    })

    test('the row limit says that it cut', async () => {
      const body = { metrics: ['request_count'], dimensions: ['api_key_id'], limit: 2 }
      const { body: result } = await post(body)
      expect(result.data.metadata).toMatchObject({ row_count: 2, truncated: true })
      expect((await post({ ...body, limit: 4 })).body.data.metadata.truncated).toBe(false)
    })

    test('a time series keeps the largest groups whole', async () => {
      const body = { metrics: ['request_count'], dimensions: ['api_key_id'], granularity: 'day' }
      const sizes = Map.groupBy(within(range(7)), (row) => row.key_id)
      const [largest] = [...sizes].sort((a, b) => b[1].length - a[1].length)
      const { body: result } = await post({ ...body, group_limit: 1 })
      const name = made.keys.find((key) => key.id === largest?.[0])?.name
      expect(new Set(result.data.data.map((row: Row) => row.api_key_id))).toEqual(new Set([name]))
      const total = result.data.data.reduce((count: number, row: Row) => count + Number(row.request_count), 0)
      expect(total).toBe(largest?.[1].length)
      expect(result.data.metadata.truncated).toBe(true)
    })

    test('an app is shown by its title, and the past of a deleted key by its number', async () => {
      const apps = (await query({ metrics: ['request_count'], dimensions: ['app'] })).map((row) => row.app)
      expect(new Set(apps)).toEqual(new Set([null, ...made.rows.flatMap((row) => row.app_title ?? [])]))
      const { key } = await createKey(server().gateway.db, server().clock, {
        organizationId: tenant.organization.id,
        workspaceId: tenant.workspace.id,
        kind: 'inference',
        name: 'short-lived',
      })
      const row = buildGeneration(tenant, {
        created_at: '2028-03-15T11:00:00.000Z',
        ended_at: now,
        key_id: key.id,
      })
      await insertGenerations(server().gateway.db, [row])
      made.rows.push(row)
      await server().call('DELETE', `/keys/${key.hash}`, { key: tenant.managementKey })
      const names = (await query({ metrics: ['request_count'], dimensions: ['api_key_id'] })).map(
        (r) => r.api_key_id,
      )
      expect(names).toContain(String(key.id))
    })
  })

  test('I9 nothing of another organization', async () => {
    const { body } = await post(
      { metrics: ['request_count'], time_range: range(40) },
      server().foreign.managementKey,
    )
    expect(body.data.data).toEqual([])
  })

  // A field is checked before the store is reached: one on PostgreSQL.
  const rejected: [object, string][] = [
    [{ metrics: [] }, 'metrics'],
    [{ metrics: ['nonsense'] }, 'metrics.0'],
    [{ dimensions: ['nonsense'] }, 'dimensions.0'],
    [{ dimensions: ['model', 'user', 'app'] }, 'dimensions'],
    [{ dimensions: ['model', 'model'] }, 'dimensions.1'],
    [{ granularity: 'second' }, 'granularity'],
    [{ limit: 0 }, 'limit'],
    [{ limit: 10_001 }, 'limit'],
    [{ group_limit: 0 }, 'group_limit'],
    [{ order_by: { field: 'tokens_total', direction: 'asc' } }, 'order_by.field'],
    [{ order_by: { field: 'date', direction: 'asc' } }, 'order_by.field'],
    [{ order_by: { field: 'request_count', direction: 'up' } }, 'order_by.direction'],
    [{ filters: [{ field: 'nonsense', operator: 'eq', value: 1 }] }, 'filters.0.field'],
    [{ filters: [{ field: 'model', operator: 'like', value: 'x' }] }, 'filters.0.operator'],
    [{ filters: [{ field: 'model', operator: 'eq', value: ['x'] }] }, 'filters.0.value'],
    [{ filters: [{ field: 'model', operator: 'in', value: 'x' }] }, 'filters.0.value'],
    [
      { filters: [{ field: 'model', operator: 'eq', value: 'x', include_unset: true }] },
      'filters.0.include_unset',
    ],
    [{ time_range: { start: '2028-03-01T00:00Z', end: now } }, 'time_range.start'],
    [{ time_range: { start: now, end: now } }, 'time_range.end'],
    [{ time_range: { start: '2027-03-01T00:00:00Z', end: now } }, 'time_range'],
    [{ metrics: ['p50_latency'], time_range: { start: '2028-02-01T00:00:00Z', end: now } }, 'time_range'],
    [{ dimensions: ['provider'], time_range: { start: '2028-02-01T00:00:00Z', end: now } }, 'time_range'],
    [{ granularity: 'minute' }, 'granularity'],
    [{ granularity: 'minute', time_range: { start: '2028-03-15T08:00:00Z', end: now } }, 'time_range'],
    [
      { classifier_dimensions: { classifier_id: '7b1c2c6e-0d7e-4f0c-9a6e-1f8f0f6f3c11' } },
      'classifier_dimensions',
    ],
  ]
  test.each(selectCases(kind, rejected))('R12 400 naming the field: %j', async (change, field) => {
    const { status, body } = await post({ metrics: ['request_count'], ...change })
    expect(status).toBe(400)
    expect(body.error.message).toStartWith(`${field}:`)
  })

  test('64 a minute, then 429 until the minute is over', async () => {
    await resetMinute(server())
    const statuses = []
    for (let i = 0; i < 64; i++) {
      statuses.push(
        (await server().call('POST', '/analytics/query', { key: tenant.managementKey, body: simple })).status,
      )
    }
    expect(new Set(statuses)).toEqual(new Set([200]))
    const rejected = await server().call('POST', '/analytics/query', {
      key: tenant.managementKey,
      body: simple,
    })
    expect(rejected.status).toBe(429)
    expect(rejected.headers.get('x-ratelimit-limit')).toBe('64')
    expect(rejected.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(rejected.headers.get('x-ratelimit-reset'))).toBe(
      Math.ceil((server().clock.now() + 1) / 60_000) * 60_000,
    )
    const others = await server().call('POST', '/analytics/query', { body: simple })
    expect(others.status).toBe(200)
    const member = await createSessionCaller(server(), { tenant, role: 'org:admin' })
    expect((await member.call('POST', '/analytics/query', { body: simple })).status).toBe(200)
    await resetMinute(server())
    const again = await server().call('POST', '/analytics/query', { key: tenant.managementKey, body: simple })
    expect(again.status).toBe(200)
  })

  test('the listed metrics and dimensions are those queries accept', async () => {
    const { body } = await server().call('GET', '/analytics/meta')
    const names = (list: { name: string }[]) => list.map(({ name }) => name)
    expect(names(body.data.metrics).sort()).toEqual(all.toSorted())
    expect(names(body.data.dimensions).sort()).toEqual(Object.keys(dimensionsOf).sort())
    expect(names(body.data.granularities)).toEqual(['minute', 'hour', 'day', 'week', 'month'])
    expect(names(body.data.operators)).toEqual(['eq', 'neq', 'in', 'not_in', 'gt', 'gte', 'lt', 'lte'])
  })
})

const simple = { metrics: ['request_count'] }

/** Moves to another minute and back, which resets the rate limit. */
async function resetMinute(server: TestServer): Promise<void> {
  server.clock.freeze('2028-03-15T13:00:00.000Z')
  await server.call('POST', '/analytics/query', { body: simple })
  server.clock.freeze(now)
}

function isNear(value: number | null, truth: number | null): boolean {
  if (value === null || truth === null) return value === truth
  return Math.abs(value - truth) <= truth * 0.0101 + 0.011
}
