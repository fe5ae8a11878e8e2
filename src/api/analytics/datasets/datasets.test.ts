import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import {
  createTenant,
  describeOnEachDatabase,
  type Tenant,
  type TestServer,
} from '../../../../test/support/harness.ts'
import { buildGeneration, insertGenerations, seededDice } from '../../../../test/support/records.ts'
import { publishFigures } from '../../../analytics/datasets/publish.ts'
import { buildTaskStatement } from '../../../analytics/datasets/task-samples.ts'
import { deleteOldGenerations } from '../../../analytics/rollups/retention.ts'
import { rollUp } from '../../../analytics/rollups/roll-up.ts'
import { encodeUsageRecord } from '../../../ledger/usage-record.ts'
import { MinuteRateLimiter } from '../../../platform/concurrency/rate-limiter.ts'
import type { GenerationTable } from '../../../platform/db/generation-table.ts'

/** A Wednesday. */
const now = '2028-03-15T12:00:00.000Z'
const yesterday = '2028-03-14'
const dayMs = 86_400_000

const settings = `
datasets:
  operator_name: Acme Cloud
  min_organizations: 1
  apps:
    - { url: "https://one.example.com/", name: The One, subcategory: ide-extension }
    - { url: "https://two.example.com", subcategory: game }
`

function dayBefore(days: number, time = '10:00:00.000Z'): string {
  return `${new Date(Date.parse(now) - days * dayMs).toISOString().slice(0, 10)}T${time}`
}

async function publish({ gateway: { db, clock } }: TestServer): Promise<void> {
  await rollUp({ db }, { minRows: 1 })
  await publishFigures({ db, clock, retentionDays: null })
}

async function addTask(
  { gateway: { db } }: TestServer,
  id: string,
  tag: string,
  category: string | null,
  language: 'natural' | 'programming',
  weight = 1,
): Promise<void> {
  const { sql, values } = buildTaskStatement(db, id, { tag, category, language }, weight)
  await db.executeQuery({ sql, parameters: values, query: { kind: 'RawNode' } } as never)
}

const emptied = [
  'daily_requests',
  'dataset_contributions',
  'dataset_days',
  'dataset_figures',
  'dataset_sessions',
  'dataset_apps',
  'generation_tasks',
  'unrolled_generations',
  'generations',
] as const

async function reset({ gateway, clock }: TestServer): Promise<void> {
  clock.freeze(now)
  Object.assign(gateway, { rateLimiter: new MinuteRateLimiter() })
  for (const table of emptied) await gateway.db.deleteFrom(table).execute()
  await gateway.db.deleteFrom('instance').where('name', '=', 'dataset_session_window').execute()
}

/** Reads `GET /datasets/...`. */
async function read(server: TestServer, path: string, key?: string) {
  const { status, body, headers } = await server.call('GET', path, key ? { key } : {})
  return { status, body, headers, data: body.data, message: body.error?.message }
}

