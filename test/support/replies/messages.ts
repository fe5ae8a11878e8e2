import { eventFrame, pieces, type Scenario, type VendorReply } from './scenario.ts'

const about = {
  id: 'msg_01Hq7uZkVb3xN5',
  type: 'message',
  role: 'assistant',
  model: 'vendor-opal-5-20260301',
}

const stopReasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const

export function messagesReply(scenario: Scenario): VendorReply {
  const counted = { ...scenario.usage, output: outputOf(scenario), reasoning: 0 }
  return { frames: frames(scenario), body: body(scenario), scenario, usage: counted }
}

interface Block {
  /** As it starts in a stream. */
  start: object
  deltas: object[]
  whole: object
}

function blocksOf({ text, reasoning, toolCalls }: Scenario): Block[] {
  const blocks: Block[] = []
  if (reasoning) {
    blocks.push({
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...pieces(reasoning.text).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: reasoning.signature },
      ],
      whole: { type: 'thinking', thinking: reasoning.text, signature: reasoning.signature },
    })
  }
  if (text !== '') {
    blocks.push({
      start: { type: 'text', text: '' },
      deltas: pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
      whole: { type: 'text', text },
    })
  }
  for (const { id, name, arguments: given } of toolCalls) {
    blocks.push({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: ['', ...pieces(given)].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      whole: { type: 'tool_use', id, name, input: JSON.parse(given) },
    })
  }
  return blocks
}

function usage({ usage: counted }: Scenario, output: number) {
  return {
    input_tokens: counted.input,
    cache_creation_input_tokens: counted.cacheWrite + counted.cacheWrite1h,
    cache_read_input_tokens: counted.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: counted.cacheWrite,
      ephemeral_1h_input_tokens: counted.cacheWrite1h,
    },
    output_tokens: output,
    service_tier: 'standard',
  }
}

/** This vendor counts thinking as output and does not tell it apart. */
function outputOf({ usage: { output, reasoning } }: Scenario): number {
  return output + reasoning
}

function body(scenario: Scenario): Record<string, unknown> {
  return {
    ...about,
    content: blocksOf(scenario).map(({ whole }) => whole),
    stop_reason: stopReasons[scenario.finish],
    stop_sequence: null,
    usage: usage(scenario, outputOf(scenario)),
  }
}

function frames(scenario: Scenario): string[] {
  const message = { ...about, content: [], stop_reason: null, stop_sequence: null, usage: usage(scenario, 1) }
  const delta = { stop_reason: stopReasons[scenario.finish], stop_sequence: null }
  const blocks = blocksOf(scenario).flatMap(({ start, deltas }, index) => [
    { type: 'content_block_start', index, content_block: start },
    ...(index === 0 ? [{ type: 'ping' }] : []),
    ...deltas.map((piece) => ({ type: 'content_block_delta', index, delta: piece })),
    { type: 'content_block_stop', index },
  ])
  return [
    { type: 'message_start', message },
    ...blocks,
    { type: 'message_delta', delta, usage: usage(scenario, outputOf(scenario)) },
    { type: 'message_stop' },
  ].map(eventFrame)
}
