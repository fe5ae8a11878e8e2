import { describe, expect, test } from 'bun:test'
import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

const canary = 'canary-5ecret-value-0123456789'

/** Every provider name the API documents for credentials. */
const documented = `
  ai21 aion-labs akashml alibaba amazon-bedrock amazon-bedrock/vendor_a-on-aws amazon-nova ambient
  vendor_a vendor_a/2 arcee-ai assemblyai atlas-cloud avian azure baidu baseten black-forest-labs
  byteplus cerebras chutes cirrascale clarifai vendor_a-on-aws cloudflare cohere coreweave cosine
  crusoe darkbloom databricks decart deepgram deepinfra deepseek dekallm digitalocean featherless
  fireworks fish-audio friendli gmicloud vendor_c-studio vendor_c-cloud groq heygen inception
  inceptron inferact-vllm inference-net infermatic inflection io-net ionstream krea liquid makora
  mancer mara meta minimax mistral modal modelrun modular moonshotai morph near-ai nebius nex-agi
  nextbit novita nvidia ollama open-inference vendor_b parasail perceptron perplexity phala poolside
  primeintellect quiver recraft reka relace runway sail-research sakana sakana-ai sambanova seed
  siliconflow sourceful stepfun streamlake switchpoint tencent tenstorrent thinkingmachines together
  typesafe unbiased upstage venice voyageai wafer wandb wandb-legacy vendor_d xiaomi z-ai
`
  .trim()
  .split(/\s+/)

const settings = `
models:
  - { id: acme/fast-2, canonical_slug: acme/fast-2-20260101, aliases: [acme/quick], name: Fast, context_length: 1000,
      endpoints: [{ provider: sandbox, upstream_model: echo }] }
`

