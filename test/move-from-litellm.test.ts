import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ItemOutcome } from '../src/api/imports/import-plan.ts'
import { sha256 } from '../src/platform/crypto/crypto.ts'
import { createDatabase, type TestDatabase } from './support/databases.ts'
import { databaseKinds } from './support/harness.ts'
import { createLiteLlmDatabase, type LiteLlmSource } from './support/litellm-database.ts'
import { program } from './support/program.ts'
import { Program } from './support/running-program.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { waitUntil } from './support/wait-until.ts'

const counts = { teams: 10, models: 30, users: 20, keys: 200 }
const keysPerTeam = counts.keys / counts.teams
const timeoutMs = 240_000

/** What each request costs, by a reply of ten tokens at a tenth of a cent. */
const requestCents = 1
const reply = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'vendor-model' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 },
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const two = (index: number) => String(index + 1).padStart(2, '0')
const secretOf = (index: number) => `sk-Lite${String(index).padStart(4, '0')}mQv_27bTTpUJw3LRg`
const modelOf = (index: number) => `chat-${two(index % counts.models)}`
const keySpend = (index: number) => 0.25 + index * 1.37
/** The first key can pay for one request more; others have a budget that is far away, or none. */
const keyBudget = (index: number) => (index === 0 ? keySpend(0) + 0.015 : index % 2 === 0 ? 1000 : null)
const teamSpend = (team: number) => 100 + team * 7.77
/** The last team can pay for one request of each of its keys. */
const teamBudget = (team: number) =>
  team === counts.teams - 1 ? teamSpend(team) + (keysPerTeam * requestCents + 0.5) / 100 : 5000

const rows = {
  TeamTable: range(counts.teams).map((team) => ({
    team_id: `team-${two(team)}`,
    team_alias: `Team ${two(team)}`,
    members_with_roles: [{ user_id: `user-${two(team)}`, role: 'user' }],
    max_budget: teamBudget(team),
    budget_duration: '30d',
    spend: teamSpend(team),
  })),
  UserTable: range(counts.users).map((user) => ({
    user_id: `user-${two(user)}`,
    user_email: `user-${two(user)}@example.com`,
    user_role: 'internal_user',
    max_budget: 2000,
    budget_duration: '30d',
    spend: user * 3.21,
  })),
  VerificationToken: range(counts.keys).map((index) => ({
    token: sha256(secretOf(index)),
    key_name: `sk-...${secretOf(index).slice(-4)}`,
    key_alias: `key ${index}`,
    team_id: `team-${two(Math.floor(index / keysPerTeam))}`,
    user_id: `user-${two(index % counts.users)}`,
    spend: keySpend(index),
    total_spend: keySpend(index),
    ...(keyBudget(index) !== null && { max_budget: keyBudget(index), budget_duration: '30d' }),
    models: index % 10 === 0 ? [modelOf(index)] : [],
  })),
}

function buildConfig(url: string): string {
  const models = range(counts.models).map(
    (index) => `  - model_name: ${modelOf(index)}
    litellm_params:
      model: hosted_vllm/vendor-${two(index)}
      api_base: ${url}
      api_key: os.environ/VENDOR_KEY
    model_info: { max_input_tokens: 8000, max_output_tokens: 1000, input_cost_per_token: 0, output_cost_per_token: 0.001 }
`,
  )
  return `model_list:\n${models.join('')}general_settings: { master_key: os.environ/MASTER_KEY }\n`
}

interface Report {
  created: number
  updated: number
  existing: number
  skipped: number
  items: ItemOutcome[]
}

const countsOf = ({ created, updated, skipped }: Report) => ({ created, updated, skipped })
/** The master key is not imported. */
const unchanged = { created: 0, updated: 0, skipped: 1 }

const kinds = databaseKinds.includes('postgres') ? databaseKinds : []
const toCents = (usd: number) => Math.round(usd * 100)

