import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { startUpstream } from '../../../test/support/upstream.ts'
import type { ItemOutcome } from '../../api/imports/import-plan.ts'
import { litellm } from '../../api/imports/litellm/peer.ts'
import { toDecimal } from '../../api/imports/models/deployment.ts'
import type { CommandResult } from '../command.ts'
import { importPeerCommand } from './peer.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-litellm-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface ImportResult extends CommandResult {
  value: { plan: boolean; created: number; existing: number; skipped: number; items: ItemOutcome[] }
}

const config = `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }
  - model_name: claude
    litellm_params: { model: anthropic/claude-sonnet-4.5-nobody-knows, api_key: sk-ant-first-0123456789 }
    model_info: { max_input_tokens: 200000, max_output_tokens: 64000 }
  - model_name: pool
    litellm_params:
      model: azure/gpt-4o-eu
      api_base: https://acme-eu.openai.azure.com/
      api_key: azure-secret-0123456789
      api_version: "2024-10-21"
      rpm: 600
      tpm: "90000"
      weight: 3
    model_info: { base_model: azure/gpt-4o }
  - model_name: pool
    litellm_params: { model: openai/gpt-4o, api_key: sk-second-account-0123456789, timeout: 30 }
  - model_name: local qwen3:8b
    litellm_params: { model: hosted_vllm/qwen3-8b, litellm_credential_name: gpu }
    model_info: { supports_function_calling: true, input_cost_per_token: 2.5e-7, output_cost_per_token: 0.000001 }
  - model_name: acme/embed
    litellm_params: { model: openai_like/embed, api_base: http://127.0.0.1:9000/v1 }
    model_info: { mode: embedding }
  - model_name: claude
    litellm_params: { model: vertex_ai/claude, vertex_project: p }
  - model_name: lost
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/NOT_SET }
  - model_name: "openai/*"
    litellm_params: { model: "openai/*" }
  - model_name: "*"
    litellm_params: { model: "*" }
  - model_name: groq/*
    litellm_params: { model: groq/*, api_key: gsk-first-0123456789 }
  - model_name: strange
    litellm_params: { model: petals/x }
  - litellm_params: {}
credential_list:
  - credential_name: gpu
    credential_values: { api_base: http://10.0.0.5:8000/v1, api_key: gpu-secret-0123456789 }
router_settings:
  routing_strategy: simple-shuffle
  num_retries: 2
  timeout: 600
  allowed_fails: 3
  model_group_alias: { gpt-4: gpt-4o, best: { model: claude, hidden: true }, none: nowhere }
  fallbacks: [{ gpt-4o: [claude, pool] }, { nobody: [claude] }]
litellm_settings:
  context_window_fallbacks: [{ pool: [claude, nobody] }]
  default_fallbacks: [gpt-4o]
  drop_params: true
  callbacks: [prometheus]
general_settings: { master_key: sk-master-secret }
`

