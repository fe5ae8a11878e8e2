import {
  assistantMessage,
  clockTool,
  png,
  scenario,
  toolCall,
  toolResult,
  userMessage,
  weatherTool,
} from './request-scenario.ts'

const parallelConversation = [
  userMessage('Weather in Oslo and Kyoto?'),
  assistantMessage(
    'I look up both.',
    toolCall('call_oslo', '{"city":"Oslo","n":1.50}'),
    toolCall('call_kyoto', '{"city":"京都"}'),
  ),
  userMessage(
    toolResult('call_oslo', '{"degrees":-4,"sky":["snow"]}'),
    toolResult('call_kyoto', 'sunny, 12 °C'),
  ),
]

export const toolScenarios = [
  scenario('Tools', { tools: [weatherTool, clockTool] }),
  scenario('Tool with a strict schema', { tools: [{ ...weatherTool, strict: true }] }),
  scenario('Tool without arguments', { tools: [{ kind: 'function', name: 'ping' }] }),
  scenario('Deferred tool loading', { tools: [{ ...weatherTool, deferLoading: true }] }),
  scenario('Tool in a namespace', { tools: [{ ...weatherTool, namespace: 'north' }] }),
  scenario('Free-text tool', { tools: [{ kind: 'custom', name: 'patch', description: 'A patch.' }] }),
  scenario('Free-text tool with a grammar', {
    tools: [
      {
        kind: 'custom',
        name: 'sql',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: "SELECT"' },
      },
    ],
  }),
  scenario('Tool choice: auto', { tools: [weatherTool], toolChoice: { kind: 'auto' } }),
  scenario('Tool choice: none', { tools: [weatherTool], toolChoice: { kind: 'none' } }),
  scenario('Tool choice: required', { tools: [weatherTool], toolChoice: { kind: 'required' } }),
  scenario('Tool choice: specific tool', {
    tools: [weatherTool, clockTool],
    toolChoice: { kind: 'tool', name: 'get_time' },
  }),
  scenario('Tool choice: allowed tools', {
    tools: [
      weatherTool,
      clockTool,
      { kind: 'function', name: 'ping', schema: { type: 'object', properties: {} } },
    ],
    toolChoice: { kind: 'allowed', required: true, names: ['get_weather', 'get_time'] },
  }),
  scenario('Parallel tool calls disabled', { tools: [weatherTool], parallelToolCalls: false }),
  scenario('Parallel tool calls and their results', { tools: [weatherTool], messages: parallelConversation }),
  scenario('Tool call without arguments', {
    tools: [clockTool],
    messages: [
      userMessage('Time?'),
      assistantMessage(toolCall('call_time', '{}', 'get_time')),
      userMessage(toolResult('call_time', '12:00')),
    ],
  }),
  scenario('Failed tool call', {
    tools: [weatherTool],
    messages: [
      userMessage('Weather?'),
      assistantMessage(toolCall('call_a', '{"city":"Oslo"}')),
      userMessage({ ...toolResult('call_a', 'no such city'), isError: true }),
    ],
  }),
  scenario('Image in a tool result', {
    tools: [weatherTool],
    messages: [
      userMessage('Show me.'),
      assistantMessage(toolCall('call_map', '{"city":"Oslo"}')),
      userMessage({
        kind: 'tool-result',
        id: 'call_map',
        content: [
          { kind: 'text', text: 'A map.' },
          { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png } },
        ],
      }),
    ],
  }),
  scenario('Free-text tool call', {
    tools: [{ kind: 'custom', name: 'patch' }],
    messages: [
      userMessage('Fix it.'),
      assistantMessage({
        kind: 'tool-call',
        id: 'call_p',
        name: 'patch',
        arguments: '*** Begin Patch\n+1',
        custom: true,
      }),
      userMessage({ ...toolResult('call_p', 'done'), custom: true }),
    ],
  }),
]
