import { describe, expect, test } from 'bun:test'
import { describeOnSqlite } from '../../../../test/support/harness.ts'

const message = { role: 'user', content: 'Hello' }
const tool = { name: 'look_up', input_schema: { type: 'object' } }

type Wrong = [fields: Record<string, unknown>, field: string]

const wrongEverywhere: Wrong[] = [
  [{ model: 7 }, 'model'],
  [{ model: '' }, 'model'],
  [{ models: 'a/b' }, 'models'],
  [{ models: [1] }, 'models.0'],
  [{ temperature: '1' }, 'temperature'],
  [{ top_p: true }, 'top_p'],
  [{ top_k: 1.5 }, 'top_k'],
  [{ stream: 'yes' }, 'stream'],
  [{ route: 'cheapest' }, 'route'],
  [{ session_id: 's'.repeat(257) }, 'session_id'],
  [{ session_id: 5 }, 'session_id'],
  [{ trace: 'x' }, 'trace'],
  [{ trace: { trace_id: 1 } }, 'trace.trace_id'],
  [{ cache_control: true }, 'cache_control'],
  [{ cache_control: { type: 'forever' } }, 'cache_control.type'],
  [{ cache_enabled: 'true' }, 'cache_enabled'],
  [{ cache_ttl_seconds: 0 }, 'cache_ttl_seconds'],
  [{ cache_ttl_seconds: 86_401 }, 'cache_ttl_seconds'],
  [{ cache_ttl_seconds: 1.5 }, 'cache_ttl_seconds'],
  [{ cache_mode: 'fuzzy' }, 'cache_mode'],
  [{ cache_scope: 'organization' }, 'cache_scope'],
  [{ cache_threshold: 0.49 }, 'cache_threshold'],
  [{ cache_threshold: 1.01 }, 'cache_threshold'],

  [{ plugins: {} }, 'plugins'],
  [{ plugins: ['web'] }, 'plugins.0'],
  [{ plugins: [{ id: 'web' }, { id: 'no-such-plugin' }] }, 'plugins.1.id'],
  [{ plugins: [{}] }, 'plugins.0.id'],
  [{ plugins: [{ id: 'web', enabled: 'no' }] }, 'plugins.0.enabled'],
  [{ plugins: [{ id: 'pareto-router', min_coding_score: 1.1 }] }, 'plugins.0.min_coding_score'],
  [{ plugins: [{ id: 'fusion', analysis_models: [] }] }, 'plugins.0.analysis_models'],

  [{ provider: 'alpha' }, 'provider'],
  [{ provider: { sort: 'cheapest' } }, 'provider.sort'],
  [{ provider: { sort: { by: 'cheapest' } } }, 'provider.sort'],
  [{ provider: { sort: { by: 'price', partition: 'region' } } }, 'provider.sort'],
  [{ provider: { quantizations: ['int4', 'int3'] } }, 'provider.quantizations.1'],
  [{ provider: { preferred_max_latency: 'fast' } }, 'provider.preferred_max_latency'],
  [{ provider: { preferred_max_latency: { p42: 1 } } }, 'provider.preferred_max_latency.p42'],
  [{ provider: { preferred_min_throughput: { p50: 'x' } } }, 'provider.preferred_min_throughput'],
  [{ provider: { data_collection: 'maybe' } }, 'provider.data_collection'],
  [{ provider: { order: 'alpha' } }, 'provider.order'],
  [{ provider: { max_price: { prompt: '-1' } } }, 'provider.max_price.prompt'],
  [{ provider: { zrd: true } }, 'provider.zrd'],

  [{ stop_server_tools_when: [] }, 'stop_server_tools_when'],
  [{ stop_server_tools_when: { type: 'max_cost' } }, 'stop_server_tools_when'],
  [{ stop_server_tools_when: [{ type: 'never' }] }, 'stop_server_tools_when.0.type'],
  [{ stop_server_tools_when: [{ type: 'step_count_is' }] }, 'stop_server_tools_when.0.step_count'],
  [
    { stop_server_tools_when: [{ type: 'has_tool_call', tool_name: '' }] },
    'stop_server_tools_when.0.tool_name',
  ],
  [
    { stop_server_tools_when: [{ type: 'max_tokens_used', max_tokens: 0.5 }] },
    'stop_server_tools_when.0.max_tokens',
  ],
  [{ stop_server_tools_when: [{ type: 'max_cost' }] }, 'stop_server_tools_when.0.max_cost_in_dollars'],
  [{ stop_server_tools_when: [{ type: 'finish_reason_is' }] }, 'stop_server_tools_when.0.reason'],

  [{ tools: {} }, 'tools'],
  [
    {
      tools: [
        {
          type: 'service:web_search',
          parameters: { allowed_domains: ['a.org'], excluded_domains: ['b.org'] },
        },
      ],
    },
    'tools.0.parameters.excluded_domains',
  ],
  [{ tools: [{ type: 'service:web_search', parameters: { mode: 'sideways' } }] }, 'tools.0.parameters.mode'],
  [{ tools: [{ type: 'service:time_travel' }] }, 'tools.0.type'],
  [
    { tools: [{ type: 'service:datetime', parameters: { timezone: 'Mars/Olympus' } }] },
    'tools.0.parameters.timezone',
  ],
]