describeOnEachDatabase(
  'datasets',
  (server) => {
    beforeEach(() => reset(server()))

    const insert = (rows: GenerationTable[]) => insertGenerations(server().gateway.db, rows)
    const generation = (change: Partial<GenerationTable> & Pick<GenerationTable, 'created_at'>) =>
      buildGeneration(server().own, { model: 'sandbox/echo', tokens_input: 10, tokens_output: 5, ...change })

    describe('rankings-daily', () => {
      test('sums are those of the generations, whatever the filter, also after corrections', async () => {
        const dice = seededDice(7)
        const pick = <T>(items: readonly T[]): T => items[dice(items.length)] as T
        const rows = Array.from({ length: 600 }, () =>
          buildGeneration(pick([server().own, server().foreign]), {
            created_at: dayBefore(dice(40), `${String(dice(24)).padStart(2, '0')}:00:00.000Z`),
            model: pick(['gone/a', 'gone/b', 'gone/c']),
            tokens_input: pick([10, 1000, 1001, 20_000, 150_000]),
            tokens_cache_read: dice(3),
            tokens_output: dice(50),
            tokens_reasoning: dice(5),
            tokens_input_audio: dice(6) === 0 ? 3 : 0,
            tokens_output_image: dice(6) === 0 ? 3 : 0,
            input_images: dice(6) === 0 ? 1 : 0,
            finish_reason: pick(['stop', 'tool_calls']),
          }),
        )
        await insert(rows)
        await publish(server())
        await correct(server(), rows.slice(0, 50))
        await publish(server())
        const promptOf = (row: GenerationTable) =>
          row.tokens_input + row.tokens_cache_read + row.tokens_input_audio
        const tokensOf = (row: GenerationTable) =>
          promptOf(row) + row.tokens_output + row.tokens_reasoning + row.tokens_output_image
        const isText = (row: GenerationTable) =>
          row.input_images + row.tokens_input_audio + row.tokens_output_image === 0
        const filters: [string, (row: GenerationTable) => boolean][] = [
          ['', () => true],
          ['&modality=text', isText],
          ['&modality=image', (row) => row.input_images > 0],
          ['&modality=image_output', (row) => row.tokens_output_image > 0],
          ['&modality=audio', (row) => row.tokens_input_audio > 0],
          ['&modality=tool_calling', (row) => row.finish_reason === 'tool_calls'],
          ['&context_bucket=1K', (row) => promptOf(row) <= 1000],
          ['&context_bucket=10K', (row) => promptOf(row) > 1000 && promptOf(row) <= 10_000],
          ['&context_bucket=1M&modality=text', (row) => promptOf(row) > 100_000 && isText(row)],
          ['&context_bucket=10M', () => false],
        ]
        for (const [filter, matches] of filters) {
          const { data } = await read(server(), `/datasets/rankings-daily?start_date=2028-02-20${filter}`)
          const expected = new Map<string, number>()
          for (const row of rows.filter(matches)) {
            const day = row.created_at.slice(0, 10)
            const name = `${day} ${row.model}`
            if (day < '2028-02-20' || day > yesterday) continue
            expected.set(name, (expected.get(name) ?? 0) + tokensOf(row))
          }
          const found = data.map((item: Record<string, string>) => [
            `${item.date} ${item.model_permaslug}`,
            Number(item.total_tokens),
          ])
          expect([filter, new Map(found)]).toEqual([filter, expected])
        }
      })

      test('weeks and months sum the days in the period, and begin on Monday and on the first', async () => {
        await insert([1, 2, 3, 16].map((days) => generation({ created_at: dayBefore(days) })))
        await publish(server())
        const weeks = await read(server(), '/datasets/rankings-daily?period=week')
        expect(weeks.data).toEqual([
          { date: '2028-02-28', model_permaslug: 'sandbox/echo', total_tokens: '15' },
          { date: '2028-03-06', model_permaslug: 'sandbox/echo', total_tokens: '15' },
          { date: '2028-03-13', model_permaslug: 'sandbox/echo', total_tokens: '30' },
        ])
        const months = await read(server(), '/datasets/rankings-daily?period=month&start_date=2028-03-13')
        expect(months.data).toEqual([
          { date: '2028-03-01', model_permaslug: 'sandbox/echo', total_tokens: '30' },
        ])
      })

      test('50 models a day, and the rest as `other`, last', async () => {
        const rows = Array.from({ length: 53 }, (_, index) =>
          generation({ created_at: dayBefore(1), model: `gone/m${index}`, tokens_input: 1000 - index }),
        )
        await insert(rows)
        await publish(server())
        const { data } = await read(server(), '/datasets/rankings-daily')
        expect(data).toHaveLength(51)
        expect(data[0]).toEqual({ date: yesterday, model_permaslug: 'gone/m0', total_tokens: '1005' })
        const rest = 1000 - 50 + 1000 - 51 + 1000 - 52 + 15
        expect(data.at(-1)).toEqual({ date: yesterday, model_permaslug: 'other', total_tokens: String(rest) })
      })

      test('the period: default, clamps, and what is refused', async () => {
        const metaOf = async (query: string) => {
          const { body } = await read(server(), `/datasets/rankings-daily?${query}`)
          return [body.meta.start_date, body.meta.end_date]
        }
        expect(await metaOf('')).toEqual(['2028-02-14', yesterday])
        expect(await metaOf('start_date=2020-01-01')).toEqual(['2025-01-01', yesterday])
        expect(await metaOf('end_date=2030-01-01')).toEqual(['2028-02-14', yesterday])
        expect(await metaOf('end_date=2025-01-10')).toEqual(['2025-01-01', '2025-01-10'])
        for (const [query, field] of [
          ['end_date=2024-12-31', 'end_date'],
          ['start_date=2028-03-02&end_date=2028-03-01', 'start_date'],
          ['start_date=2028-03-15', 'start_date'],
          ['start_date=2028-02-30', 'start_date'],
          ['end_date=yesterday', 'end_date'],
          ['period=year', 'period'],
          ['modality=video', 'modality'],
          ['context_bucket=2K', 'context_bucket'],
          ['category=cooking&period=week', 'category'],
          ['language_type=formal&period=week', 'language_type'],
          ['category=legal', 'period'],
          ['language_type=natural&period=day', 'period'],
          ['category=legal&language_type=natural&period=week', 'language_type'],
          ['category=legal&modality=text&period=week', 'modality'],
          ['language_type=natural&context_bucket=1K&period=week', 'context_bucket'],
        ]) {
          const { status, message } = await read(server(), `/datasets/rankings-daily?${query}`)
          expect([query, status, message?.split(':')[0]]).toEqual([query, 400, field])
        }
      })

      test('category and language_type: sampled, in complete weeks, scaled by the sample', async () => {
        const rows = [2, 3, 9, 9, 10].map((days) => generation({ created_at: dayBefore(days) }))
        await insert(rows)
        const [thisWeek, , first, second, third] = rows.map(({ id }) => id) as string[]
        await addTask(server(), thisWeek as string, 'data:summarization', 'legal', 'natural', 10)
        await addTask(server(), first as string, 'data:summarization', 'legal', 'natural', 10)
        await addTask(server(), second as string, 'code:debugging', 'programming', 'programming', 10)
        await addTask(server(), third as string, 'other', null, 'natural', 10)
        await publish(server())
        const totalsOf = async (query: string) => {
          const { data } = await read(server(), `/datasets/rankings-daily?${query}`)
          return data.map((item: Record<string, string>) => [item.date, item.total_tokens])
        }
        expect(await totalsOf('category=legal&period=week')).toEqual([['2028-03-06', '150']])
        expect(await totalsOf('category=legal&period=month')).toEqual([['2028-03-01', '150']])
        expect(await totalsOf('language_type=programming&period=week')).toEqual([['2028-03-06', '150']])
        expect(await totalsOf('language_type=natural&period=week')).toEqual([
          ['2028-02-28', '150'],
          ['2028-03-06', '150'],
        ])
        expect(await totalsOf('category=health&period=week')).toEqual([])
      })
    })

    test('the job publishes on the thread of the roll-ups, and deletes what is no longer needed', async () => {
      const { gateway, clock } = server()
      const rows = [1, 1].map((days) => generation({ created_at: dayBefore(days) }))
      await insert(rows)
      await addTask(server(), rows[0]?.id ?? '', 'code:review', 'programming', 'programming')
      await gateway.rollUps.rollUp({ isAll: true })
      await gateway.rollUps.publish(clock.now(), null)
      const kindsOf = async (table: 'dataset_contributions' | 'dataset_figures') => {
        const found = await gateway.db.selectFrom(table).select('kind').distinct().orderBy('kind').execute()
        return found.map(({ kind }) => kind)
      }
      expect((await read(server(), '/datasets/rankings-daily')).data).toEqual([
        { date: yesterday, model_permaslug: 'sandbox/echo', total_tokens: '30' },
      ])
      expect(await kindsOf('dataset_contributions')).toEqual(['model', 'task', 'topic'])
      clock.advance(50 * dayMs)
      await gateway.rollUps.publish(clock.now(), null)
      expect(await kindsOf('dataset_contributions')).toEqual([])
      expect(await kindsOf('dataset_figures')).toEqual(['model', 'topic'])
      // A request that is settled so late does not replace the day.
      await insert([generation({ created_at: dayBefore(1) })])
      await gateway.rollUps.rollUp({ isAll: true })
      await gateway.rollUps.publish(clock.now(), null)
      expect(await kindsOf('dataset_contributions')).toEqual([])
      const period = `start_date=${yesterday}&end_date=${yesterday}`
      const { data } = await read(server(), `/datasets/rankings-daily?${period}`)
      expect(data[0].total_tokens).toBe('30')
    })

    describe('app-rankings', () => {
      const app = (url: string | null, days: number, tokens: number, title: string | null = null) =>
        generation({
          created_at: dayBefore(days),
          app_url: url,
          app_title: title,
          tokens_input: tokens,
          tokens_output: 0,
        })

      test('ranks apps by tokens; local apps and requests without one are left out', async () => {
        await insert([
          app('https://one.example.com', 1, 100),
          app('https://ONE.example.com/?utm=1', 2, 50, 'Old title'),
          app('https://two.example.com', 3, 200, 'Two'),
          app('https://two.example.com', 3, 200, 'Two'),
          {
            ...app('https://two.example.com', 3, 0, 'Zz, named so by another organization'),
            organization_id: server().foreign.organization.id,
          },
          app('https://github.com/acme/tool', 3, 20),
          app('http://localhost:3000', 1, 9000, 'Local'),
          app('http://127.0.0.1:8080', 1, 9000, 'Local'),
          app('not a url', 1, 9000, 'None'),
          app(null, 1, 9000),
          app('https://two.example.com', 40, 7000),
        ])
        await publish(server())
        const { data, body, headers } = await read(server(), '/datasets/app-rankings')
        expect(data).toEqual([
          { app_id: expect.any(Number), app_name: 'Two', rank: 1, total_requests: 3, total_tokens: '400' },
          {
            app_id: expect.any(Number),
            app_name: 'The One',
            rank: 2,
            total_requests: 2,
            total_tokens: '150',
          },
          {
            app_id: expect.any(Number),
            app_name: 'github.com/acme/tool',
            rank: 3,
            total_requests: 1,
            total_tokens: '20',
          },
        ])
        expect(new Set(data.map((item: { app_id: number }) => item.app_id)).size).toBe(3)
        expect(body.meta).toEqual({
          as_of: now,
          start_date: '2028-02-14',
          end_date: yesterday,
          version: 'v1',
          license: 'CC-BY-4.0',
          attribution: 'Acme Cloud',
        })
        expect(headers.get('link')).toBe('<https://creativecommons.org/licenses/by/4.0/>; rel="license"')
        const page = await read(server(), '/datasets/app-rankings?limit=1&offset=1')
        expect(page.data).toEqual([data[1]])
        await publish(server())
        expect((await read(server(), '/datasets/app-rankings')).data).toEqual(data)
      })

      test('categories are those that the operator assigns', async () => {
        await insert([
          app('https://one.example.com', 1, 1),
          app('https://two.example.com', 1, 2),
          app('https://three.example.com', 1, 3),
        ])
        await publish(server())
        const namesOf = async (query: string) => {
          const { data } = await read(server(), `/datasets/app-rankings?${query}`)
          return data.map((item: { app_name: string; rank: number }) => [item.app_name, item.rank])
        }
        expect(await namesOf('category=coding')).toEqual([['The One', 1]])
        expect(await namesOf('subcategory=game')).toEqual([['two.example.com', 1]])
        expect(await namesOf('category=entertainment&subcategory=game')).toEqual([['two.example.com', 1]])
        expect(await namesOf('category=creative')).toEqual([])
        const mismatch = await read(server(), '/datasets/app-rankings?category=coding&subcategory=game')
        expect([mismatch.status, mismatch.message]).toEqual([
          400,
          'subcategory: must be one of coding: cli-agent, ide-extension, cloud-agent, programming-app, native-app-builder',
        ])
      })

      test('trending: growth over the mean of the three periods before', async () => {
        await insert([
          app('https://grew.example.com', 1, 100),
          app('https://grew.example.com', 9, 30),
          app('https://fell.example.com', 1, 1000),
          app('https://fell.example.com', 9, 3300),
          app('https://new.example.com', 2, 95),
        ])
        await publish(server())
        const { data } = await read(server(), '/datasets/app-rankings?sort=trending&start_date=2028-03-08')
        expect(
          data.map((item: Record<string, string>) => [item.app_name, item.rank, item.total_tokens]),
        ).toEqual([
          ['new.example.com', 1, '95'],
          ['grew.example.com', 2, '100'],
        ])
      })

      test('what is refused', async () => {
        for (const query of [
          'limit=0',
          'limit=101',
          'offset=101',
          'offset=-1',
          'sort=new',
          'category=x',
          'subcategory=x',
          'end_date=2024-01-01',
        ])
          expect([query, (await read(server(), `/datasets/app-rankings?${query}`)).status]).toEqual([
            query,
            400,
          ])
      })
    })

    describe('session-cost', () => {
      const turn = (
        session: string | null,
        url: string,
        dollars: number,
        change: Partial<GenerationTable> = {},
      ) =>
        generation({
          created_at: dayBefore(4),
          session_id: session,
          app_url: url,
          cost_nanos: BigInt(dollars * 1e9),
          ...change,
        })
      const [one, two] = ['https://one.example.com', 'https://two.example.com/app']

      test('medians of whole sessions, published once a week', async () => {
        await insert([
          ...[1, 5, 9].map((dollars, index) => turn(`single-${index}`, one, dollars)),
          ...Array.from({ length: 4 }, () => turn('four', one, 2)),
          ...Array.from({ length: 12 }, () => turn('twelve', two, 0.5)),
          ...Array.from({ length: 50 }, () => turn('fifty', two, 0.1)),
          turn('byok', two, 0, { is_byok: 1, upstream_cost_nanos: 3_000_000_000n, model: 'gone/a' }),
          turn('byok-2', two, 0, { is_byok: 1, upstream_cost_nanos: 4_000_000_000n, model: 'gone/a' }),
          turn(null, one, 100),
          turn('local', 'http://localhost:1234', 100),
          turn('old', one, 100, { created_at: dayBefore(33) }),
          turn('this-week', one, 100, { created_at: dayBefore(1) }),
        ])
        await publish(server())
        const { data, body } = await read(server(), '/datasets/session-cost')
        const rows = data.map((item: Record<string, unknown>) => [
          item.app_slug,
          item.model_permaslug,
          item.turn_range,
          item.median_session_cost_usd,
        ])
        expect(rows).toEqual([
          ['one.example.com', 'sandbox/echo', '1-turn', 5],
          ['two.example.com-app', 'gone/a', '1-turn', 3.5],
          ['one.example.com', 'sandbox/echo', '2-9-turns', 8],
          ['two.example.com-app', 'sandbox/echo', '10-49-turns', 6],
          ['two.example.com-app', 'sandbox/echo', '50-plus-turns', 5],
        ])
        expect(data[0].app_name).toBe('The One')
        expect(body.meta).toMatchObject({ version: 'v1', window_days: 28, window_end_date: '2028-03-12' })
        const countOf = async (query: string) =>
          (await read(server(), `/datasets/session-cost?${query}`)).data.length
        expect(await countOf('app_slug=one.example.com')).toBe(2)
        expect(await countOf('app_slug=one')).toBe(0)
        expect(await countOf('model=gone/a')).toBe(1)
        expect(await countOf('model=gone')).toBe(0)
        expect(await countOf('turn_range=1-turn')).toBe(2)
        expect(await countOf('turn_range=1-turn&app_slug=one.example.com&model=sandbox/echo')).toBe(1)
        expect(await countOf('limit=2&offset=1')).toBe(2)
        expect(await countOf('offset=5')).toBe(0)
        // What is added within the week is published with the next one.
        await insert([turn('late', one, 1000)])
        await publish(server())
        expect((await read(server(), '/datasets/session-cost')).data).toEqual(data)
        server().clock.advance(5 * dayMs)
        await publish(server())
        const next = await read(server(), '/datasets/session-cost?turn_range=1-turn&app_slug=one.example.com')
        expect(next.data[0].median_session_cost_usd).toBe(9)
        expect(next.body.meta.window_end_date).toBe('2028-03-19')
      })

      test('what is refused, and what is returned before the first week', async () => {
        for (const query of ['limit=501', 'limit=0', 'offset=5001', 'turn_range=3-turns', 'app_slug='])
          expect([query, (await read(server(), `/datasets/session-cost?${query}`)).status]).toEqual([
            query,
            400,
          ])
        const { data, body } = await read(server(), '/datasets/session-cost')
        expect([data, body.meta.window_days, body.meta.window_end_date]).toEqual([[], null, null])
      })
    })

    describe('classifications', () => {
      test('shares of the last seven complete days, without `other`', async () => {
        const rows = [1, 1, 3, 7, 8, 0, 2].map((days, index) =>
          generation({
            created_at: dayBefore(days),
            model: index === 1 ? 'gone/b' : 'gone/a',
            cost_nanos: index === 1 ? 3_000n : 1_000n,
          }),
        )
        await insert(rows)
        const tags = [
          'code:debugging',
          'code:debugging',
          'code:review',
          'general:chat',
          'code:review',
          'code:review',
          'other',
        ]
        for (const [index, { id }] of rows.entries())
          await addTask(server(), id, tags[index] as string, null, 'natural', 5)
        await publish(server())
        const { data } = await read(server(), '/classifications/task?window=7d')
        expect(data).toEqual({
          as_of: yesterday,
          window_days: 7,
          classifications: [
            {
              tag: 'code:debugging',
              display_name: 'Debugging',
              macro_category: 'code',
              token_share: 0.5,
              usage_share: 4 / 6,
              category_token_share: 2 / 3,
              category_usage_share: 4 / 5,
              models: [
                { id: 'gone/b', tag_token_share: 0.5, tag_usage_share: 0.75 },
                { id: 'gone/a', tag_token_share: 0.5, tag_usage_share: 0.25 },
              ],
            },
            expect.objectContaining({ tag: 'code:review', token_share: 0.25, category_token_share: 1 / 3 }),
            expect.objectContaining({ tag: 'general:chat', category_token_share: 1 }),
          ],
          macro_categories: [
            { key: 'code', label: 'Code', token_share: 0.75, usage_share: 5 / 6 },
            { key: 'data', label: 'Data', token_share: 0, usage_share: 0 },
            { key: 'agent', label: 'Agents', token_share: 0, usage_share: 0 },
            { key: 'general', label: 'General', token_share: 0.25, usage_share: 1 / 6 },
          ],
        })
        expect((await read(server(), '/classifications/task')).data).toEqual(data)
        for (const window of ['1d', '30d', ''])
          expect((await read(server(), `/classifications/task?window=${window}`)).status).toBe(400)
      })

      test('a correction replaces what was counted, also if the first record had no task', async () => {
        const rows = [1, 1].map((days) => generation({ created_at: dayBefore(days), model: 'gone/a' }))
        await insert(rows)
        const [tagged, untagged] = rows.map(({ id }) => id) as [string, string]
        await addTask(server(), tagged, 'code:review', null, 'natural')
        await publish(server())
        await addTask(server(), untagged, 'general:chat', null, 'natural')
        await correct(server(), rows)
        await publish(server())
        const figures = await server()
          .gateway.db.selectFrom('dataset_figures')
          .select(['subject', 'requests', 'tokens'])
          .where('kind', '=', 'task')
          .orderBy('subject')
          .execute()
        expect(figures).toEqual([
          { subject: 'gone/a\ncode:review', requests: 1, tokens: 22 },
          { subject: 'gone/a\ngeneral:chat', requests: 1, tokens: 22 },
        ])
      })
    })

    test('every kind of key may read them; 30 per minute and key, shared by all of them', async () => {
      const { own, foreign } = server()
      for (const key of [own.managementKey, own.inferenceKey, foreign.inferenceKey])
        expect((await read(server(), '/datasets/app-rankings', key)).status).toBe(200)
      expect((await server().call('GET', '/datasets/app-rankings', { key: null })).status).toBe(401)
      const paths = ['/datasets/session-cost', '/datasets/rankings-daily', '/classifications/task']
      const statuses: number[] = []
      for (let call = 0; call < 30; call++)
        statuses.push((await read(server(), paths[call % 3] as string, own.inferenceKey)).status)
      expect(statuses).toEqual([...Array(29).fill(200), 429])
      const limited = await read(server(), '/datasets/app-rankings', own.inferenceKey)
      expect([limited.status, limited.headers.get('x-ratelimit-limit')]).toEqual([429, '30'])
      // An invalid request does not count.
      expect((await read(server(), '/datasets/app-rankings?limit=0', own.inferenceKey)).status).toBe(400)
    })

    test('the day of an organization has 500 requests', async () => {
      const { own, gateway } = server()
      await read(server(), '/datasets/app-rankings')
      await gateway.db.updateTable('daily_requests').set({ requests: 500 }).execute()
      const { status, message } = await read(server(), '/datasets/rankings-daily', own.inferenceKey)
      expect([status, message]).toEqual([429, expect.stringContaining('500 requests per day')])
      expect((await read(server(), '/datasets/rankings-daily', server().foreign.inferenceKey)).status).toBe(
        200,
      )
    })
  },
  { settings },
)

