import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseKinds, describeOnEachDatabase } from '../../../test/support/harness.ts'
import { createLiteLlmDatabase, type LiteLlmSource } from '../../../test/support/litellm-database.ts'
import { toNanos, toWindow } from '../../api/imports/amounts.ts'
import type { ItemOutcome } from '../../api/imports/import-plan.ts'
import { litellm } from '../../api/imports/litellm/peer.ts'
import { checkLedger } from '../../ledger/check.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import type { CommandResult } from '../command.ts'
import { importPeerCommand } from './peer.ts'

interface ImportResult extends CommandResult {
  value: { plan: boolean; created: number; existing: number; skipped: number; items: ItemOutcome[] }
}

const secret = 'sk-Zx81mQv_27bTTpUJw3-LRg'
const token = (name: string) => sha256(`sk-${name}`)

const rows = {
  BudgetTable: [
    { budget_id: 'b-month', max_budget: 20.5, budget_duration: '30d', rpm_limit: 10 },
    { budget_id: 'b-forever', max_budget: 3 },
  ],
  OrganizationTable: [{ organization_id: 'o-1', organization_alias: 'Acme' }],
  TeamTable: [
    {
      team_id: 't-1-search',
      team_alias: 'Search & Ads',
      members_with_roles: [{ user_id: 'u-ada', role: 'admin' }, { user_id: null }],
      spend: 12.34,
      max_budget: 500,
      budget_duration: '1mo',
      tpm_limit: 100_000,
      models: ['sandbox/echo', 'gone'],
    },
    { team_id: 't-2-again', team_alias: 'search-ads', members_with_roles: {}, blocked: true },
    { team_id: 't-3-lost', team_alias: 'Lost', models: ['nowhere'] },
  ],
  UserTable: [
    {
      user_id: 'u-ada',
      user_email: 'ada@example.com',
      user_role: 'proxy_admin',
      max_budget: 40,
      spend: 1.1,
      budget_duration: '12d',
    },
    { user_id: 'default_user_id', user_role: 'proxy_admin' },
  ],
  VerificationToken: [
    {
      token: sha256(secret),
      key_name: 'sk-...3LRg',
      key_alias: 'Checkout',
      spend: 18.75,
      total_spend: 312.4000000001,
      max_budget: 50,
      budget_duration: '30d',
      expires: '2098-01-31T10:00:00',
      user_id: 'u-ada',
      team_id: 't-1-search',
      models: ['sandbox/echo'],
      metadata: { tags: ['project:apollo', 'beta', 'Bad Tag!'] },
      rpm_limit: 60,
      max_parallel_requests: 4,
    },
    { token: token('plain'), spend: 0.1 + 0.2, user_id: 'default_user_id', budget_id: 'b-month' },
    { token: token('blocked'), key_alias: 'Blocked team', team_id: 't-2-again', models: ['all-team-models'] },
    { token: token('expired'), key_alias: 'Expired', expires: '2020-01-01T00:00:00' },
    { token: token('manager'), key_alias: 'Manager', allowed_routes: ['management_routes'] },
    { token: token('ui'), key_alias: 'ui', team_id: 'litellm-dashboard' },
    { token: token('none'), key_alias: 'Nothing', models: ['nowhere'] },
    { token: 'sk-not-hashed', key_alias: 'Raw' },
    { token: token('lost'), key_alias: 'Lost', team_id: 't-3-lost' },
  ],
  TeamMembership: [{ user_id: 'u-ada', team_id: 't-1-search', spend: 2.5, budget_id: 'b-forever' }],
  EndUserTable: [
    { user_id: 'customer-1', spend: 7.25, budget_id: 'b-month' },
    { user_id: 'customer-2', blocked: true },
  ],
  // LiteLLM 1.106.2 encrypted these with LITELLM_SALT_KEY=sk-salt-for-tests, the second credential with AES-256-GCM.
  ProxyModelTable: [
    {
      model_id: 'm',
      model_name: 'secret-model',
      litellm_params: {
        model: 'C5O-FR3lOUcl-96eQ0K3ZPG3L_V_v8COB9bphdwU40iruegc5loa-xn4KwnIJ5mW1d40ieseKno2dXLq3GpK4g==',
        litellm_credential_name: 'yK-7uUY0RVw174DHo08sxkVN5WubtzWpkH9NtjtM9UpqIqQVBuMPS9hh_YE86vS9',
        rpm: 60,
      },
      model_info: { max_input_tokens: 8000 },
    },
  ],
  CredentialsTable: [
    {
      credential_id: 'c',
      credential_name: 'gpu-cred',
      credential_values: {
        api_base: 'c85_CxrJA9HUDx0gRDHuzt8tcars1TGtk9gdbS5x9Up3Dzr5oM50WLcGx1v8iSB3MV5dFKBj1JTArqLu_92XoQ==',
        api_key: 'v2:gcm:-ujlFiNJCl8QgjR3GBDRIpbtZcdnGcbsxp_roZa_wo_DbCIG8o9C7zw4Vu0pM7nFS3U=',
      },
    },
  ],
  TagTable: [{ tag_name: 'project:apollo', spend: 1.5, budget_id: 'b-forever' }],
}
const tagTable =
  '"LiteLLM_TagTable" (tag_name text primary key, spend double precision default 0, budget_id text, models text[])'