for (const kind of kinds)
  describe(`a move from LiteLLM, by the commands of its page (${kind})`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-move-'))
    const dataDir = join(folder, 'data')
    const settings = join(folder, 'headgate.yaml')
    let upstream: Upstream
    let source: LiteLlmSource
    let target: TestDatabase | null = null
    let server: Program | null = null
    let url = ''
    let management = ''

    const environment = () => ({
      HEADGATE_DATA_DIR: dataDir,
      HEADGATE_CONFIG: settings,
      ...(target && { DATABASE_URL: target.url }),
    })
    const stop = async () => {
      server?.signal('SIGTERM')
      expect(await server?.exit()).toBe(0)
      server = null
    }
    const run = async (...args: string[]) => {
      const command = new Program([...program, ...args], environment())
      return { code: await command.end(), output: command.output }
    }
    const runImport = async (...more: string[]) => {
      const files = [join(folder, 'config.yaml'), '--env', join(folder, '.env'), '--database', source.url]
      const { code, output } = await run('--json', 'import', 'litellm', ...files, ...more)
      expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' })
      return JSON.parse(output.slice(output.indexOf('{'))) as Report
    }
    const get = async (path: string, key = management) => {
      const response = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
      // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
      return { status: response.status, body: (await response.json()) as any }
    }
    const send = async (index: number) => {
      const body = {
        model: modelOf(index),
        max_tokens: 10,
        messages: [{ role: 'user', content: 'Hello' }],
      }
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secretOf(index)}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: response.status, text: await response.text() }
    }
    const listUsed = async () => {
      const { body } = await get('/limits/usage?limit=100')
      return new Map<string, number>(
        body.data.map((one: { name: string; counts: { used: number }[] }) => [one.name, one.counts[0]?.used]),
      )
    }

    beforeAll(async () => {
      mkdirSync(dataDir)
      upstream = await startUpstream()
      upstream.setDefault({ json: reply })
      source = await createLiteLlmDatabase(rows)
      if (kind === 'postgres') target = await createDatabase()
      writeFileSync(settings, 'limits: { drain_delay: 0 }\n')
      writeFileSync(join(folder, 'config.yaml'), buildConfig(upstream.url))
      writeFileSync(join(folder, '.env'), 'VENDOR_KEY=vendor-secret-0123456789\nMASTER_KEY=sk-master\n')
    }, timeoutMs)

    afterAll(async () => {
      if (server) await stop()
      await upstream.stop()
      await source.drop()
      await target?.drop()
      rmSync(folder, { recursive: true, force: true })
    }, timeoutMs)

    test(
      'a new installation takes over models, teams, users and keys with what they have spent',
      async () => {
        server = new Program([...program, 'serve'], environment())
        url = await server.url()
        management = (await server.says(/Management key +(sk-hg-v1-[0-9a-f]{64})/))[1] ?? ''

        const plan = await runImport()
        expect(plan.items.filter(({ outcome }) => outcome !== 'created')).toMatchObject([
          { name: 'general_settings master_key', outcome: 'skipped' },
        ])
        const applied = await runImport('--apply')
        expect(applied.items).toEqual(plan.items)
        const created = Map.groupBy(applied.items, (item) => item.kind)
        for (const [one, count] of Object.entries({ workspace: 10, member: 20, key: 200, model: 30 }))
          expect([one, created.get(one)?.length]).toEqual([one, count])

        const used = await listUsed()
        for (const team of range(counts.teams))
          expect([team, toCents(used.get(`Team ${two(team)}`) ?? -1)]).toEqual([
            team,
            toCents(teamSpend(team)),
          ])
        for (const index of range(counts.keys)) {
          const { status, body } = await get('/key', secretOf(index))
          expect({ index, status, cents: toCents(body.data?.usage), limit: body.data?.limit }).toEqual({
            index,
            status: 200,
            cents: toCents(keySpend(index)),
            limit: keyBudget(index),
          })
        }
      },
      timeoutMs,
    )

    test(
      'every secret works unchanged, and what it spends is added',
      async () => {
        // A running server reads the catalog within two seconds.
        await waitUntil(async () => {
          const { data } = (await get('/models')).body as { data: { id: string }[] }
          return data.some(({ id }) => id === `litellm/${modelOf(counts.models - 1)}`)
        })
        for (const index of range(counts.keys))
          expect({ index, ...(await send(index)) }).toMatchObject({ index, status: 200 })
        const called = upstream.requests.map(({ json }) => json.model)
        expect(called).toEqual(range(counts.keys).map((index) => `vendor-${two(index % counts.models)}`))
        for (const index of [0, 57, counts.keys - 1])
          expect(toCents((await get('/key', secretOf(index))).body.data.usage)).toBe(
            toCents(keySpend(index)) + requestCents,
          )
        const used = await listUsed()
        for (const team of range(counts.teams))
          expect(toCents(used.get(`Team ${two(team)}`) ?? -1)).toBe(
            toCents(teamSpend(team)) + keysPerTeam * requestCents,
          )
      },
      timeoutMs,
    )

    test(
      'budgets of keys and teams, and the models of a key, hold',
      async () => {
        const before = upstream.requests.length
        expect((await send(0)).status).toBe(402)
        expect(await send(counts.keys - 1)).toMatchObject({
          status: 403,
          text: expect.stringMatching(/budget/i),
        })
        expect(upstream.requests).toHaveLength(before)
        const other = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${secretOf(10)}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: modelOf(11), messages: [{ role: 'user', content: 'Hello' }] }),
        })
        expect(other.status).toBe(403)
        expect((await send(1)).status).toBe(200)
      },
      timeoutMs,
    )

    test(
      'a second run changes nothing, with the server and without it, and the ledger is consistent',
      async () => {
        const again = await runImport('--apply')
        expect(countsOf(again)).toEqual(unchanged)
        const usage = (await get('/key', secretOf(5))).body.data.usage
        await stop()
        expect(countsOf(await runImport('--apply'))).toEqual(unchanged)
        const checked = await run('check-ledger')
        expect({ ...checked, output: checked.code === 0 ? '' : checked.output }).toEqual({
          code: 0,
          output: '',
        })
        server = new Program([...program, 'serve'], environment())
        url = await server.url()
        expect((await get('/key', secretOf(5))).body.data.usage).toBe(usage)
      },
      timeoutMs,
    )
  })