const wrongMessages: Wrong[] = [
  [{ model: undefined }, 'model'],
  [{ model: null }, 'model'],
  [{ messages: undefined }, 'messages'],
  [{ messages: [] }, 'messages'],
  [{ messages: 'Hello' }, 'messages'],
  [{ messages: ['Hello'] }, 'messages.0'],
  [{ messages: [{ role: 'user' }] }, 'messages.0.content'],
  [{ messages: [{ content: 'Hello' }] }, 'messages.0.role'],
  [{ max_tokens: 1.5 }, 'max_tokens'],
  [{ max_tokens: '10' }, 'max_tokens'],
  [{ system: 1 }, 'system'],
  [{ system: [{ type: 'image' }] }, 'system'],
  [{ stop_sequences: 'END' }, 'stop_sequences'],
  [{ metadata: 'x' }, 'metadata'],
  [{ metadata: { user_id: 1 } }, 'metadata.user_id'],
  [{ fallbacks: [1, 2, 3, 4].map((n) => ({ model: `m/${n}` })) }, 'fallbacks'],
  [{ fallbacks: ['m/1'] }, 'fallbacks.0'],
  [{ fallbacks: [{}] }, 'fallbacks.0.model'],
  [{ fallbacks: [{ model: 'm/1', max_tokens: 5 }] }, 'fallbacks.0.max_tokens'],
  [{ fallbacks: [{ model: 'm/1' }], models: ['m/2'] }, 'fallbacks'],
  [{ service_tier: 1 }, 'service_tier'],
  [{ speed: 'ludicrous' }, 'speed'],
  [{ thinking: 'enabled' }, 'thinking'],
  [{ thinking: { type: 'maybe' } }, 'thinking.type'],
  [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
  [{ thinking: { type: 'enabled', budget_tokens: 1.5 } }, 'thinking.budget_tokens'],
  [{ thinking: { type: 'adaptive', display: 'loud' } }, 'thinking.display'],
  [{ tool_choice: 'auto' }, 'tool_choice'],
  [{ tool_choice: { type: 'required' } }, 'tool_choice.type'],
  [{ tool_choice: { type: 'tool' } }, 'tool_choice.name'],
  [{ tool_choice: { type: 'any', disable_parallel_tool_use: 1 } }, 'tool_choice.disable_parallel_tool_use'],
  [{ tools: [tool, {}] }, 'tools.1.name'],
  [{ tools: [{ name: 'x' }] }, 'tools.0.input_schema'],
  [{ tools: [{ type: 'custom', input_schema: {} }] }, 'tools.0.name'],
  [{ tools: [{ ...tool, input_schema: { required: 'q' } }] }, 'tools.0.input_schema.required'],
  [{ tools: [{ ...tool, defer_loading: 1 }] }, 'tools.0.defer_loading'],
  [{ context_management: [] }, 'context_management'],
  [{ context_management: { edits: {} } }, 'context_management.edits'],
  [{ context_management: { edits: [{ type: 'clear_all' }] } }, 'context_management.edits.0.type'],
  [{ output_config: 'high' }, 'output_config'],
  [{ output_config: { effort: 'minimal' } }, 'output_config.effort'],
  [{ user: 'u'.repeat(257) }, 'user'],
]

const wrongChat: Wrong[] = [
  [{ messages: undefined }, 'messages'],
  [{ messages: [] }, 'messages'],
  [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages.0.role'],
  [{ messages: [{ role: 'system' }] }, 'messages.0.content'],
  [{ temperature: 2.1 }, 'temperature'],
  [{ top_p: -0.1 }, 'top_p'],
  [{ min_p: 2 }, 'min_p'],
  [{ frequency_penalty: -3 }, 'frequency_penalty'],
  [{ repetition_penalty: 2.5 }, 'repetition_penalty'],
  [{ max_tokens: 0 }, 'max_tokens'],
  [{ stop: ['1', '2', '3', '4', '5'] }, 'stop'],
  [{ logit_bias: { '1': 101 } }, 'logit_bias.1'],
  [{ top_logprobs: 21, logprobs: true }, 'top_logprobs'],
  [{ top_logprobs: 3 }, 'top_logprobs'],
  [{ response_format: 'json' }, 'response_format'],
  [{ response_format: { type: 'xml' } }, 'response_format.type'],
  [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
  [{ tools: [{ type: 'function' }] }, 'tools.0.function'],
  [{ tools: [{ type: 'function', function: { name: 'with space' } }] }, 'tools.0.function.name'],
  [{ tool_choice: 'any' }, 'tool_choice'],
  [{ tool_choice: { type: 'function' } }, 'tool_choice.function'],
  [{ reasoning: { effort: 'huge' } }, 'reasoning.effort'],
  [{ reasoning: { effort: 'low' }, reasoning_effort: 'high' }, 'reasoning_effort'],
  [{ verbosity: 'chatty' }, 'verbosity'],
  [{ service_tier: 'gold' }, 'service_tier'],
  [{ metadata: { key: 1 } }, 'metadata.key'],
  [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])) }, 'metadata'],
]

