import { encodeEventFrame, type Scenario, splitPieces, type VendorReply } from './scenario.ts'

const identity = {
  id: 'msg_01Hq7uZkVb3xN5',
  type: 'message',
  role: 'assistant',
  model: 'vendor-opal-5-20260301',
}

const stopReasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const

export function messagesReply(scenario: Scenario): VendorReply {
  const counted = { ...scenario.usage, output: outputOf(scenario), reasoning: 0 }
  return { frames: encodeFrames(scenario), body: encodeBody(scenario), scenario, usage: counted }
}

interface Block {
  /** Block at its start in a stream. */
  start: object
  deltas: object[]
  whole: object
}

function buildBlocks({ text, reasoning, toolCalls }: Scenario): Block[] {
  const blocks: Block[] = []
  if (reasoning) {
    blocks.push({
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...splitPieces(reasoning.text).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: reasoning.signature },
      ],
      whole: { type: 'thinking', thinking: reasoning.text, signature: reasoning.signature },
    })
  }
  if (text !== '') {
    blocks.push({
      start: { type: 'text', text: '' },
      deltas: splitPieces(text).map((part) => ({ type: 'text_delta', text: part })),
      whole: { type: 'text', text },
    })
  }
  for (const { id, name, arguments: args } of toolCalls) {
    blocks.push({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: ['', ...splitPieces(args)].map((part) => ({ type: 'input_json_delta', partial_json: part })),
      whole: { type: 'tool_use', id, name, input: JSON.parse(args) },
    })
  }
  return blocks
}

function encodeUsage({ usage: counted }: Scenario, output: number) {
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

/** Counts output tokens: this format includes thinking, without a separate count. */
function outputOf({ usage: { output, reasoning } }: Scenario): number {
  return output + reasoning
}

function encodeBody(scenario: Scenario): Record<string, unknown> {
  return {
    ...identity,
    content: buildBlocks(scenario).map(({ whole }) => whole),
    stop_reason: stopReasons[scenario.finish],
    stop_sequence: null,
    usage: encodeUsage(scenario, outputOf(scenario)),
  }
}

function encodeFrames(scenario: Scenario): string[] {
  const message = {
    ...identity,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: encodeUsage(scenario, 1),
  }
  const delta = { stop_reason: stopReasons[scenario.finish], stop_sequence: null }
  const blocks = buildBlocks(scenario).flatMap(({ start, deltas }, index) => [
    { type: 'content_block_start', index, content_block: start },
    ...(index === 0 ? [{ type: 'ping' }] : []),
    ...deltas.map((part) => ({ type: 'content_block_delta', index, delta: part })),
    { type: 'content_block_stop', index },
  ])
  return [
    { type: 'message_start', message },
    ...blocks,
    { type: 'message_delta', delta, usage: encodeUsage(scenario, outputOf(scenario)) },
    { type: 'message_stop' },
  ].map(encodeEventFrame)
}
