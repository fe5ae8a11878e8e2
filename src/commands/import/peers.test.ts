import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { peers } from '../../api/imports/peers.ts'
import type { ImportReport } from '../../api/imports/run-import.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { importPeerCommand } from './peer.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-peers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, content: unknown) => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** A SQLite file with the columns that the schema of the peer declares and an import reads. */
function createStore(name: string, tables: Record<string, Record<string, unknown>[]>): string {
  const path = join(folder, name)
  rmSync(path, { force: true })
  const database = new Database(path)
  for (const [table, rows] of Object.entries(tables)) {
    const columns = Object.keys(Object.assign({}, ...rows) as object)
    database.run(`create table "${table}" (${columns.map((column) => `"${column}"`).join(', ')})`)
    for (const row of rows) {
      const values = columns.map((column) => (row[column] ?? null) as string | number | null)
      database.run(`insert into "${table}" values (${columns.map(() => '?').join(', ')})`, values)
    }
  }
  database.close()
  return path
}

const channel = { status: 1, weight: 0, base_url: '', group: 'default', model_mapping: '', priority: 0 }
const newApiTables = {
  channels: [
    {
      ...channel,
      id: 1,
      type: 14,
      key: 'sk-ant-channel-0123456789',
      name: 'Claude',
      models: 'claude-new',
      group: 'default,vip',
    },
    {
      ...channel,
      ...{
        id: 2,
        type: 1,
        key: 'one-0123456789\ntwo-0123456789',
        name: 'Local',
        base_url: 'http://127.0.0.1:9100',
      },
      ...{ models: 'qwen,qwen-big', model_mapping: '{"qwen-big":"qwen3-235b"}', group: 'vip', weight: 3 },
    },
    { ...channel, id: 3, type: 2, key: 'x', name: 'Midjourney', models: 'mj' },
    { ...channel, id: 4, type: 1, key: 'x', name: 'Off', models: 'gpt-4o', status: 2 },
  ],
  users: [
    {
      id: 1,
      username: 'root',
      role: 100,
      status: 1,
      email: 'root@example.com',
      quota: 1_000_000,
      used_quota: 500_000,
      group: 'default',
      deleted_at: null,
    },
    {
      id: 2,
      username: 'bob',
      role: 1,
      status: 1,
      email: '',
      quota: 4_000_000,
      used_quota: 1_000_000,
      group: 'vip',
      deleted_at: null,
    },
  ],
  tokens: [
    {
      id: 1,
      user_id: 1,
      key: 'Zx81mQv27bTTpUJw3LRgAAAABBBBCCCCDDDDEEEEFFFFGGGG',
      status: 1,
      name: 'App',
      expired_time: -1,
      remain_quota: 250_000,
      unlimited_quota: 0,
      used_quota: 250_000,
      model_limits_enabled: 1,
      model_limits: 'claude-new,gone',
      allow_ips: '10.0.0.1',
      group: '',
      deleted_at: null,
    },
    {
      id: 2,
      user_id: 2,
      key: 'Yx81mQv27bTTpUJw3LRgAAAABBBBCCCCDDDDEEEEFFFFGGGG',
      status: 1,
      name: 'Bob',
      expired_time: -1,
      remain_quota: 0,
      unlimited_quota: 1,
      used_quota: 1_000_000,
      model_limits_enabled: 0,
      model_limits: '',
      allow_ips: '',
      group: '',
      deleted_at: null,
    },
    {
      id: 3,
      user_id: 2,
      key: 'old',
      status: 1,
      name: 'Old',
      expired_time: 1,
      remain_quota: 0,
      unlimited_quota: 1,
      used_quota: 0,
      model_limits_enabled: 0,
      model_limits: '',
      allow_ips: '',
      group: '',
      deleted_at: null,
    },
  ],
  options: [
    { key: 'GroupRatio', value: '{"default":1,"vip":0.8}' },
    { key: 'ModelRatio', value: '{"qwen":0.5}' },
  ],
}
const appSecret = `sk-${newApiTables.tokens[0]?.key}`
const bobSecret = `sk-${newApiTables.tokens[1]?.key}`