/** Replaces records as a late settlement does: with two more output tokens. */
async function correct({ gateway: { db } }: TestServer, rows: GenerationTable[]): Promise<void> {
  for (const row of rows) {
    const previous = encodeUsageRecord({ ...row })
    row.tokens_output += 7
    await db
      .updateTable('generations')
      .set({ tokens_output: row.tokens_output })
      .where('id', '=', row.id)
      .execute()
    await db
      .insertInto('unrolled_generations')
      .values({ generation_id: row.id, organization_id: row.organization_id, previous })
      .execute()
  }
}

describeOnEachDatabase('small groups in datasets', (server) => {
  const tenants: Tenant[] = []
  beforeAll(async () => {
    for (let count = 0; count < 5; count++) tenants.push(await createTenant(server().gateway, `T${count}`))
  })
  beforeEach(() => reset(server()))

  const generationsOf = (some: Tenant[], change: Partial<GenerationTable>) =>
    some.map((tenant) =>
      buildGeneration(tenant, {
        created_at: dayBefore(1),
        tokens_input: 10,
        tokens_output: 0,
        app_url: 'https://app.example.com',
        session_id: `s ${tenant.organization.id}`,
        ...change,
      }),
    )
  const totalsOf = async (query = '') => {
    const { data } = await read(server(), `/datasets/rankings-daily?${query}`)
    return data.map(
      (item: Record<string, string>) => `${item.date} ${item.model_permaslug} ${item.total_tokens}`,
    )
  }

  test('R37 a figure needs five organizations, and no sum contains one that has fewer', async () => {
    const { db } = server().gateway
    await insertGenerations(db, [
      ...generationsOf(tenants, { model: 'gone/many' }),
      // The same model in another form, and on another day, by one organization.
      ...generationsOf(tenants.slice(0, 1), { model: 'gone/many', tokens_input: 5000 }),
      ...generationsOf(tenants.slice(0, 1), { model: 'gone/many', created_at: dayBefore(2) }),
      ...generationsOf(tenants.slice(0, 4), { model: 'gone/few' }),
    ])
    await publish(server())
    for (const query of ['', 'period=week', 'period=month', 'start_date=2028-03-01', 'modality=text']) {
      const totals = await totalsOf(query)
      expect([query, totals.length, totals[0]?.endsWith('gone/many 50')]).toEqual([query, 1, true])
    }
    expect(await totalsOf('context_bucket=10K')).toEqual([])
    const apps = await read(server(), '/datasets/app-rankings')
    expect(apps.data.map((item: Record<string, unknown>) => item.total_requests)).toEqual([10])
  })

  test('R37 the figures are the same for every reader', async () => {
    await insertGenerations(server().gateway.db, [
      ...generationsOf(tenants, { model: 'gone/many' }),
      ...generationsOf(tenants.slice(0, 1), { model: 'gone/secret', app_url: 'https://secret.example.com' }),
    ])
    await publish(server())
    for (const path of [
      '/datasets/rankings-daily',
      '/datasets/app-rankings',
      '/classifications/task',
      '/datasets/session-cost',
    ]) {
      const own = await read(server(), path, tenants[0]?.inferenceKey)
      const other = await read(server(), path, tenants[1]?.inferenceKey)
      expect(own.body).toEqual(other.body)
      expect(JSON.stringify(own.body)).not.toContain('secret')
    }
  })

  test('session costs and tasks are suppressed too', async () => {
    const rows = generationsOf(tenants, {
      created_at: dayBefore(3),
      model: 'gone/many',
      cost_nanos: 1_000_000n,
    })
    const few = generationsOf(tenants.slice(0, 4), {
      created_at: dayBefore(3),
      model: 'gone/few',
      cost_nanos: 1_000_000n,
    })
    await insertGenerations(server().gateway.db, [...rows, ...few])
    for (const { id } of [...rows, ...few]) await addTask(server(), id, 'code:review', null, 'natural')
    await publish(server())
    const sessions = await read(server(), '/datasets/session-cost')
    expect(sessions.data.map((item: Record<string, string>) => item.model_permaslug)).toEqual(['gone/many'])
    const tasks = await read(server(), '/classifications/task')
    expect(tasks.data.classifications.map((item: { models: unknown }) => item.models)).toEqual([
      [{ id: 'gone/many', tag_token_share: 1, tag_usage_share: 1 }],
    ])
  })

  test('the operator can require more or fewer, and can publish nothing', async () => {
    const { gateway } = server()
    await insertGenerations(gateway.db, generationsOf(tenants.slice(0, 2), { model: 'gone/few' }))
    await publish(server())
    const { settings: original } = gateway
    const change = (datasets: Partial<typeof original.datasets>) => {
      gateway.settings = { ...original, datasets: { ...original.datasets, ...datasets } }
    }
    expect(await totalsOf()).toEqual([])
    change({ min_organizations: 2 })
    expect(await totalsOf()).toHaveLength(1)
    change({ min_organizations: 3 })
    expect(await totalsOf()).toEqual([])
    change({ publish: false })
    for (const path of [
      '/datasets/rankings-daily',
      '/datasets/app-rankings',
      '/classifications/task',
      '/datasets/session-cost',
    ]) {
      const { status, message } = await read(server(), path)
      expect([status, message]).toEqual([404, expect.stringContaining('datasets.publish')])
    }
    gateway.settings = original
  })
})