if (databaseKinds.includes('postgres'))
  describeOnEachDatabase('import litellm: the database', (server) => {
    let source: LiteLlmSource
    beforeAll(async () => {
      source = await createLiteLlmDatabase(rows, [tagTable])
    })
    afterAll(() => source.drop())

    const run = async (...args: string[]) => {
      const results: CommandResult[] = []
      const command = importPeerCommand(
        litellm,
        async (work) => void results.push(await work(server().gateway)),
      )
      command.exitOverride().configureOutput({ writeErr: () => undefined })
      await command.parseAsync(['--database', source.url, ...args], { from: 'user' })
      return results[0] as ImportResult
    }
    const list = ({ value }: ImportResult, outcome: ItemOutcome['outcome']) =>
      value.items.filter((item) => item.outcome === outcome).map(({ kind, name }) => `${kind} ${name}`)
    const get = async (path: string) => (await server().call('GET', path)).body.data

    test('a plan changes nothing; what it names is created once', async () => {
      const planned = await run()
      expect(planned.value.plan).toBe(true)
      expect((await server().call('GET', `/keys/${sha256(secret)}`)).status).toBe(404)
      const applied = await run('--apply')
      expect(applied.value.items).toEqual(planned.value.items)
      const suffix = sha256('t-2-again').slice(0, 6)
      expect(list(applied, 'created').sort()).toEqual(
        [
          'workspace search-ads',
          `workspace search-ads-${suffix}`,
          'member ada@example.com',
          'membership ada@example.com search-ads',
          'key Checkout',
          `key Key ${token('plain').slice(0, 8)}`,
          'key Blocked team',
          'limit search-ads: tokens per minute',
          'limit Checkout: requests per minute',
          'limit Checkout: concurrent requests',
          `limit Key ${token('plain').slice(0, 8)}: requests per minute`,
          'limit ada@example.com in search-ads: budget',
          'limit End user customer-1: budget',
          'limit End user customer-1: requests per minute',
          'limit Tag project:apollo: budget',
          'end user customer-2',
        ].sort(),
      )
      const again = await run('--apply')
      expect(again.value).toMatchObject({ created: 0, existing: applied.value.created })
    })

    test('what is not imported is named with the reason', async () => {
      const { value } = await run()
      const skipped = value.items.filter(({ outcome }) => outcome === 'skipped')
      const reasonsOf = (name: string) =>
        skipped.filter((item) => item.name === name).map(({ message }) => message)
      expect(reasonsOf('lost')).toEqual(['none of its models is here: nowhere'])
      expect(reasonsOf('Expired')).toEqual(['has expired'])
      expect(reasonsOf('Manager')).toEqual([expect.stringContaining('calls no models')])
      expect(reasonsOf('Nothing')).toEqual(['none of its models is here: nowhere'])
      expect(reasonsOf('Raw')).toEqual(['is not stored as a SHA-256'])
      expect(reasonsOf('Lost')).toEqual([expect.stringContaining('workspace')])
      expect(reasonsOf('Checkout')).toEqual(['some of its tags have characters that tags cannot have'])
      expect(reasonsOf('ada@example.com')).toEqual([
        'there is no window of 12d: the budget is monthly, which allows less',
        'was proxy_admin: members are imported without rights of admins',
      ])
      expect(reasonsOf('default_user_id')).toEqual([expect.stringContaining('no e-mail')])
      expect(reasonsOf('Acme')).toHaveLength(1)
      expect(reasonsOf('secret-model')).toEqual([expect.stringContaining('--salt-key-env')])
      expect(JSON.stringify(value)).not.toContain('sk-not-hashed')
    })

    test('budgets of workspaces, members, end users and tags go on where they were', async () => {
      const { data } = (await server().call('GET', '/limits/usage?limit=100')).body
      const used = Object.fromEntries(
        data.map((one: { name: string; counts: { used: number }[] }) => [one.name, one.counts[0]?.used]),
      )
      expect(used).toMatchObject({
        'ada@example.com in search-ads: budget': 2.5,
        'End user customer-1: budget': 7.25,
        'Tag project:apollo: budget': 1.5,
      })
      const { data: members } = (await server().call('GET', '/organization/members')).body
      const ada = members.find(({ email }: { email: string }) => email === 'ada@example.com')
      expect(await get(`/organization/members/${ada.id}`)).toMatchObject({
        role: 'org:member',
        limit: 40,
        limit_remaining: 38.9,
        limit_reset: 'monthly',
      })
      // The budget of the workspace, which has no name of its own.
      expect(used['Search & Ads']).toBe(12.34)
      expect(await get('/workspaces/search-ads/budgets')).toMatchObject([
        { limit_usd: 500, reset_interval: 'monthly' },
      ])
      const { findings } = await checkLedger(server().gateway.db)
      expect(findings.filter(({ violations }) => violations.length > 0)).toEqual([])
    })

    test('a second run brings budgets and spend up to date, and never counts twice', async () => {
      await source.run(`update "LiteLLM_VerificationToken" set spend = 20, total_spend = 320, max_budget = 60
        where key_alias = 'Checkout'`)
      await source.run(
        `update "LiteLLM_TeamTable" set spend = 15, max_budget = 600 where team_id = 't-1-search'`,
      )
      const key = () => get(`/keys/${sha256(secret)}`)
      const planned = await run()
      expect(list(planned, 'updated').sort()).toEqual(['key Checkout', 'workspace search-ads'])
      expect(await key()).toMatchObject({ limit: 50, usage: 312.4 })
      expect((await run('--apply')).value).toMatchObject({ updated: 2, created: 0 })
      expect(await key()).toMatchObject({ limit: 60, limit_remaining: 40, usage: 320, usage_monthly: 20 })
      expect((await run('--apply')).value).toMatchObject({ updated: 0, created: 0 })
      expect(await key()).toMatchObject({ usage: 320, usage_monthly: 20 })
      expect(await get('/workspaces/search-ads/budgets')).toMatchObject([{ limit_usd: 600 }])
      await server().call('PATCH', `/keys/${sha256(secret)}`, { body: { limit: 50 } })
      const { findings } = await checkLedger(server().gateway.db)
      expect(findings.filter(({ violations }) => violations.length > 0)).toEqual([])
      await source.run(`update "LiteLLM_VerificationToken" set spend = 18.75, total_spend = 320, max_budget = 70
        where key_alias = 'Checkout'`)
      const kept = await run('--apply')
      expect(kept.value.items.find(({ name }) => name === 'Checkout')?.message).toContain(
        'limit: was changed here',
      )
      expect(await key()).toMatchObject({ limit: 50, limit_remaining: 31.25 })
    })

    test('models that LiteLLM has encrypted are read with its salt key', async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'headgate-salt-')), '.env')
      writeFileSync(file, 'SALT=sk-salt-for-tests\nWRONG=sk-another\n')
      const wrong = await run('--env', file, '--salt-key-env', 'WRONG')
      expect(list(wrong, 'skipped')).toContain('model secret-model')
      const { value, text } = await run('--env', file, '--salt-key-env', 'SALT', '--apply')
      expect(list({ value, text }, 'created')).toEqual([
        'provider hosted-vllm-127.0.0.1-9001',
        'model litellm/secret-model',
        'alias secret-model',
      ])
      expect(text + JSON.stringify(value)).not.toContain('sk-upstream')
      expect(run('--salt-key-env', 'NOT_SET_HERE')).rejects.toThrow('NOT_SET_HERE is not set')
    })

    test('keys work unchanged, with their limits, tags, models and spend to the nano-dollar', async () => {
      const key = await get(`/keys/${sha256(secret)}`)
      expect(key).toMatchObject({
        name: 'Checkout',
        label: 'sk-...3LRg',
        limit: 50,
        limit_reset: 'monthly',
        limit_remaining: 31.25,
        usage: 320,
        usage_monthly: 18.75,
        expires_at: '2098-01-31T10:00:00.000Z',
        tags: { set: { project: 'apollo', beta: 'true' } },
      })
      const called = (model: string) =>
        server().call('POST', '/chat/completions', {
          key: secret,
          body: { model, messages: [{ role: 'user', content: 'Hello' }] },
        })
      expect((await called('sandbox/echo')).status).toBe(200)
      expect((await called('sandbox/reasoner')).status).toBe(403)
      const plain = await get(`/keys/${token('plain')}`)
      expect(plain).toMatchObject({ usage: 0.3, limit: 20.5, limit_reset: 'monthly' })
      expect((await get(`/keys/${token('blocked')}`)).disabled).toBe(true)
    })

    test('a database that cannot be read is an error without its address', async () => {
      const wrong = new URL(source.url)
      wrong.pathname = '/nowhere'
      wrong.password = 'hidden-password'
      const command = importPeerCommand(litellm, (work) => work(server().gateway).then(() => undefined))
      const failed = command.parseAsync(['--database', wrong.href], { from: 'user' })
      const message = await failed.then(String, String)
      expect(message).toContain('The database cannot be read')
      expect(message).not.toContain('hidden-password')
    })
  })

test('durations become windows that allow no more', () => {
  const windows = ['24h', '1d', '7d', '30d', '1mo', '90d', '1h', 'often'].map((text) => {
    const { window, isStricter } = toWindow(text)
    return `${window}${isStricter ? ' stricter' : ''}`
  })
  expect(windows).toEqual([
    'day',
    'day',
    'week',
    'month',
    'month',
    'lifetime stricter',
    'day stricter',
    'lifetime stricter',
  ])
  expect([0.1 + 0.2, 12.34, 1e-10, -3, null].map(toNanos)).toEqual([
    300_000_000n,
    12_340_000_000n,
    0n,
    0n,
    0n,
  ])
})
