import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { chatBody } from '../../../formats/chat/schema.ts'
import { messagesBody } from '../../../formats/messages/schema.ts'
import { responsesBody } from '../../../formats/responses/schema.ts'

const keptEverywhere = {
  model: 'sandbox/echo',
  models: ['sandbox/echo', 'sandbox/other'],
  provider: {
    order: ['alpha'],
    zdr: true,
    sort: { by: 'price', partition: 'none' },
    max_price: { prompt: '1' },
  },
  fallbacks: { budget: ['sandbox/echo'], rate_limit: ['sandbox/other', 'sandbox/echo'] },
  plugins: [{ id: 'web', max_results: 3, search_prompt: 'Sources:' }],
  route: 'fallback',
  cache_control: { type: 'ephemeral', ttl: '1h' },
  stop_server_tools_when: [{ type: 'max_cost', max_cost_in_dollars: 0.5 }],
  temperature: 0,
  top_p: 0.9,
  top_k: 40,
  cache_enabled: false,
  cache_ttl_seconds: 86_400,
  cache_mode: 'semantic',
  cache_scope: 'workspace',
  cache_threshold: 0.97,
}

const droppedEverywhere = {
  session_id: 'session',
  stream: true,
  trace: { trace_id: 't', own_field: 1 },
  user: 'user-7',
}

const keptByTwo = {
  modalities: ['text'],
  image_config: { aspect_ratio: '1:1' },
  max_tool_calls: 3,
}

const droppedByTwo = {
  prompt_cache_key: 'key',
  prompt_cache_options: { mode: 'explicit' },
  debug: { echo_upstream_body: true },
  store: false,
}

interface Format {
  path: string
  shape: object
  required: Record<string, unknown>
  kept: Record<string, unknown>
  dropped: Record<string, unknown>
}

const formats: Record<string, Format> = {
  messages: {
    path: 'messages',
    shape: messagesBody.shape,
    required: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'secret question' }] },
    kept: {
      ...keptEverywhere,
      fallbacks: [{ model: 'sandbox/a' }, { model: 'sandbox/b' }, { model: 'sandbox/c' }],
      max_tokens: 1024,
      stop_sequences: ['END'],
      service_tier: 'anything',
      speed: 'fast',
      thinking: { type: 'enabled', budget_tokens: 2048, display: 'omitted' },
      tool_choice: { type: 'tool', name: 'look_up', disable_parallel_tool_use: true },
      tools: [
        { name: 'look_up', input_schema: { type: 'object', properties: { q: {} }, required: ['q'] } },
        { type: 'service:web_search', parameters: { max_results: 5, mode: 'deep' } },
        { type: 'vendor_tool_20300101', anything: true },
      ],
      context_management: {
        edits: [{ type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } }],
      },
      output_config: { effort: 'xhigh' },
      max_tool_calls: 3,
    },
    dropped: {
      ...droppedEverywhere,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'secret question' }] }],
      system: 'Be brief.',
      metadata: { user_id: null },
    },
  },
  chat: {
    path: 'chat/completions',
    shape: chatBody.shape,
    required: { messages: [{ role: 'user', content: 'secret question' }] },
    kept: {
      ...keptByTwo,
      ...keptEverywhere,
      min_p: 0.1,
      top_a: 0.2,
      frequency_penalty: -2,
      presence_penalty: 2,
      repetition_penalty: 1.1,
      seed: -7,
      logit_bias: { '50256': -100 },
      logprobs: true,
      top_logprobs: 0,
      max_tokens: 1,
      max_completion_tokens: 100,
      stop: ['a', 'b', 'c', 'd'],
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } },
      tools: [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'look_up' } },
      parallel_tool_calls: false,
      reasoning: { effort: 'high', exclude: true },
      reasoning_effort: 'low',
      verbosity: 'max',
      service_tier: 'flex',
      transforms: ['middle-out'],
    },
    dropped: {
      ...droppedEverywhere,
      ...droppedByTwo,
      messages: [{ role: 'assistant', content: null, tool_calls: [] }],
      stream_options: { include_usage: true },
      metadata: { team: 'red' },
      prediction: { type: 'content', content: 'x' },
      preset: 'another',
    },
  },
  responses: {
    path: 'responses',
    shape: responsesBody.shape,
    required: {},
    kept: {
      ...keptByTwo,
      ...keptEverywhere,
      frequency_penalty: 0.5,
      presence_penalty: 0.5,
      max_output_tokens: 100,
      top_logprobs: 2,
      text: { format: { type: 'json_schema', name: 'answer', schema: {} }, verbosity: 'low' },
      tools: [{ type: 'function', name: 'look_up', parameters: { type: 'object' } }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look_up' }] },
      parallel_tool_calls: true,
      reasoning: { effort: 'none', summary: 'auto', context: 'all_turns', mode: 'pro' },
      service_tier: 'auto',
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
    },
    dropped: {
      ...droppedEverywhere,
      ...droppedByTwo,
      input: [{ role: 'user', content: 'secret question' }],
      instructions: 'Be brief.',
      metadata: { team: 'red' },
      prompt: { id: 'template' },
      previous_response_id: 'resp_1',
      conversation: 'conv_1',
      background: false,
      safety_identifier: 'hash',
    },
  },
}