describeOnEachDatabase(
  'the sample of tasks',
  (server) => {
    const prompt = 'Why does my Python function crash with a KeyError? Please fix it.'
    const send = async (body: object = {}, headers: Record<string, string> = {}) => {
      const response = await fetch(`${server().url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server().own.inferenceKey}`, ...headers },
        body: JSON.stringify({
          model: 'sandbox/echo',
          messages: [{ role: 'user', content: prompt }],
          ...body,
        }),
      })
      expect(response.status).toBe(200)
      return ((await response.json()) as { id: string }).id
    }
    const readTask = async (id: string) => {
      await server().gateway.ledger.flush()
      return server()
        .gateway.db.selectFrom('generation_tasks')
        .selectAll()
        .where('generation_id', '=', id)
        .executeTakeFirst()
    }
    const sampleEvery = (classify_one_in: number) => {
      const { gateway } = server()
      const { settings: current } = gateway
      gateway.settings = { ...current, datasets: { ...current.datasets, classify_one_in } }
    }

    test('R40 only the classification is stored, of every request if the operator says so', async () => {
      sampleEvery(1)
      const id = await send()
      expect(await readTask(id)).toEqual({
        generation_id: id,
        tag: 'code:debugging',
        category: 'programming',
        language: 'programming',
        weight: 1,
        counted: 0,
      })
    })

    test('no request with zero data retention, of a region, or when it is switched off', async () => {
      sampleEvery(1)
      expect(await readTask(await send({ provider: { zdr: true } }))).toBeUndefined()
      expect(await readTask(await send({}, { host: 'eu.example.com' }))).toBeUndefined()
      sampleEvery(0)
      expect(await readTask(await send())).toBeUndefined()
    })

    test('one of many, chosen by the id', async () => {
      sampleEvery(3)
      const ids = await Promise.all(Array.from({ length: 40 }, () => send()))
      for (const id of ids) {
        const task = await readTask(id)
        expect([id, task?.weight]).toEqual([id, Bun.hash.crc32(id) % 3 === 0 ? 3 : undefined])
      }
    })

    test('deleted with its generation', async () => {
      sampleEvery(1)
      const id = await send()
      const { db, clock, ledger } = server().gateway
      await ledger.flush()
      await rollUp({ db }, { minRows: 1 })
      server().clock.advance(10 * dayMs)
      await deleteOldGenerations({ db, clock }, 1)
      expect(await readTask(id)).toBeUndefined()
    })
  },
  { settings: 'regions: { hosts: { eu.example.com: europe } }' },
)