const wrongResponses: Wrong[] = [
  [{ model: undefined, no_such_field: 1 }, 'body'],
  [{ input: 5 }, 'input'],
  [{ instructions: ['x'] }, 'instructions'],
  [{ max_output_tokens: 'many' }, 'max_output_tokens'],
  [{ text: { format: { type: 'json_schema', name: 'x' } } }, 'text.format.schema'],
  [{ text: { verbosity: 'chatty' } }, 'text.verbosity'],
  [{ tools: [{ type: 'function' }] }, 'tools.0.name'],
  [{ tools: [{}] }, 'tools.0.type'],
  [{ tool_choice: 'any' }, 'tool_choice'],
  [{ tool_choice: { type: 'function' } }, 'tool_choice.name'],
  [{ tool_choice: { type: 'allowed_tools', mode: 'auto' } }, 'tool_choice.tools'],
  [{ include: ['everything'] }, 'include.0'],
  [{ truncation: 'always' }, 'truncation'],
  [{ user: 'u'.repeat(257) }, 'user'],
  [{ metadata: { 'a[b]': 'x' } }, 'metadata.a[b]'],
]

describeOnSqlite('Presets: request bodies', (server) => {
  const formats = [
    ['messages', { model: 'sandbox/echo', messages: [message] }, wrongMessages],
    ['chat/completions', { model: 'sandbox/echo', messages: [message] }, wrongChat],
    ['responses', { model: 'sandbox/echo' }, wrongResponses],
  ] as const

  for (const [path, base, wrong] of formats) {
    describe(path, () => {
      test.each([...wrongEverywhere, ...wrong])('E14 400 naming the field: %j', async (fields, field) => {
        const response = await server().call('POST', `/presets/wrong/${path}`, {
          body: { ...base, ...fields },
        })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(`${field}: `)
      })
    })
  }

  test('E14 a rejected body creates no preset', async () => {
    expect((await server().call('GET', '/presets/wrong')).status).toBe(404)
  })

  const right: [string, Record<string, unknown>][] = [
    ['the longest user and session_id', { user: 'u'.repeat(256), session_id: 's'.repeat(256) }],
    ['no fallbacks with models', { fallbacks: null, models: ['m/1'] }],
    ['metadata with a null user_id', { metadata: { user_id: null } }],
    ['thinking disabled', { thinking: { type: 'disabled' } }],
    ['thinking adaptive', { thinking: { type: 'adaptive', block_binding: null } }],
    ['tool_choice auto', { tool_choice: { type: 'auto' } }],
    ['tool_choice none', { tool_choice: { type: 'none' } }],
    ['context_management null', { context_management: null }],
    [
      'the other edits',
      { context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'compact_20260112' }] } },
    ],
    ['output_config without effort', { output_config: { effort: null } }],
    ['latency by percentile', { provider: { preferred_max_latency: { p50: 1, p99: null } } }],
    ['throughput as a number', { provider: { preferred_min_throughput: 40, max_price: { prompt: 1.5 } } }],
    [
      'every plugin',
      {
        plugins: [
          'auto-beta-router',
          'auto-router',
          'context-compression',
          'file-parser',
          'fusion',
          'moderation',
          'pareto-router',
          'response-healing',
          'web',
          'web-fetch',
          'switchyard-router',
        ].map((id) => ({ id })),
      },
    ],
    [
      'every stop condition',
      {
        stop_server_tools_when: [
          { type: 'step_count_is', step_count: 5 },
          { type: 'has_tool_call', tool_name: 'done' },
          { type: 'max_tokens_used', max_tokens: 1000 },
          { type: 'max_cost', max_cost_in_dollars: 0.1 },
          { type: 'finish_reason_is', reason: 'stop' },
        ],
      },
    ],
    ['prompt, which is ignored', { prompt: 5 }],
  ]
  test.each(right)('E14 accepts %s', async (_, fields) => {
    const body = { model: 'sandbox/echo', messages: [message], ...fields }
    const response = await server().call('POST', '/presets/right/messages', { body })
    expect([response.status, response.body.error?.message]).toEqual([200, undefined])
  })
})
