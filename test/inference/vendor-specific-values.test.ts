import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Bench, type FormatName, lastRequest, openBench, sendRequest } from './two-upstreams.ts'

const lookUp = { name: 'look_up', parameters: { type: 'object', properties: {} } }
const schema = { type: 'object', properties: { a: { type: 'string' } } }

/** Values of known fields that only some vendors document, as a same-format upstream receives them. */
const chatValues: [string, Record<string, unknown>, Record<string, unknown>?][] = [
  [
    'a tool without a type',
    { tools: [{ function: lookUp }] },
    { tools: [{ type: 'function', function: lookUp }] },
  ],
  [
    'a tool choice without a type',
    {
      tools: [{ type: 'function', function: lookUp }],
      tool_choice: { function: { name: 'look_up' } },
    },
    { tool_choice: { type: 'function', function: { name: 'look_up' } } },
  ],
  ['the on-demand tier', { service_tier: 'on_demand' }],
  ['the default effort', { reasoning_effort: 'default' }],
  ['an effort of a later version', { reasoning_effort: 'ultra' }],
  ['no limit of the most likely tokens', { top_k: -1 }],
  ['a count instead of the flag', { logprobs: 5 }],
  ['many stop sequences', { stop: ['a', 'b', 'c', 'd', 'e', 'f'] }],
  ['more log probabilities', { logprobs: true, top_logprobs: 30 }],
  ['a strong penalty', { repetition_penalty: 2.5 }],
  ['a format by pattern', { response_format: { type: 'regex', pattern: '[a-z]+' } }],
  ['a schema next to the type', { response_format: { type: 'json_schema', schema } }],
  ['a schema without a name', { response_format: { type: 'json_schema', json_schema: { schema } } }],
  ['a schema of JSON mode', { response_format: { type: 'json_object', schema } }],
  ['a verbosity of a later version', { verbosity: 'tiny' }],
  [
    'a long function name with dots',
    { tools: [{ type: 'function', function: { name: `a.b-${'c'.repeat(90)}` } }] },
  ],
  ['a cache lifetime of a later version', { cache_control: { type: 'ephemeral', ttl: '24h' } }],
]

const responsesValues: [string, Record<string, unknown>][] = [
  ['a tier', { service_tier: 'on_demand' }],
  ['an effort', { reasoning: { effort: 'ultra' } }],
  ['a summary', { reasoning: { effort: 'low', summary: 'brief' } }],
  ['a context', { reasoning: { effort: 'low', context: 'last_turn', mode: 'slow' } }],
  ['a truncation', { truncation: 'middle' }],
  ['a text format', { text: { format: { type: 'grammar', syntax: 'lark', definition: 'a' } } }],
  ['a verbosity', { text: { verbosity: 'tiny' } }],
  [
    'a choice among tools',
    {
      tools: [{ type: 'function', name: 'look_up', parameters: {} }],
      tool_choice: { type: 'allowed_tools', mode: 'maybe', tools: [{ type: 'function', name: 'look_up' }] },
    },
  ],
]

const messagesValues: [string, Record<string, unknown>][] = [
  ['a speed', { speed: 'brisk' }],
  ['an effort', { output_config: { effort: 'ultra' } }],
  ['a kind of thinking', { thinking: { type: 'guided' } }],
  ['a tool choice', { tool_choice: { type: 'some' }, tools: [{ name: 'a', input_schema: {} }] }],
  ['a cache lifetime', { cache_control: { type: 'ephemeral', ttl: '24h' } }],
]

describe('R31 values that only some vendors know', () => {
  let opened: Bench
  const bench = () => opened
  beforeAll(async () => {
    opened = await openBench('sqlite')
  })
  afterAll(async () => {
    await opened.server.stop()
    await Promise.all([opened.first.stop(), opened.second.stop()])
  })

  async function passes(format: FormatName, fields: Record<string, unknown>, sent = fields): Promise<void> {
    const response = await sendRequest(bench(), format, { model: `test/${format}`, ...fields })
    expect({
      status: response.status,
      ...(response.status === 200 ? {} : { text: await response.text() }),
    }).toEqual({
      status: 200,
    })
    expect(response.headers.get('x-headgate-dropped')).toBeNull()
    expect(lastRequest(bench().first.requests).json).toMatchObject(sent)
  }

  describe('pass to an upstream of the same format', () => {
    test.each(chatValues.map(([name, fields, sent = fields]) => [name, fields, sent] as const))(
      'chat: %s',
      (_name, fields, sent) => passes('chat', fields, sent),
    )
    test.each(responsesValues)('responses: %s', (_name, fields) => passes('responses', fields))
    test.each(messagesValues)('messages: %s', (_name, fields) => passes('messages', fields))
  })

  describe('are accepted by upstreams of other formats', () => {
    const others = { chat: 'test/messages', responses: 'test/chat', messages: 'test/chat' } as const
    const all = [
      ...chatValues.map(([name, fields]) => ['chat', name, fields] as const),
      ...responsesValues.map(([name, fields]) => ['responses', name, fields] as const),
      ...messagesValues.map(([name, fields]) => ['messages', name, fields] as const),
    ]
    test.each(all)('%s: %s', async (format, _name, fields) => {
      const response = await sendRequest(bench(), format, { model: others[format], ...fields })
      expect(response.status).toBe(200)
    })
  })

  test.each([
    ['chat', { reasoning_effort: 'default' }, 'reasoning_effort'],
    ['chat', { response_format: { type: 'regex', pattern: 'a' } }, 'response_format'],
    ['chat', { cache_control: { type: 'ephemeral', ttl: '24h' } }, 'cache_control.ttl'],
    ['responses', { reasoning: { effort: 'ultra' } }, 'reasoning.effort'],
    ['responses', { text: { format: { type: 'grammar' } } }, 'response_format'],
    ['responses', { truncation: 'middle' }, 'truncation'],
  ] as const)('%s: what another format cannot express is named: %j', async (format, fields, name) => {
    const model = format === 'chat' ? 'test/messages' : 'test/chat'
    const response = await sendRequest(bench(), format, { model, ...fields })
    expect(response.headers.get('x-headgate-dropped')?.split(', ')).toContain(name)
  })

  test('a name for the default tier is translated', async () => {
    const response = await sendRequest(bench(), 'chat', { model: 'test/messages', service_tier: 'on_demand' })
    expect(response.headers.get('x-headgate-dropped')).toBeNull()
    expect(lastRequest(bench().first.requests).json.service_tier).toBe('standard_only')
  })

  test('a tier without a known price is dropped and named', async () => {
    const response = await sendRequest(bench(), 'chat', { model: 'test/chat', service_tier: 'performance' })
    expect(response.headers.get('x-headgate-dropped')).toBe('service_tier')
    expect(lastRequest(bench().first.requests).json).not.toHaveProperty('service_tier')
  })
})