/** The same rows as `mysqldump` writes them. */
function toMysqlDump(tables: Record<string, Record<string, unknown>[]>): string {
  const encode = (value: unknown) =>
    value === null
      ? 'NULL'
      : typeof value === 'number'
        ? String(value)
        : `'${String(value).replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('"', '\\"')}'`
  const statements = Object.entries(tables).map(([name, rows]) => {
    const columns = Object.keys(rows[0] as object)
    const declared = columns.map((column) => `  \`${column}\` longtext COMMENT 'a, b)',`).join('\n')
    const values = rows.map((row) => `(${columns.map((column) => encode(row[column])).join(',')})`)
    return `CREATE TABLE \`${name}\` (\n${declared}\n  PRIMARY KEY (\`id\`)\n) ENGINE=InnoDB;\nINSERT INTO \`${name}\` VALUES ${values.join(',')};`
  })
  return `-- MySQL dump 10.13\n/*!40101 SET NAMES utf8mb4 */;\nINSERT INTO \`logs\` VALUES (1,'it\\'s; here');\n${statements.join('\n')}\n`
}

const bifrostConfig = {
  $schema: 'https://www.getbifrost.ai/schema',
  providers: {
    openai: { keys: [{ name: 'main', value: 'env.BIFROST_OPENAI', models: ['gpt-4o'], weight: 0.5 }] },
    local: {
      keys: [{ name: 'gpu', value: 'gpu-0123456789', models: ['qwen'], weight: 1 }],
      network_config: { base_url: 'http://127.0.0.1:9200', max_retries: 2 },
      custom_provider_config: { base_provider_type: 'openai' },
    },
    vertex: { keys: [{ name: 'v', models: ['gemini'], vertex_key_config: { project_id: 'p' } }] },
  },
  governance: {
    customers: [{ id: 'c', name: 'Acme', budget_id: 'b-c', rate_limit_id: 'r' }],
    teams: [{ id: 't', name: 'Engineering', customer_id: 'c', budget_id: 'b-t' }],
    budgets: [
      { id: 'b-c', max_limit: 5000, reset_duration: '1M', current_usage: 12.5 },
      { id: 'b-t', max_limit: 1000, reset_duration: '1M', current_usage: 7.25 },
    ],
    rate_limits: [
      {
        id: 'r',
        request_max_limit: 100,
        request_reset_duration: '1h',
        token_max_limit: 5000,
        token_reset_duration: '90s',
      },
    ],
    virtual_keys: [
      {
        id: 'v',
        name: 'Engineering key',
        value: 'sk-bf-engineering-Zx81mQv27b',
        is_active: true,
        team_id: 't',
        provider_configs: [{ provider: 'local', allowed_models: ['qwen'] }],
      },
      { id: 'w', name: 'No provider', value: 'sk-bf-nothing-Zx81mQv27bTTp' },
    ],
    routing_rules: [
      {
        id: '1',
        name: 'Split',
        enabled: true,
        cel_expression: "model == 'smart'",
        scope: 'global',
        targets: [
          { provider: 'local', model: 'qwen', weight: 0.7 },
          { provider: 'openai', model: 'gpt-4o', weight: 0.3 },
        ],
      },
      {
        id: '2',
        name: 'Budget',
        enabled: true,
        cel_expression: 'budget_used > 80',
        scope: 'global',
        targets: [],
      },
    ],
  },
}