describeOnEachDatabase('import litellm: config.yaml', (server) => {
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const run = async (...args: string[]) => {
    const results: CommandResult[] = []
    const command = importPeerCommand(
      litellm,
      async (work) => void results.push(await work(server().gateway)),
    )
    command.exitOverride().configureOutput({ writeErr: () => undefined })
    await command.parseAsync(args, { from: 'user' })
    return results[0] as ImportResult
  }
  const listNames = ({ value }: ImportResult, outcome: ItemOutcome['outcome']) =>
    value.items.filter((item) => item.outcome === outcome).map(({ kind, name }) => `${kind} ${name}`)
  const secrets = /sk-open|sk-ant-first|azure-secret|sk-second|gsk-first|gpu-secret|sk-master/

  test('a plan changes nothing; then models, aliases and fallbacks are imported once', async () => {
    const file = write('config.yaml', config)
    const env = write('.env', 'OPENAI_API_KEY="sk-open-0123456789"\n')
    const planned = await run(file, '--env', env)
    expect(planned.text).toContain('Plan, nothing was changed: ')
    expect((await server().call('GET', '/catalogue/models?source=runtime')).body.total_count).toBe(0)
    const applied = await run(file, '--env', env, '--apply')
    expect(applied.value.items).toEqual(planned.value.items)
    expect(listNames(applied, 'created')).toEqual([
      'provider openai',
      'provider anthropic',
      'provider azure-acme-eu',
      expect.stringMatching(/^provider openai-[0-9a-f]{6}$/),
      'provider hosted-vllm-10.0.0.5-8000',
      'provider openai-like-127.0.0.1-9000',
      'provider groq',
      'model litellm/claude',
      'model litellm/pool',
      'model litellm/local-qwen3-8b',
      'model acme/embed',
      'fallbacks openai/gpt-4o',
      'alias claude',
      'alias pool',
      'alias gpt-4',
      'alias best',
    ])
    const skipped = applied.value.items.filter(({ outcome }) => outcome === 'skipped')
    expect(skipped.map(({ kind, name, message }) => `${kind} ${name}: ${message}`)).toEqual([
      'setting pool weight: weights divide requests among models, as `targets` of a model alias: docs/model-aliases.md',
      'deployment lost: not set: NOT_SET; give --env',
      'deployment strange: there is no provider for the prefix "petals/"',
      'deployment model_list.12: model_name: Invalid input: expected string, received undefined',
      'deployment *: one pattern for all providers; name those of each, such as openai/*',
      'deployment claude: google-vertex has no key there or here: set GOOGLE_APPLICATION_CREDENTIALS of the server',
      'alias none: nowhere is not imported',
      'fallbacks nobody: the model is not imported',
      'fallbacks pool: nobody is not imported',
      'setting router_settings allowed_fails: cooldown and ejection are automatic: docs/routing.md',
      'setting litellm_settings callbacks: set up destinations: docs/observability.md',
      'setting general_settings master_key: operators use management keys: docs/permissions.md',
    ])
    const again = await run(file, '--env', env, '--apply')
    expect(again.value).toMatchObject({ created: 0 })
    expect(listNames(again, 'existing')).toEqual(
      expect.arrayContaining(['model gpt-4o', 'model litellm/pool']),
    )
    expect(JSON.stringify([planned, applied, again])).not.toMatch(secrets)
  })

  test('models have the endpoints, prices, limits and fallbacks of their deployments', async () => {
    const get = async (id: string) =>
      (await server().call('GET', `/catalogue/models/${id}`)).body.data.in_force
    const pool = await get('litellm/pool')
    expect(pool).toMatchObject({
      timeout: { total: 600 },
      retry: { max_retries: 2 },
      fallbacks: { context_length: ['litellm/claude'], error: ['openai/gpt-4o'] },
      endpoints: [
        {
          provider: 'azure-acme-eu',
          upstream_model: 'gpt-4o-eu',
          rate_limits: { requests_per_minute: 600, tokens_per_minute: 90_000 },
        },
        { upstream_model: 'gpt-4o', timeout: { total: 30 } },
      ],
    })
    const { in_force: known } = (await server().call('GET', '/catalogue/models/openai/gpt-4o')).body.data
    expect(pool.endpoints[1].pricing).toEqual(known.endpoints[0].pricing)
    expect(known.fallbacks).toEqual({
      error: ['litellm/claude', 'litellm/pool'],
      rate_limit: ['litellm/claude', 'litellm/pool'],
    })
    expect(await get('litellm/local-qwen3-8b')).toMatchObject({
      aliases: ['local qwen3:8b'],
      supported_parameters: expect.arrayContaining(['tools']),
      endpoints: [{ pricing: { prompt: '0.00000025', completion: '0.000001' } }],
    })
    expect(await get('acme/embed')).toMatchObject({
      output_modalities: ['embeddings'],
      endpoints: [{ dialects: ['embeddings'] }],
    })
    const { wildcards } = (await server().call('GET', '/catalogue/providers/openai')).body.data.in_force
    expect(wildcards).toEqual(['openai/*'])
    const azure = (await server().call('GET', '/catalogue/providers/azure-acme-eu')).body.data
    expect(azure.in_force).toMatchObject({
      base_url: 'https://acme-eu.openai.azure.com/openai/v1',
      key_header: 'api-key',
    })
    const { data: aliases } = (await server().call('GET', '/model-aliases')).body
    expect(
      Object.fromEntries(aliases.map((row: { name: string; models: string[] }) => [row.name, row.models])),
    ).toMatchObject({
      'gpt-4': ['openai/gpt-4o'],
      best: ['litellm/claude'],
    })
  })

  test('a deployment that is new becomes an endpoint of its model', async () => {
    const added = `${config.split('model_list:')[0]}model_list:
  - model_name: pool
    litellm_params: { model: ollama/qwen3, api_base: http://10.0.0.9:11434 }
`
    const { value } = await run(write('added.yaml', added), '--apply')
    expect(value.items.map(({ kind, name, outcome }) => `${outcome} ${kind} ${name}`)).toEqual([
      'created provider ollama-10.0.0.9-11434',
      'existing model litellm/pool',
      'created endpoint litellm/pool ollama-10.0.0.9-11434',
      'existing alias pool',
    ])
  })

  test('requests reach the servers by the names that clients use, and fall back as before', async () => {
    const [first, second] = await Promise.all([startUpstream(), startUpstream()])
    const text = `
model_list:
  - model_name: chat
    litellm_params: { model: hosted_vllm/first, api_base: ${first.url}/v1, api_key: first-key-0123456789 }
    model_info: { input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: backup
    litellm_params: { model: openai_like/second, api_base: ${second.url}/v1 }
    model_info: { input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: any/*
    litellm_params: { model: openai_like/*, api_base: ${second.url}/v1 }
router_settings:
  model_group_alias: { short: chat }
litellm_settings:
  num_retries: 0
  fallbacks: [{ chat: [backup] }]
`
    const { value } = await run(write('servers.yaml', text), '--apply')
    expect(value).toMatchObject({ skipped: 0 })
    const ask = async (model: string) => {
      const body = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }
      return server().call('POST', '/chat/completions', { key: server().own.inferenceKey, body })
    }
    for (const name of ['chat', 'short']) expect((await ask(name)).status).toBe(200)
    expect(first.requests.map(({ json, headers }) => [json.model, headers.authorization])).toEqual([
      ['first', 'Bearer first-key-0123456789'],
      ['first', 'Bearer first-key-0123456789'],
    ])
    first.setDefault({ status: 500, json: { error: { message: 'broken' } } })
    expect((await ask('chat')).body).toMatchObject({ model: 'litellm/backup' })
    expect((await ask('any/model:7b')).status).toBe(200)
    expect(second.requests.map(({ json }) => json.model)).toEqual(['second', 'model:7b'])
    await Promise.all([first.stop(), second.stop()])
  })

  test('what cannot be read is said', async () => {
    await expect(
      run(write('broken.yaml', 'model_list: {')).catch((error) => error.message),
    ).resolves.toContain('broken.yaml, line')
    await expect(run(join(folder, 'none.yaml'))).rejects.toThrow('does not exist')
    const file = write('config.yaml', config)
    await expect(run(file, '--plan', '--apply')).rejects.toThrow('exclude each other')
    await expect(run(file, '--org', server().foreign.organization.id)).rejects.toThrow('operates')
  })
})

test('prices are decimal texts', () => {
  expect([2.5e-7, 0.000001, 1.5e-10, 3, 0.5].map(toDecimal)).toEqual([
    '0.00000025',
    '0.000001',
    '0.00000000015',
    '3',
    '0.5',
  ])
})