describeOnEachDatabase(
  'BYOK',
  (server) => {
    const call = (method: string, path = '', body?: unknown) =>
      server().call(method, `/byok${path}`, body === undefined ? {} : { body })
    const create = async (more: Record<string, unknown> = {}) => {
      const response = await call('POST', '', { provider: 'groq', key: canary, ...more })
      expect(response.status).toBe(201)
      return response.body.data
    }
    const workspace = async () => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      return (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
        .id as string
    }
    const row = (id: string) =>
      server().gateway.db.selectFrom('byok_keys').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const key = async (workspace_id?: string) =>
      (await server().call('POST', '/keys', { body: { name: 'k', workspace_id } })).body.data.hash as string

    describe('POST /byok', () => {
      test('a key of another workspace is 400, and a deleted key leaves the list', async () => {
        const workspace_id = await workspace()
        const hash = await key()
        const refused = await call('POST', '', {
          provider: 'groq',
          key: canary,
          workspace_id,
          allowed_api_key_hashes: [hash],
        })
        expect([refused.status, refused.body.error.message]).toEqual([
          400,
          `allowed_api_key_hashes.0: ${hash} is not an API key of this workspace`,
        ])
        const { id } = await create({ allowed_api_key_hashes: [hash] })
        await server().call('DELETE', `/keys/${hash}`)
        expect((await call('GET', `/${id}`)).body.data.allowed_api_key_hashes).toEqual([])
        await call('DELETE', `/${id}`)
      })

      test('absent fields have defaults, in the default workspace', async () => {
        expect(await create({ provider: 'cerebras' })).toEqual({
          id: expect.any(String),
          workspace_id: server().own.workspace.id,
          provider: 'cerebras',
          name: null,
          label: 'can********789',
          disabled: false,
          is_fallback: false,
          is_required: false,
          is_byok_only: false,
          declared_zdr: null,
          allowed_models: null,
          allowed_api_key_hashes: null,
          allowed_user_ids: null,
          sort_order: 0,
          created_at: expect.any(String),
        })
      })

      test('every field is stored', async () => {
        const workspace_id = await workspace()
        const values = {
          name: 'EU account',
          disabled: true,
          is_fallback: true,
          is_required: true,
          declared_zdr: false,
          allowed_api_key_hashes: [await key(workspace_id)],
          allowed_user_ids: [server().own.owner.id],
          workspace_id,
        }
        const made = await create(values)
        expect(made).toMatchObject(values)
        expect((await call('GET', `/${made.id}`)).body.data).toEqual(made)
      })

      test('the key can be opened from its own row alone', async () => {
        const made = await create()
        const { sealed_key } = await row(made.id)
        const { vault } = server().gateway
        expect(vault.decrypt(sealed_key ?? '', `byok/${made.id}`)).toBe(canary)
        expect(() => vault.decrypt(sealed_key ?? '', `byok/${crypto.randomUUID()}`)).toThrow()
      })

      test.each([
        ['key missing', { key: undefined }, 'key'],
        ['key empty', { key: '' }, 'key'],
        ['key of spaces', { key: '  ' }, 'key'],
        ['key with a control character', { key: 'a\u0007b' }, 'key'],
        ['key too long', { key: 'x'.repeat(16 * 1024 + 1) }, 'key'],
        ['provider missing', { provider: undefined }, 'provider'],
        ['provider unknown', { provider: 'nobody' }, 'provider'],
        ['provider without keys', { provider: 'sandbox' }, 'provider'],
        ['provider by display name', { provider: 'amazon bedrock' }, 'provider'],
        ['provider of every object', { provider: 'constructor' }, 'provider'],
        ['name too long', { name: 'x'.repeat(256) }, 'name'],
        ['hashes empty', { allowed_api_key_hashes: [] }, 'allowed_api_key_hashes'],
        ['a hash in capitals', { allowed_api_key_hashes: ['A'.repeat(64)] }, 'allowed_api_key_hashes.0'],
        ['a hash of no key', { allowed_api_key_hashes: ['a'.repeat(64)] }, 'allowed_api_key_hashes.0'],
        ['an unknown model', { allowed_models: ['sandbox/echo', 'no/model'] }, 'allowed_models.1'],
        ['101 models', { allowed_models: Array(101).fill('sandbox/echo') }, 'allowed_models'],
        ['a user who is no member', { allowed_user_ids: ['user_nobody'] }, 'allowed_user_ids.0'],
        ['101 users', { allowed_user_ids: Array(101).fill('user') }, 'allowed_user_ids'],
        ['fallback and only', { is_fallback: true, is_byok_only: true }, 'is_byok_only'],
        ['workspace_id null', { workspace_id: null }, 'workspace_id'],
        ['R12 sort_order', { sort_order: 1 }, 'sort_order'],
      ])('400 naming the field: %s', async (_, more, field) => {
        const response = await call('POST', '', { provider: 'groq', key: 'k', ...more })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(field)
      })

      test('a key or member of another organization is none of ours', async () => {
        const { inferenceKey, owner } = server().foreign
        for (const more of [
          { allowed_api_key_hashes: [sha256(inferenceKey)] },
          { allowed_user_ids: [owner.id] },
        ]) {
          expect((await call('POST', '', { provider: 'groq', key: 'k', ...more })).status).toBe(400)
        }
        const workspace_id = server().foreign.workspace.id
        expect((await call('POST', '', { provider: 'groq', key: 'k', workspace_id })).status).toBe(403)
      })

      test('models are stored by their canonical slugs, each once', async () => {
        const allowed_models = ['acme/fast-2', 'acme/quick', 'acme/fast-2-20260101']
        expect((await create({ allowed_models })).allowed_models).toEqual(['acme/fast-2-20260101'])
      })

      test.each([
        ['vendor_a', 'anthropic'],
        ['vendor_b', 'openai'],
        ['vendor_c', 'google-ai-studio'],
        ['vendor_d', 'xai'],
        ['vendor_c-studio', 'google-ai-studio'],
        ['vendor_c-cloud', 'google-vertex'],
        ['openai', 'openai'],
        ['databricks', 'databricks'],
        ['amazon-bedrock/vendor_a-on-aws', 'amazon-bedrock/vendor_a-on-aws'],
        ['exa', 'exa'],
        ['firecrawl', 'firecrawl'],
        ['parallel', 'parallel'],
      ])('the provider %s is stored as %s', async (provider, kept) => {
        expect((await create({ provider })).provider).toBe(kept)
      })
    })

    test('a key of a search engine is bound to its address', async () => {
      const { id } = await create({ provider: 'exa' })
      expect((await row(id)).origin).toBe('https://api.exa.ai')
      for (const provider of ['searxng', 'sandbox'])
        expect((await call('POST', '', { provider, key: 'k' })).status).toBe(400)
    })

    describe('credential formats', () => {
      const account = {
        type: 'service_account',
        project_id: 'p',
        private_key_id: 'key-id-0123456789-abcdef',
        private_key: '-----BEGIN PRIVATE KEY-----\n5ecret\n-----END PRIVATE KEY-----\n',
        client_email: 'x@p.iam.gserviceaccount.com',
        token_uri: 'https://oauth2.googleapis.com/token',
      }
      const access = { accessKeyId: 'AKIA0123456789EXAMPLE', secretAccessKey: '5ecret', region: 'eu-west-1' }
      const resource = { api_key: canary, resource_name: 'my-resource', resource_type: 'ai_foundry' }
      const legacy = {
        model_slug: 'openai/gpt',
        endpoint_url: 'https://x.openai.azure.com/y',
        api_key: 'k',
        model_id: 'm',
      }

      test.each([
        ['azure', [resource, legacy], 'can********789'],
        ['azure', [legacy], '********'],
        ['amazon-bedrock', access, 'AKI********PLE'],
        ['google-vertex', account, 'key********def'],
        ['google-vertex', { ...account, region: 'europe-west1', bucket: 'b' }, 'key********def'],
      ])('%s takes its JSON', async (provider, value, label) => {
        expect((await create({ provider, key: JSON.stringify(value, null, 2) })).label).toBe(label)
        expect((await create({ provider, key: canary })).label).toBe('can********789')
      })

      test.each([
        ['azure', [], 'key'],
        ['azure', resource, 'key'],
        ['azure', [{ api_key: '5ecret' }], 'key.0'],
        ['azure', [{ ...legacy, endpoint_url: 'http://5ecret' }], 'key.0.endpoint_url'],
        ['amazon-bedrock', { ...access, region: '5ecret!' }, 'key.region'],
        ['amazon-bedrock', { accessKeyId: '5ecret' }, 'key.secretAccessKey'],
        ['amazon-bedrock', { ...access, accessKeyId: '5ecret\n' }, 'key.accessKeyId'],
        ['google-vertex', { ...account, private_key: '5ecret' }, 'key.private_key'],
        ['google-vertex', { ...account, type: '5ecret' }, 'key.type'],
      ])('400 for %s with %o, without repeating it', async (provider, value, field) => {
        const { status, body } = await call('POST', '', { provider, key: JSON.stringify(value) })
        expect(status).toBe(400)
        expect(body.error.message).toStartWith(`${field}:`)
        expect(JSON.stringify(body)).not.toContain('5ecret')
      })

      test('400 for what starts like JSON and is none', async () => {
        const { status, body } = await call('POST', '', { provider: 'azure', key: '[{5ecret' })
        expect(status).toBe(400)
        expect(JSON.stringify(body)).not.toContain('5ecret')
      })
    })

    describe('GET /byok', () => {
      test('lists a workspace by provider, in the order they are tried', async () => {
        const workspace_id = await workspace()
        for (const [provider, name] of [
          ['together', '1'],
          ['cohere', '2'],
          ['together', '3'],
        ])
          await create({ workspace_id, provider, name })
        const list = async (query: string) => {
          const { body } = await call('GET', `?workspace_id=${workspace_id}${query}`)
          return [body.data.map((one: { name: string }) => one.name), body.total_count]
        }
        expect(await list('')).toEqual([['2', '1', '3'], 3])
        expect(await list('&provider=together')).toEqual([['1', '3'], 2])
        expect(await list('&offset=1&limit=1')).toEqual([['1'], 3])
        expect((await call('GET', '?provider=nobody')).status).toBe(400)
        const named = await call('GET', '?provider=vendor_a&limit=100')
        expect(named.body.data.every((one: { provider: string }) => one.provider === 'anthropic')).toBe(true)
      })

      test('every documented provider name is known', async () => {
        const rejected = []
        for (const name of documented) {
          const { status } = await call('GET', `?provider=${encodeURIComponent(name)}`)
          if (status !== 200) rejected.push(name)
        }
        expect(rejected).toEqual([])
        expect(documented).toHaveLength(112)
      })

      test('R37 404 for an unknown id, and for another organization', async () => {
        const { body } = await server().call('POST', '/byok', {
          body: { provider: 'groq', key: 'k' },
          key: server().foreign.managementKey,
        })
        for (const id of [body.data.id, crypto.randomUUID()]) {
          expect((await call('GET', `/${id}`)).status).toBe(404)
          expect((await call('PATCH', `/${id}`, { disabled: true })).status).toBe(404)
          expect((await call('DELETE', `/${id}`)).status).toBe(404)
        }
      })
    })

    describe('PATCH /byok/{id}', () => {
      test('only the fields sent change, null clears, a list replaces', async () => {
        const made = await create({ name: 'n', allowed_models: ['sandbox/echo'], declared_zdr: true })
        const renamed = await call('PATCH', `/${made.id}`, { name: 'm' })
        expect(renamed.body.data).toEqual({ ...made, name: 'm' })
        expect((await call('PATCH', `/${made.id}`, {})).body.data).toEqual(renamed.body.data)
        const changes = { name: null, declared_zdr: null, allowed_models: null }
        expect((await call('PATCH', `/${made.id}`, changes)).body.data).toMatchObject(changes)
        const users = { allowed_user_ids: [server().own.owner.id] }
        expect((await call('PATCH', `/${made.id}`, users)).body.data).toMatchObject(users)
      })

      test('a masked value is not a key: sending the label back is rejected, and the key stays unchanged', async () => {
        const made = await create({ provider: 'groq', key: canary })
        const response = await server().call('PATCH', `/byok/${made.id}`, {
          body: { key: ` ${made.label} ` },
        })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith('key')
      })

      test('a new key rotates in place and makes a new label', async () => {
        const made = await create()
        const { body } = await call('PATCH', `/${made.id}`, { key: 'new-credential-9876543210' })
        expect(body.data).toEqual({ ...made, label: 'new********210' })
        const { sealed_key } = await row(made.id)
        expect(server().gateway.vault.decrypt(sealed_key ?? '', `byok/${made.id}`)).toBe(
          'new-credential-9876543210',
        )
      })

      test('is_fallback and is_byok_only cannot be combined, in one request or two', async () => {
        const made = await create({ is_fallback: true })
        const response = await call('PATCH', `/${made.id}`, { is_byok_only: true })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith('is_byok_only')
        const both = { is_fallback: false, is_byok_only: true }
        expect((await call('PATCH', `/${made.id}`, both)).body.data).toMatchObject(both)
      })

      test('a race of fallback and only has one winner', async () => {
        const made = await create()
        const responses = await Promise.all([
          call('PATCH', `/${made.id}`, { is_fallback: true }),
          call('PATCH', `/${made.id}`, { is_byok_only: true }),
        ])
        expect(responses.map(({ status }) => status).sort()).toEqual([200, 400])
      })

      test.each([
        ['provider stays', { provider: 'groq' }, 'provider'],
        ['workspace_id stays', { workspace_id: crypto.randomUUID() }, 'workspace_id'],
        ['key null', { key: null }, 'key'],
        ['hashes empty', { allowed_api_key_hashes: [] }, 'allowed_api_key_hashes'],
        ['an unknown model', { allowed_models: ['no/model'] }, 'allowed_models.0'],
      ])('400 naming the field: %s', async (_, body, field) => {
        const made = await create()
        const response = await call('PATCH', `/${made.id}`, body)
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(field)
      })
    })

    test('S13 409 beyond what a workspace may have for one provider, however many race', async () => {
      const workspace_id = await workspace()
      const body = { provider: 'mistral', key: canary, workspace_id }
      const responses = await Promise.all(Array.from({ length: 52 }, () => call('POST', '', body)))
      const made = responses.filter(({ status }) => status === 201)
      expect(made).toHaveLength(50)
      expect(responses.filter(({ status }) => status === 409)).toHaveLength(2)
      await call('DELETE', `/${made[0]?.body.data.id}`)
      await create(body)
      await create({ ...body, provider: 'cohere' })
    })

    test('sort_order counts up within workspace and provider, however many race', async () => {
      const workspace_id = await workspace()
      const made = await Promise.all(Array.from({ length: 8 }, () => create({ workspace_id })))
      expect(made.map((one) => one.sort_order).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      expect((await create({ workspace_id, provider: 'cohere' })).sort_order).toBe(0)
    })

    test('DELETE keeps the row and wipes the key material', async () => {
      const made = await create()
      expect((await call('DELETE', `/${made.id}`)).body).toEqual({ deleted: true })
      expect((await call('GET', `/${made.id}`)).status).toBe(404)
      expect((await call('DELETE', `/${made.id}`)).status).toBe(404)
      expect(await row(made.id)).toMatchObject({ sealed_key: null, label: '********', disabled: 1 })
    })

    test('R40 S12 a planted credential is in no response, no log line and no row', async () => {
      const lines: string[] = []
      const stream = new Writable({
        write: (chunk, _, done) => {
          lines.push(String(chunk))
          done()
        },
      })
      const gateway = server().gateway as { log: Logger }
      gateway.log = pino({ level: 'trace' }, stream)
      const responses: unknown[] = []
      const keep = async (method: string, path: string, body?: unknown) => {
        const response = await call(method, path, body)
        responses.push(response.body, [...response.headers])
        return response.body
      }
      const { data } = await keep('POST', '', { provider: 'groq', key: canary })
      await keep('GET', `/${data.id}`)
      await keep('GET', '')
      await keep('PATCH', `/${data.id}`, { key: `${canary}-2` })
      await keep('PATCH', `/${data.id}`, { key: `${canary}\u0007` })
      await keep('POST', '', { provider: 'azure', key: `[{"api_key":"${canary}"}]` })
      await keep('POST', '', { provider: 'groq', key: { nested: canary } })
      const { db } = server().gateway
      const tables = await db.introspection.getTables()
      const rows = await Promise.all(
        tables.map(({ name }) =>
          db
            .selectFrom(name as 'byok_keys')
            .selectAll()
            .execute(),
        ),
      )
      const dump = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
      expect(dump).toContain(data.id)
      for (const text of [JSON.stringify(responses), lines.join(''), dump])
        expect(text).not.toContain('5ecret')
    })
  },
  { settings },
)