describeOnEachDatabase('import', (server) => {
  const run = async (name: string, ...args: string[]) => {
    const reports: ImportReport[] = []
    const peer = peers.find((one) => one.name === name)
    if (!peer) throw new Error(`no peer ${name}`)
    const command = importPeerCommand(peer, async (work) => {
      const { value, text } = await work(server().gateway)
      expect(`${text}${JSON.stringify(value)}`).not.toMatch(
        /sk-ant-channel|one-0123|two-0123|gpu-0123|Zx81mQv/,
      )
      reports.push(value as ImportReport)
    })
    command.exitOverride().configureOutput({ writeErr: () => undefined })
    await command.parseAsync(args, { from: 'user' })
    return reports[0] as ImportReport
  }
  const list = ({ items }: ImportReport, outcome: string) =>
    items.filter((item) => item.outcome === outcome).map(({ kind, name }) => `${kind} ${name}`)
  const reasons = ({ items }: ImportReport) =>
    items
      .filter(({ outcome }) => outcome === 'skipped')
      .map(({ kind, name, message }) => `${kind} ${name}: ${message}`)
  const find = async (secret: string) => (await server().call('GET', `/keys/${sha256(secret)}`)).body.data

  test('new-api: a SQLite file, then a dump of MySQL with the same and more spend', async () => {
    const file = createStore('new-api.db', newApiTables)
    const planned = await run('new-api', file)
    expect(planned.plan).toBe(true)
    expect(await find(appSecret)).toBeUndefined()
    const applied = await run('new-api', file, '--apply')
    expect(applied.items).toEqual(planned.items)
    expect(list(applied, 'created')).toEqual([
      'provider anthropic',
      'provider openai-127.0.0.1-9100',
      expect.stringMatching(/^provider openai-127\.0\.0\.1-9100-[0-9a-f]{6}$/),
      'model new-api/claude-new',
      'model new-api/qwen',
      'model new-api/qwen-big',
      'alias claude-new',
      'alias qwen',
      'alias qwen-big',
      'workspace vip',
      'member root@example.com',
      'key App',
      'key Bob',
      'limit User bob: quota',
    ])
    expect(reasons(applied)).toEqual([
      'setting Local: weight: weights divide requests among models, as `targets` of a model alias: docs/model-aliases.md',
      'channel Midjourney: there is no provider for channels of type 2',
      'channel Off: is disabled there',
      expect.stringContaining('setting group default: its keys may use the models of all groups'),
      'member root@example.com: was an admin: members are imported without rights of admins',
      expect.stringContaining('member bob: has no e-mail address'),
      expect.stringContaining('key App: its addresses are not restricted here'),
      'key Old: has expired',
      expect.stringContaining('setting GroupRatio vip: prices are not multiplied by 0.8'),
    ])
    expect(await find(appSecret)).toMatchObject({ limit: 1, usage: 0.5, label: 'sk-Zx8...GGGG' })
    expect(await find(bobSecret)).toMatchObject({ limit: null, usage: 2, tags: { set: { user: 'bob' } } })
    const dump = {
      ...newApiTables,
      tokens: newApiTables.tokens.map((token) => ({ ...token, used_quota: token.used_quota + 50_000 })),
    }
    const again = await run('new-api', write('new-api.sql', toMysqlDump(dump)), '--apply')
    expect(again).toMatchObject({ created: 0, updated: 2 })
    expect(await find(appSecret)).toMatchObject({ usage: 0.6, limit: 1.1 })
    expect((await run('new-api', join(folder, 'new-api.sql'), '--apply')).updated).toBe(0)
    expect(await find(bobSecret)).toMatchObject({ usage: 2.1 })
  })

  test('one-api: its own numbers of channels', async () => {
    const file = createStore('one-api.db', {
      channels: [
        { ...channel, id: 1, type: 29, key: 'gsk-0123456789abcdef', name: 'Groq', models: 'llama-x' },
      ],
      users: [
        {
          id: 1,
          username: 'ann',
          role: 1,
          status: 2,
          email: 'ann@example.com',
          quota: 0,
          used_quota: 0,
          group: 'default',
        },
      ],
      tokens: [
        {
          id: 1,
          user_id: 1,
          key: 'Ax81mQv27bTTpUJw3LRgAAAABBBBCCCCDDDDEEEEFFFFGGGG',
          status: 1,
          name: 'Ann',
          expired_time: -1,
          remain_quota: 500_000,
          unlimited_quota: 0,
          used_quota: 0,
          models: 'llama-x',
          subnet: '',
        },
      ],
    })
    const applied = await run('one-api', file, '--apply')
    expect(list(applied, 'created')).toEqual([
      'provider groq',
      'model one-api/llama-x',
      'alias llama-x',
      'member ann@example.com',
      'key Ann',
    ])
    expect(await find('sk-Ax81mQv27bTTpUJw3LRgAAAABBBBCCCCDDDDEEEEFFFFGGGG')).toMatchObject({
      limit: 1,
      disabled: true,
    })
  })

  test('Bifrost: config.json, and what was changed here stays', async () => {
    const env = write('bifrost.env', 'BIFROST_OPENAI=sk-open-0123456789\n')
    const applied = await run('bifrost', write('config.json', bifrostConfig), '--env', env, '--apply')
    expect(list(applied, 'created')).toEqual(
      expect.arrayContaining([
        'provider openai',
        'provider openai-127.0.0.1-9200',
        'model local/qwen',
        'alias smart',
        'workspace engineering',
        'workspace acme',
        'key Engineering key',
        'key No provider',
        'limit Customer Acme: budget',
        'limit Customer Acme: requests per hour',
        'limit Customer Acme: tokens per hour',
      ]),
    )
    expect(reasons(applied)).toEqual(
      expect.arrayContaining([
        'routing rule Budget: its condition is an expression: create a routing rule, docs/routing-rules.md',
        'key No provider: names no provider, so it may call nothing there: it is imported disabled',
        expect.stringContaining('deployment vertex/gemini: google-vertex'),
        expect.stringContaining('there is no window of 90s: the limit is per hour'),
      ]),
    )
    const alias = (await server().call('GET', '/model-aliases')).body.data.find(
      (one: { name: string }) => one.name === 'smart',
    )
    expect(alias.targets.map(({ weight }: { weight: number }) => weight)).toEqual([7000, 3000])
    const budgets = () => server().call('GET', '/workspaces/engineering/budgets')
    expect((await budgets()).body.data).toMatchObject([{ limit_usd: 1000, reset_interval: 'monthly' }])
    const raised = structuredClone(bifrostConfig)
    for (const budget of raised.governance.budgets) budget.max_limit *= 2
    const again = await run('bifrost', write('config.json', raised), '--env', env, '--apply')
    expect(list(again, 'updated')).toEqual(['workspace engineering', 'limit Customer Acme: budget'])
    expect((await budgets()).body.data).toMatchObject([{ limit_usd: 2000 }])
    await server().call('PUT', '/workspaces/engineering/budgets/monthly', { body: { limit_usd: 1500 } })
    for (const budget of raised.governance.budgets) budget.max_limit *= 2
    const third = await run('bifrost', write('config.json', raised), '--env', env, '--apply')
    expect(third.items.find(({ name }) => name === 'engineering')).toMatchObject({
      outcome: 'existing',
      message: 'budget: was changed here, which stays',
    })
    expect((await budgets()).body.data).toMatchObject([{ limit_usd: 1500 }])
  })

  test('Bifrost: the store, with keys that it has encrypted', async () => {
    const file = createStore('bifrost.db', {
      config_providers: [{ name: 'openai', network_config_json: null, custom_provider_config_json: null }],
      config_keys: [
        {
          id: 1,
          name: 'main',
          provider: 'openai',
          value: 'AAAA',
          models_json: '["gpt-4o"]',
          weight: 1,
          enabled: 1,
          encryption_status: 'encrypted',
        },
      ],
      governance_virtual_keys: [
        {
          id: 'v',
          name: 'Stored',
          value: 'AAAA',
          value_hash: sha256('sk-bf-stored'),
          is_active: 1,
          encryption_status: 'encrypted',
        },
      ],
      governance_virtual_key_provider_configs: [
        { id: 1, virtual_key_id: 'v', provider: 'openai', allowed_models: '["*"]' },
      ],
      governance_budgets: [
        { id: 'b', max_limit: 10, reset_duration: '1d', current_usage: 4, virtual_key_id: 'v' },
      ],
    })
    const applied = await run('bifrost', file, '--apply')
    expect(list(applied, 'created')).toEqual(['key Stored'])
    expect(reasons(applied)).toEqual([
      expect.stringContaining('credential openai main: is encrypted in the store'),
    ])
    expect(await find('sk-bf-stored')).toMatchObject({ limit: 10, limit_reset: 'daily', limit_remaining: 6 })
  })

  test('OpenRouter: keys by their hashes, in their workspaces', async () => {
    const keys = write('keys.json', {
      data: [
        {
          hash: sha256('sk-or-v1-x'),
          name: 'Web',
          label: 'sk-or-v1-abc...123',
          disabled: false,
          limit: 20,
          limit_reset: 'monthly',
          usage: 55.5,
          usage_daily: 1,
          usage_weekly: 2,
          usage_monthly: 12.5,
          workspace_id: 'w-1',
        },
      ],
    })
    const others = write('others.json', {
      workspaces: { data: [{ id: 'w-1', slug: 'web-team', name: 'Web team' }] },
      guardrails: {
        data: [
          {
            ...{ id: 'g-1', name: 'Only echo', workspace_id: 'w-1', description: null, limit_usd: 5 },
            ...{ reset_interval: 'daily', include_byok_in_budgets: false, ignored_models: null },
            ...{ allowed_models: ['sandbox/echo'], created_at: '2026-01-01T00:00:00Z', updated_at: null },
          },
          {
            id: 'g-2',
            name: 'Lost',
            workspace_id: 'w-1',
            include_byok_in_budgets: false,
            allowed_models: ['a/b'],
          },
        ],
      },
      assignments: { data: [{ id: 'a-1', key_hash: sha256('sk-or-v1-x'), guardrail_id: 'g-1' }] },
      presets: { data: [{ slug: 'short', name: 'Short', designated_version_id: 'v-1' }] },
    })
    const preset = write('preset.json', {
      data: {
        ...{ slug: 'support', name: 'Support', description: 'Answers', status: 'active' },
        designated_version_id: 'v-2',
        designated_version: {
          config: { model: 'sandbox/echo', temperature: 0.5 },
          system_prompt: 'Be brief.',
        },
      },
    })
    const applied = await run('openrouter', keys, others, preset, '--apply')
    expect(list(applied, 'created')).toEqual([
      'workspace web-team',
      'key Web',
      'guardrail Only echo',
      'preset support',
    ])
    expect(reasons(applied)).toEqual([
      expect.stringMatching(/^guardrail Lost: .*a\/b/),
      expect.stringContaining('preset short: its version is not in the files'),
    ])
    const get = async (path: string) => (await server().call('GET', path)).body.data
    const { id: workspaceId } = await get('/workspaces/web-team')
    const [guardrail] = await get(`/guardrails?workspace_id=${workspaceId}`)
    expect(guardrail).toMatchObject({ name: 'Only echo', limit_usd: 5, allowed_models: ['sandbox/echo'] })
    expect(await get(`/guardrails/${guardrail.id}/assignments/keys`)).toMatchObject([
      { key_hash: sha256('sk-or-v1-x') },
    ])
    expect(await get('/presets/support')).toMatchObject({
      ...{ name: 'Support', description: 'Answers' },
      designated_version: { config: { model: 'sandbox/echo', temperature: 0.5 }, system_prompt: 'Be brief.' },
    })
    expect(await find('sk-or-v1-x')).toMatchObject({
      usage: 55.5,
      limit_remaining: 7.5,
      label: 'sk-or-v1-abc...123',
    })
    const chat = { model: '@preset/support', messages: [{ role: 'user', content: 'Hello' }] }
    const sent = await server().call('POST', '/chat/completions', { key: 'sk-or-v1-x', body: chat })
    expect(sent.status).toBe(200)
    const again = await run('openrouter', keys, others, preset, '--apply')
    expect(again).toMatchObject({ created: 0, updated: 0, existing: 4 })
  })

  test('Portkey: configs become model aliases', async () => {
    const file = write('prod.json', {
      strategy: { mode: 'loadbalance' },
      cache: { mode: 'simple' },
      targets: [
        {
          provider: 'groq',
          api_key: 'gsk-portkey-0123456789',
          override_params: { model: 'one-model' },
          weight: 0.25,
          retry: { attempts: 3 },
        },
        {
          provider: 'groq',
          api_key: 'gsk-portkey-0123456789',
          override_params: { model: 'two-model' },
          weight: 0.75,
        },
      ],
    })
    const applied = await run('portkey', file, '--apply')
    expect(list(applied, 'created')).toEqual(
      expect.arrayContaining(['model groq/one-model', 'model groq/two-model', 'alias prod']),
    )
    expect(reasons(applied)).toEqual([expect.stringContaining('config prod: cache: set cache_enabled')])
  })

  test('Cloudflare: gateways are workspaces, routes are model aliases', async () => {
    const file = write('cloudflare.json', {
      result: [
        {
          id: 'my-gateway',
          cache_ttl: 60,
          collect_logs: true,
          rate_limiting_limit: 50,
          rate_limiting_interval: 60,
        },
      ],
      data: {
        routes: [
          {
            name: 'support',
            elements: [
              { id: 's', type: 'start', outputs: { next: { elementId: 'p' } } },
              {
                id: 'p',
                type: 'percentage',
                outputs: { '10%': { elementId: 'a' }, else: { elementId: 'b' } },
              },
              { id: 'a', type: 'model', properties: { provider: 'sandbox', model: 'echo' }, outputs: {} },
              { id: 'b', type: 'model', properties: { provider: 'sandbox', model: 'reasoner' }, outputs: {} },
            ],
          },
          {
            name: 'cond',
            elements: [
              { id: 's', type: 'start', outputs: { next: { elementId: 'c' } } },
              { id: 'c', type: 'conditional', outputs: {} },
            ],
          },
        ],
      },
    })
    const applied = await run('cloudflare', file, '--apply')
    expect(list(applied, 'created')).toEqual([
      'alias dynamic/support',
      'workspace my-gateway',
      'limit my-gateway: requests per minute',
    ])
    expect(reasons(applied)).toEqual([
      expect.stringContaining('setting my-gateway: cache_ttl'),
      expect.stringContaining('route dynamic/cond: chooses by conditions'),
    ])
  })

  test('Helicone: provider keys and rate limits', async () => {
    const file = write('helicone.json', {
      vault: [
        {
          id: '1',
          provider_name: 'mistral',
          provider_key: 'mistral-0123456789',
          provider_key_name: 'Mistral',
        },
      ],
      limits: [{ name: 'Per user', quota: 500, window_seconds: 3600, unit: 'cents', segment: 'user' }],
      keys: [{ api_key_hash: 'x', api_key_name: 'Main' }],
    })
    const applied = await run('helicone', file, '--apply')
    expect(list(applied, 'created')).toEqual(['provider mistral', 'limit Per user'])
    expect(list(applied, 'skipped')).toEqual(['key Main', 'limit Per user'])
  })

  test('files of another gateway, and none, are errors that quote nothing', async () => {
    expect(
      run('new-api', write('broken.sql', "INSERT INTO `tokens` (`id`, `key`) VALUES (1,'x;")),
    ).rejects.toThrow('ends within a text')
    expect(run('new-api')).rejects.toThrow('Name a file, --database, or both.')
    expect(run('portkey')).rejects.toThrow('Name a file.')
  })
})
