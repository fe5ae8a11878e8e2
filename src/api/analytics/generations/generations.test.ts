import { beforeAll, describe, expect, test } from 'bun:test'
import { insertContent, insertGeneration, sampleContent } from '../../../../test/support/generations.ts'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import { createKey } from '../../../identity/keys.ts'
import { createWorkspace } from '../../../identity/workspaces.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { deleteExpiredContents } from './store.ts'

const settings = `
records: { content_retention_days: 10 }
providers:
  - { slug: acme, name: Acme AI, base_url: "http://127.0.0.1:9/v1", dialects: [chat] }
  - { slug: other, name: Other AI, base_url: "http://127.0.0.1:9/v1", dialects: [chat] }
models:
  - id: acme/fast-1
    canonical_slug: acme/fast-1-2026
    name: Fast
    endpoints:
      - provider: acme
        upstream_model: fast-1
        pricing: { prompt: "0.000010", completion: "0.000020", input_cache_read: "0.000001", input_cache_write: "0.0000125" }
`

/** Hostile ids: they never exist and never cause an internal error. */
const unknownIds = [
  'gen-unknown',
  'x'.repeat(256),
  "' or 1=1 --",
  '%25',
  '*',
  '../generation',
  'gen-\u{1f600}',
  '0',
]
const badQueries = ['', '?id=', `?id=${'x'.repeat(257)}`, '?id=%00', '?id=%FF', '?id=a&id=b', '?ID=gen-1']

