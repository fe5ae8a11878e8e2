import { assistant, call, clock, png, result, story, user, weather } from './request-story.ts'

const parallelTalk = [
  user('Weather in Oslo and Kyoto?'),
  assistant(
    'I look up both.',
    call('call_oslo', '{"city":"Oslo","n":1.50}'),
    call('call_kyoto', '{"city":"京都"}'),
  ),
  user(result('call_oslo', '{"degrees":-4,"sky":["snow"]}'), result('call_kyoto', 'sunny, 12 °C')),
]

export const tools = [
  story('Tools', { tools: [weather, clock] }),
  story('Tool with a strict schema', { tools: [{ ...weather, strict: true }] }),
  story('Tool without arguments', { tools: [{ kind: 'function', name: 'ping' }] }),
  story('Tool loaded when needed', { tools: [{ ...weather, deferLoading: true }] }),
  story('Tool in a namespace', { tools: [{ ...weather, namespace: 'north' }] }),
  story('Free-text tool', { tools: [{ kind: 'custom', name: 'patch', description: 'A patch.' }] }),
  story('Free-text tool with a grammar', {
    tools: [
      {
        kind: 'custom',
        name: 'sql',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: "SELECT"' },
      },
    ],
  }),
  story('Tool choice: auto', { tools: [weather], toolChoice: { kind: 'auto' } }),
  story('Tool choice: none', { tools: [weather], toolChoice: { kind: 'none' } }),
  story('Tool choice: required', { tools: [weather], toolChoice: { kind: 'required' } }),
  story('Tool choice: one tool', { tools: [weather, clock], toolChoice: { kind: 'tool', name: 'get_time' } }),
  story('Tool choice: some tools', {
    tools: [weather, clock, { kind: 'function', name: 'ping', schema: { type: 'object', properties: {} } }],
    toolChoice: { kind: 'allowed', required: true, names: ['get_weather', 'get_time'] },
  }),
  story('Parallel tool calls off', { tools: [weather], parallelToolCalls: false }),
  story('Parallel tool calls and their results', { tools: [weather], messages: parallelTalk }),
  story('A tool call without arguments', {
    tools: [clock],
    messages: [
      user('Time?'),
      assistant(call('call_time', '{}', 'get_time')),
      user(result('call_time', '12:00')),
    ],
  }),
  story('A failed tool call', {
    tools: [weather],
    messages: [
      user('Weather?'),
      assistant(call('call_a', '{"city":"Oslo"}')),
      user({ ...result('call_a', 'no such city'), isError: true }),
    ],
  }),
  story('An image as the result of a tool', {
    tools: [weather],
    messages: [
      user('Show me.'),
      assistant(call('call_map', '{"city":"Oslo"}')),
      user({
        kind: 'tool-result',
        id: 'call_map',
        content: [
          { kind: 'text', text: 'A map.' },
          { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png } },
        ],
      }),
    ],
  }),
  story('A call of a free-text tool', {
    tools: [{ kind: 'custom', name: 'patch' }],
    messages: [
      user('Fix it.'),
      assistant({
        kind: 'tool-call',
        id: 'call_p',
        name: 'patch',
        arguments: '*** Begin Patch\n+1',
        custom: true,
      }),
      user({ ...result('call_p', 'done'), custom: true }),
    ],
  }),
]