describe('the fields of a request', () => {
  test.each(Object.entries(formats))('E14 every field of the %s format is tried below', (_, format) => {
    const tried = [...Object.keys(format.kept), ...Object.keys(format.dropped)]
    expect(tried.sort()).toEqual(Object.keys(format.shape).sort())
  })
})

describeOnEachDatabase('Presets: credentials', (server) => {
  test('R40 S12 credentials of tools are not stored', async () => {
    const tool = { type: 'mcp', server_label: 'x', server_url: 'https://mcp.example.com' }
    const body = { tools: [{ ...tool, authorization: 'CANARY-A', headers: { Authorization: 'CANARY-B' } }] }
    const response = await server().call('POST', '/presets/with-mcp/responses', { body })
    expect(response.body.data.designated_version.config).toEqual({ tools: [tool] })
    const rows = await server().gateway.db.selectFrom('preset_versions').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain('CANARY')
  })
})

describeOnEachDatabase('Presets: stored fields', (server) => {
  const saved = async (format: Format, slug: string, fields: Record<string, unknown>) => {
    const body = { ...format.required, ...fields }
    const response = await server().call('POST', `/presets/${slug}/${format.path}`, { body })
    expect([response.status, response.body.error?.message]).toEqual([200, undefined])
    return response.body.data.designated_version
  }

  for (const [name, format] of Object.entries(formats)) {
    const always = 'model' in format.required ? { model: format.required.model } : {}

    test.each(Object.entries(format.kept))(`E14 ${name}: %s is stored as sent`, async (field, value) => {
      const { config } = await saved(format, `kept-${name}`, { [field]: value })
      expect(config).toEqual({ ...always, [field]: value })
      const read = await server().call('GET', `/presets/kept-${name}`)
      expect(read.body.data.designated_version.config).toEqual({ ...always, [field]: value })
    })

    test.each(Object.entries(format.dropped))(
      `E14 ${name}: %s is validated and not stored`,
      async (field, value) => {
        const { config } = await saved(format, `dropped-${name}`, { [field]: value })
        expect(config).toEqual(always)
      },
    )

    test(`E14 ${name}: unknown fields and fields of other formats are ignored, null counts as absent`, async () => {
      const foreign = Object.values(formats)
        .flatMap((other) => Object.entries(other.kept))
        .filter(([field]) => !(field in format.shape))
      expect(foreign).not.toBeEmpty()
      const fields = {
        ...Object.fromEntries(foreign),
        provider: null,
        no_such_field: { deep: true },
        constructor: 1,
        top_k: 1,
      }
      const { config } = await saved(format, `ignored-${name}`, fields)
      expect(config).toEqual({ ...always, top_k: 1 })
    })
  }

  test('E14 nothing of the conversation is stored', async () => {
    const rows = await server().gateway.db.selectFrom('preset_versions').selectAll().execute()
    expect(rows.length).toBeGreaterThan(50)
    expect(JSON.stringify(rows)).not.toContain('secret question')
  })

  describe('the system prompt', () => {
    const prompts: [string, string, Record<string, unknown>, string | null][] = [
      ['messages: a string', 'messages', { system: 'Be brief.' }, 'Be brief.'],
      [
        'messages: text blocks, joined by blank lines',
        'messages',
        {
          system: [
            { type: 'text', text: 'One.', cache_control: { type: 'ephemeral' } },
            { type: 'text', text: 'Two.' },
          ],
        },
        'One.\n\nTwo.',
      ],
      ['messages: absent', 'messages', {}, null],
      ['messages: empty', 'messages', { system: '' }, null],
      ['messages: no blocks', 'messages', { system: [] }, null],
      [
        'chat: system and developer messages, text parts only',
        'chat',
        {
          messages: [
            { role: 'system', content: 'One.' },
            { role: 'user', content: 'secret question' },
            {
              role: 'developer',
              content: [
                { type: 'text', text: 'Two.' },
                { type: 'image_url', image_url: { url: 'x' } },
                { type: 'text', text: 'Three.' },
              ],
            },
          ],
        },
        'One.\n\nTwo.\n\nThree.',
      ],
      ['chat: absent', 'chat', {}, null],
      ['responses: instructions', 'responses', { instructions: 'Be brief.' }, 'Be brief.'],
      ['responses: null', 'responses', { instructions: null }, null],
      ['responses: absent', 'responses', { model: 'sandbox/echo' }, null],
    ]
    test.each(prompts)('E14 %s', async (_, name, fields, expected) => {
      const version = await saved(formats[name]!, `prompt-${name}`, fields)
      expect(version.system_prompt).toBe(expected)
    })
  })

  describe('S13 bounds', () => {
    // Two bytes per letter in UTF-8: the limit counts bytes.
    const letters = (bytes: number) => 'é'.repeat(bytes / 2)
    const send = (path: string, fields: Record<string, unknown>) =>
      server().call('POST', `/presets/big/${path}`, {
        body: { model: 'm', messages: [{ role: 'user', content: 'x' }], ...fields },
      })
    const config = (bytes: number) => ({
      stop_sequences: [letters(bytes - '{"model":"m","stop_sequences":[""]}'.length - 1)],
    })

    test('S13 a configuration of more than 256 KiB is 400', async () => {
      expect((await send('messages', config(256 * 1024))).status).toBe(200)
      const rejected = await send('messages', config(256 * 1024 + 2))
      expect(rejected.status).toBe(400)
      expect(rejected.body.error.message).toStartWith('body: its configuration')
    })

    test.each([
      ['messages', 'system', (text: string) => ({ system: text })],
      ['chat/completions', 'messages', (text: string) => ({ messages: [{ role: 'system', content: text }] })],
      ['responses', 'instructions', (text: string) => ({ instructions: text })],
    ])('S13 a system prompt of more than 256 KiB is 400: %s', async (path, field, fields) => {
      expect((await send(path, fields(letters(256 * 1024)))).status).toBe(200)
      const rejected = await send(path, fields(letters(256 * 1024 + 2)))
      expect(rejected.status).toBe(400)
      expect(rejected.body.error.message).toStartWith(field)
    })

    test('S13 a body of more than 1 MiB is 413', async () => {
      expect((await send('messages', { user_data: letters(1024 * 1024) })).status).toBe(413)
    })

    test.each([
      '{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"x","__proto__":{}}]}',
    ])('S14 a key that reaches the prototype is 400', async (body) => {
      expect((await server().call('POST', '/presets/trap/messages', { body })).status).toBe(400)
      expect((await server().call('GET', '/presets/trap')).status).toBe(404)
    })
  })
})