describeOnEachDatabase(
  'generations',
  (server) => {
    const own = () => server().own
    const insert = (changes = {}, tenant: Tenant = own()) =>
      insertGeneration(server().gateway, tenant, changes)
    const read = (id: string, key?: string) =>
      server().call('GET', `/generation?id=${encodeURIComponent(id)}`, key === undefined ? {} : { key })
    const content = (id: string, key?: string) =>
      server().call(
        'GET',
        `/generation/content?id=${encodeURIComponent(id)}`,
        key === undefined ? {} : { key },
      )

    /** Another inference key of the same workspace, and one of another workspace. */
    let sibling: string
    let outsider: string
    beforeAll(async () => {
      const { db, clock } = server().gateway
      const { organization, workspace, owner } = own()
      const scope = { organizationId: organization.id, kind: 'inference' as const, name: 'k' }
      const elsewhere = await createWorkspace(
        db,
        clock,
        { organizationId: organization.id, createdBy: owner.id },
        { slug: 'elsewhere', name: 'Elsewhere' },
      )
      const made = (workspaceId: string) =>
        createKey(db, clock, { ...scope, workspaceId, creatorUserId: owner.id })
      sibling = (await made(workspace.id)).secret
      outsider = (await made(elsewhere.id)).secret
    })

    describe('GET /generation', () => {
      test('every field, from the row', async () => {
        const id = await insert({
          user_id: own().owner.id,
          created_at: '2026-07-01T10:00:00.000Z',
          ended_at: '2026-07-01T10:00:02.500Z',
          requested_model: 'acme/fast-1:nitro',
          model: 'acme/fast-1',
          provider: 'acme',
          endpoint: 'acme',
          dialect: 'messages',
          streamed: 1,
          finish_reason: 'tool_calls',
          native_finish_reason: 'tool_use',
          tokens_input: 100,
          tokens_cache_read: 1000,
          tokens_cache_write: 200,
          tokens_input_image: 7,
          tokens_output: 50,
          tokens_reasoning: 30,
          tokens_output_image: 5,
          input_images: 2,
          web_searches: 3,
          cost_nanos: 6_270_000n,
          // 100 and 7 plain, 1000 read, 200 written, 85 of output.
          upstream_cost_nanos: 1_070_000n + 1_000_000n + 2_500_000n + 1_700_000n,
          reported_cost_nanos: 6_000_000n,
          latency_ms: 2500,
          first_token_ms: 300,
          attempts: '[{"provider":"Other AI","code":"rate_limit_exceeded","status":429}]',
          billed_units: JSON.stringify([
            { billable: 'output_image', unit: 'image', quantity: 2, variants: ['1024x1024'] },
          ]),
          dropped: '["top_k"]',
          preset_id: 'preset-1',
          session_id: 'session-1',
          region: 'europe',
          app_url: 'https://app.example.com/page?x=1',
          app_title: 'App',
          external_user: 'user-7',
          tags: 'env=prod\nproject=apollo',
          flag: 'capped',
          user_agent: 'curl/8',
          request_id: 'req_1',
          upstream_id: 'chatcmpl-1',
          service_tier: 'priority',
        })
        const { db, clock } = server().gateway
        const app = await db
          .insertInto('apps')
          .values({
            organization_id: own().organization.id,
            url: 'https://app.example.com',
            name: 'App',
            created_at: isoNow(clock),
          })
          .returning('id')
          .executeTakeFirstOrThrow()
        const { status, body } = await read(id)
        expect(status).toBe(200)
        expect(body.data).toEqual({
          id,
          request_id: 'req_1',
          upstream_id: 'chatcmpl-1',
          workspace_id: own().workspace.id,
          created_at: '2026-07-01T10:00:00.000Z',
          model: 'acme/fast-1',
          provider_name: 'Acme AI',
          provider_responses: [
            { status: 429, provider_name: 'Other AI' },
            {
              id: 'chatcmpl-1',
              status: 200,
              provider_name: 'Acme AI',
              endpoint_id: 'acme',
              model_permaslug: 'acme/fast-1-2026',
              is_byok: false,
              latency: 300,
              routed_service_tier: 'priority',
            },
          ],
          api_type: 'completions',
          streamed: true,
          cancelled: false,
          finish_reason: 'tool_calls',
          native_finish_reason: 'tool_use',
          tokens_prompt: 1307,
          tokens_completion: 85,
          native_tokens_prompt: 1307,
          native_tokens_completion: 85,
          native_tokens_reasoning: 30,
          native_tokens_completion_images: 5,
          native_tokens_cached: 1000,
          num_media_prompt: 2,
          num_media_completion: 2,
          num_input_audio_prompt: null,
          num_search_results: null,
          num_fetches: null,
          web_search_engine: null,
          usage: 0.00627,
          total_cost: 0.00627,
          upstream_inference_cost: null,
          // 1000 read for 9 less, 200 written for 2.5 more, in millionths.
          cache_discount: 0.0085,
          is_byok: false,
          latency: 300,
          generation_time: 2500,
          moderation_latency: null,
          data_region: 'europe',
          external_user: 'user-7',
          tags: ['env=prod', 'project=apollo'],
          session_id: 'session-1',
          preset_id: 'preset-1',
          service_tier: 'priority',
          router: null,
          response_cache_source_id: null,
          app_id: app.id,
          http_referer: 'https://app.example.com/page?x=1',
          origin: 'https://app.example.com',
          user_agent: 'curl/8',
          headgate: {
            status: 'completed',
            error_code: null,
            ended_at: '2026-07-01T10:00:02.500Z',
            requested_model: 'acme/fast-1:nitro',
            endpoint: 'acme',
            format: 'messages',
            upstream_format: 'chat',
            user_id: own().owner.id,
            app_title: 'App',
            tokens: {
              input: 100,
              cache_read: 1000,
              cache_read_audio: 0,
              cache_write: 200,
              cache_write_1h: 0,
              input_audio: 0,
              input_image: 7,
              input_video: 0,
              output: 50,
              reasoning: 30,
              output_audio: 0,
              output_image: 5,
            },
            web_searches: 3,
            usage_source: 'reported',
            own_cost: 0.00627,
            hold: 0,
            list_cost: 0.00627,
            reported_cost: 0.006,
            flag: 'capped',
            billed_units: [{ billable: 'output_image', unit: 'image', quantity: 2, variants: ['1024x1024'] }],
            cache_breakpoints: 0,
            cache_savings: null,
            dropped: ['top_k'],
            guardrail_hits: [],
            lines: [],
            parent_id: null,
            cache: null,
            cache_similarity: null,
          },
        })
      })

      test('I6 exists as soon as its response is complete, with the same usage', async () => {
        const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
        const key = own().inferenceKey
        const response = await server().call('POST', '/chat/completions', { key, body })
        const { data } = (await read(response.headers.get('x-generation-id') ?? '', key)).body
        const { usage } = response.body
        expect(data).toMatchObject({
          usage: usage.cost,
          tokens_prompt: usage.prompt_tokens,
          tokens_completion: usage.completion_tokens,
          streamed: false,
          cancelled: false,
          finish_reason: 'stop',
          provider_responses: [{ status: 200 }],
          headgate: { status: 'completed', format: 'chat', requested_model: 'sandbox/echo' },
        })
        expect(usage.cost).toBeGreaterThan(0)
      })

      test('what is unknown is null', async () => {
        const id = await insert({
          model: 'gone/model',
          provider: 'gone',
          endpoint: 'gone/eu',
          usage_source: 'none',
          tokens_input: 0,
          tokens_output: 0,
          tokens_cache_read: 5,
          cost_nanos: 0n,
          finish_reason: null,
          native_finish_reason: null,
          ended_at: '',
          api_type: null,
          app_url: 'not an address',
        })
        const { data } = (await read(id)).body
        expect(data).toMatchObject({
          provider_name: 'gone',
          api_type: null,
          app_id: null,
          origin: '',
          http_referer: 'not an address',
          tokens_prompt: null,
          tokens_completion: null,
          native_tokens_cached: null,
          cache_discount: null,
          finish_reason: null,
          latency: 120,
          generation_time: 120,
          usage: 0,
          headgate: { ended_at: null, reported_cost: null, dropped: [] },
        })
        expect(data.provider_responses).toMatchObject([{ provider_name: 'gone', endpoint_id: 'gone/eu' }])
      })

      test('R10 a request through a key of one’s own: the fee, and the price of the provider', async () => {
        const id = await insert({ is_byok: 1, cost_nanos: 50n, upstream_cost_nanos: 1000n })
        expect((await read(id)).body.data).toMatchObject({
          is_byok: true,
          usage: 0.00000005,
          total_cost: 0.00000005,
          upstream_inference_cost: 0.000001,
        })
      })

      test('a discount is reported only at the prices that were charged', async () => {
        const at = { model: 'acme/fast-1', provider: 'acme', endpoint: 'acme', tokens_cache_read: 10 }
        const discountOf = async (changes: object) =>
          (await read(await insert({ ...at, ...changes }))).body.data.cache_discount
        expect(await discountOf({ upstream_cost_nanos: 100_000n + 10_000n + 400_000n })).toBe(0.00009)
        expect(await discountOf({ upstream_cost_nanos: 1n })).toBe(null)
        expect(await discountOf({ tokens_cache_read: 0, upstream_cost_nanos: 500_000n })).toBe(null)
        const written = { tokens_cache_read: 0, tokens_cache_write: 10 }
        expect(await discountOf({ ...written, upstream_cost_nanos: 625_000n })).toBe(-0.000025)
      })

      const failed = { provider: 'acme', endpoint: 'acme', status: 'failed', usage_source: 'none' } as const
      const attempts = (...list: object[]) => JSON.stringify(list)
      const rejected = { provider: 'Acme AI', code: 'server', status: 500 }
      test.each([
        ['the last attempt is listed once', { ...failed, attempts: attempts(rejected) }, [500]],
        [
          'by endpoint, where it is known',
          { ...failed, attempts: attempts({ ...rejected, endpoint: 'acme/eu' }) },
          [500, null],
        ],
        ['a reply that broke off had begun', { ...failed, first_token_ms: 5 }, [200]],
        [
          'also after an attempt that failed',
          { ...failed, attempts: attempts(rejected), first_token_ms: 5 },
          [500, 200],
        ],
        ['no reply had started', { ...failed, status: 'cancelled' }, [null]],
        ['canceled in the middle', { status: 'cancelled', first_token_ms: 9 }, [200]],
        [
          'an attempt without a status',
          { attempts: attempts({ provider: 'X', code: 'timeout', status: null }) },
          [null, 200],
        ],
      ] as const)('R15 attempts: %s', async (_, changes, statuses) => {
        const { data } = (await read(await insert(changes))).body
        expect(data.provider_responses.map(({ status }: { status: unknown }) => status)).toEqual(statuses)
        expect(data.cancelled).toBe('status' in changes && changes.status === 'cancelled')
      })

      test('attempts tell what they have on record', async () => {
        const attempt = { provider: 'Acme AI', endpoint: 'acme', model: 'acme/fast-1', status: 503, ms: 12 }
        const { data } = (await read(await insert({ attempts: attempts(attempt) }))).body
        expect(data.provider_responses[0]).toEqual({
          status: 503,
          provider_name: 'Acme AI',
          endpoint_id: 'acme',
          model_permaslug: 'acme/fast-1-2026',
          latency: 12,
        })
      })

      test('S3 R37 I9 visible in its workspace and to management keys of its organization, to no other key', async () => {
        const id = await insert()
        for (const key of [own().managementKey, own().inferenceKey, sibling]) {
          expect((await read(id, key)).status).toBe(200)
        }
        for (const key of [outsider, server().foreign.managementKey, server().foreign.inferenceKey]) {
          expect((await read(id, key)).status).toBe(404)
        }
      })

      test('an app of another organization is not this one', async () => {
        const { db, clock } = server().gateway
        const url = 'https://foreign.example.com'
        await db
          .insertInto('apps')
          .values({
            organization_id: server().foreign.organization.id,
            url,
            name: 'F',
            created_at: isoNow(clock),
          })
          .execute()
        expect((await read(await insert({ app_url: url }))).body.data.app_id).toBe(null)
      })
    })

    describe('GET /generation/content', () => {
      test('the stored content', async () => {
        const id = await insert()
        await insertContent(server().gateway, own(), id)
        const { status, body } = await content(id)
        expect(status).toBe(200)
        expect(body.data).toEqual(sampleContent)
      })

      test('404 when nothing was stored', async () => {
        expect((await content(await insert())).status).toBe(404)
      })

      test('S3 I9 readable with a management key and the requesting key, with no other', async () => {
        const id = await insert()
        await insertContent(server().gateway, own(), id)
        expect((await content(id, own().inferenceKey)).status).toBe(200)
        expect((await content(id, sibling)).status).toBe(403)
        for (const key of [outsider, server().foreign.managementKey, server().foreign.inferenceKey]) {
          expect((await content(id, key)).status).toBe(404)
        }
      })

      test('outlives its record, for management keys', async () => {
        const { gateway } = server()
        const id = await insert()
        await insertContent(gateway, own(), id)
        await gateway.db.deleteFrom('generations').where('id', '=', id).execute()
        expect((await content(id)).status).toBe(200)
        expect((await content(id, own().inferenceKey)).status).toBe(403)
      })

      test('R40 the database has no word of it in the clear, and rows cannot be exchanged', async () => {
        const { gateway } = server()
        const [id, other] = [await insert(), await insert()]
        const secret = { ...sampleContent, input: { prompt: 'canary-prompt' } }
        await insertContent(gateway, own(), id, { content: secret })
        const row = await gateway.db
          .selectFrom('generation_contents')
          .selectAll()
          .where('generation_id', '=', id)
          .executeTakeFirstOrThrow()
        expect(JSON.stringify(row)).not.toContain('canary')
        await gateway.db
          .updateTable('generation_contents')
          .set({ generation_id: other })
          .where('generation_id', '=', id)
          .execute()
        expect((await content(other)).status).toBe(500)
      })

      test('R23 is dropped when it is old enough, in batches', async () => {
        const { gateway } = server()
        await gateway.db.deleteFrom('generation_contents').execute()
        const dayMs = 86_400_000
        const agoOf = (days: number) => new Date(gateway.clock.now() - days * dayMs).toISOString()
        const tenant = await createTenant(gateway, 'Old')
        const old = Array.from({ length: 1203 }, (_, at) => ({
          generation_id: `gen-old-${at}`,
          organization_id: tenant.organization.id,
          workspace_id: tenant.workspace.id,
          sealed_content: 'v1.',
          created_at: agoOf(10.01 + at),
        }))
        await gateway.db.insertInto('generation_contents').values(old).execute()
        await insertContent(gateway, own(), 'gen-new', { createdAt: agoOf(9.99) })
        expect(await deleteExpiredContents(gateway)).toBe(1203)
        const left = await gateway.db.selectFrom('generation_contents').select('generation_id').execute()
        expect(left).toEqual([{ generation_id: 'gen-new' }])
        expect(await deleteExpiredContents(gateway)).toBe(0)
      })
    })

    describe('both', () => {
      for (const path of ['/generation', '/generation/content']) {
        test.each(unknownIds)(`${path}: 404 for the id %j`, async (id) => {
          const response = await server().call('GET', `${path}?id=${encodeURIComponent(id)}`)
          expect(response.status).toBe(404)
        })
        test.each(badQueries)(`${path}: 400 for the query %j`, async (query) => {
          const response = await server().call('GET', path + query)
          expect(response.status).toBe(400)
          expect(response.body.error.message).toStartWith('id:')
        })
      }
    })

    describe('POST /generation/feedback', () => {
      const send = (body: unknown, key?: string) =>
        server().call('POST', '/generation/feedback', { body, ...(key !== undefined && { key }) })
      const kept = (id: string) =>
        server()
          .gateway.db.selectFrom('generation_feedback')
          .select(['organization_id', 'category', 'comment'])
          .where('generation_id', '=', id)
          .orderBy('created_at')
          .orderBy('category')
          .execute()

      test('is stored, as often as it is sent', async () => {
        const id = await insert()
        const comment = 'ü'.repeat(1000)
        const response = await send({ generation_id: id, category: 'latency', comment })
        expect(response).toMatchObject({ status: 200, body: { data: { success: true } } })
        expect((await send({ generation_id: id, category: 'other' })).status).toBe(200)
        const organization_id = own().organization.id
        expect(await kept(id)).toEqual([
          { organization_id, category: 'latency', comment },
          { organization_id, category: 'other', comment: null },
        ])
      })

      test('S3 404 for an unknown generation, and for one of another organization', async () => {
        const foreign = await insert({}, server().foreign)
        for (const generation_id of [foreign, ...unknownIds]) {
          expect((await send({ generation_id, category: 'billing' })).status).toBe(404)
        }
        expect(await kept(foreign)).toEqual([])
        expect(
          (await send({ generation_id: foreign, category: 'billing' }, server().foreign.managementKey))
            .status,
        ).toBe(200)
      })

      test.each([
        ['category', {}],
        ['category', { category: 'rude' }],
        ['comment', { category: 'other', comment: 'x'.repeat(1001) }],
        ['comment', { category: 'other', comment: 7 }],
        ['generation_id', { category: 'other', generation_id: '' }],
        ['generation_id', { category: 'other', generation_id: 'x'.repeat(257) }],
        ['generation_id', { category: 'other', generation_id: undefined }],
        ['generation_id', { category: 'other', generation_id: null }],
      ])('R12 400 names %s in %j', async (field, change) => {
        const response = await send({ generation_id: await insert(), ...change })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(`${field}:`)
      })

      test('400 for text that no database keeps', async () => {
        const id = await insert()
        for (const comment of ['a\0b', '\ud800']) {
          expect((await send({ generation_id: id, category: 'other', comment })).status).toBe(400)
        }
        expect((await send({ generation_id: 'a\0b', category: 'other' })).status).toBe(400)
        expect(await kept(id)).toEqual([])
      })
    })

    test('a recreated key does not inherit the generations of a deleted one', async () => {
      const { gateway } = server()
      const tenant = await createTenant(gateway, 'Short-lived')
      const id = await insert({}, tenant)
      await insertContent(gateway, tenant, id)
      await gateway.db.deleteFrom('api_keys').where('hash', '=', sha256(tenant.inferenceKey)).execute()
      expect((await content(id, tenant.inferenceKey)).status).toBe(401)
      expect((await content(id, tenant.managementKey)).status).toBe(200)
    })
  },
  { settings },
)
