import { encodeEventFrame, inputTokensOf, type Scenario, splitPieces, type VendorReply } from './scenario.ts'

type Json = Record<string, unknown>
type Event = Json & { type: string }

const identity = {
  id: 'resp_0c5e2f7a91d84b',
  object: 'response',
  created_at: 1_790_000_000,
  background: false,
  error: null,
  instructions: null,
  max_output_tokens: null,
  model: 'vendor-large-2026-03-01',
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: 'medium', summary: 'detailed' },
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  user: null,
  metadata: {},
}

export function responsesReply(scenario: Scenario): VendorReply {
  return { frames: encodeFrames(scenario), body: encodeBody(scenario), scenario, usage: scenario.usage }
}

function encodeUsage(scenario: Scenario): Json {
  const { cacheRead, output, reasoning } = scenario.usage
  return {
    input_tokens: inputTokensOf(scenario),
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output + reasoning,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: inputTokensOf(scenario) + output + reasoning,
  }
}

function encodeBody(scenario: Scenario): Json {
  const cut = scenario.finish === 'length'
  return {
    ...identity,
    status: cut ? 'incomplete' : 'completed',
    incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
    output: buildItems(scenario).map(({ whole }) => whole),
    usage: encodeUsage(scenario),
  }
}

/** An item of the output: how it starts, what follows, and what it is in the end. */
interface Item {
  start: Json
  events(output_index: number): Event[]
  whole: Json
}

function buildItems(scenario: Scenario): Item[] {
  const { reasoning, text, toolCalls, finish } = scenario
  return [
    ...(reasoning ? [reasoningItem(reasoning)] : []),
    ...(text === '' ? [] : [messageItem(text, finish === 'length' ? 'incomplete' : 'completed')]),
    ...toolCalls.map(callItem),
  ]
}

/** The readable part is a summary; the encrypted content takes the role of the signature. */
function reasoningItem({ text, signature }: { text: string; signature: string }): Item {
  const id = 'rs_0c5e2f7a91d84b01'
  const part = { type: 'summary_text', text }
  return {
    start: { id, type: 'reasoning', encrypted_content: signature, summary: [] },
    whole: { id, type: 'reasoning', encrypted_content: signature, summary: [part] },
    events: (output_index) => {
      const at = { item_id: id, output_index, summary_index: 0 }
      return [
        { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
        ...splitPieces(text).map((delta) => ({
          type: 'response.reasoning_summary_text.delta',
          ...at,
          delta,
        })),
        { type: 'response.reasoning_summary_text.done', ...at, text },
        { type: 'response.reasoning_summary_part.done', ...at, part },
      ]
    },
  }
}

function messageItem(text: string, status: string): Item {
  const id = 'msg_0c5e2f7a91d84b02'
  const part = { type: 'output_text', annotations: [], logprobs: [], text }
  return {
    start: { id, type: 'message', status: 'in_progress', content: [], role: 'assistant' },
    whole: { id, type: 'message', status, content: [part], role: 'assistant' },
    events: (output_index) => {
      const at = { item_id: id, output_index, content_index: 0 }
      return [
        { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
        ...splitPieces(text).map((delta) => ({
          type: 'response.output_text.delta',
          ...at,
          delta,
          logprobs: [],
          obfuscation: 'pV3xKq',
        })),
        { type: 'response.output_text.done', ...at, text, logprobs: [] },
        { type: 'response.content_part.done', ...at, part },
      ]
    },
  }
}

function callItem(call: Scenario['toolCalls'][number], index: number): Item {
  const id = `fc_0c5e2f7a91d84b1${index}`
  const fixed = { id, type: 'function_call', call_id: call.id, name: call.name }
  return {
    start: { ...fixed, status: 'in_progress', arguments: '' },
    whole: { ...fixed, status: 'completed', arguments: call.arguments },
    events: (output_index) => {
      const at = { item_id: id, output_index }
      return [
        ...splitPieces(call.arguments).map((delta) => ({
          type: 'response.function_call_arguments.delta',
          ...at,
          delta,
          obfuscation: 'w8Zt',
        })),
        { type: 'response.function_call_arguments.done', ...at, arguments: call.arguments },
      ]
    },
  }
}

function encodeFrames(scenario: Scenario): string[] {
  const begun = { ...identity, status: 'in_progress', incomplete_details: null, output: [], usage: null }
  const last = scenario.finish === 'length' ? 'response.incomplete' : 'response.completed'
  const events: Event[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...buildItems(scenario).flatMap(({ start, events: between, whole }, output_index): Event[] => [
      { type: 'response.output_item.added', output_index, item: start },
      ...between(output_index),
      { type: 'response.output_item.done', output_index, item: whole },
    ]),
    { type: last, response: encodeBody(scenario) },
  ]
  return events.map(({ type, ...rest }, sequence_number) =>
    encodeEventFrame({ type, sequence_number, ...rest } as Event),
  )
}
