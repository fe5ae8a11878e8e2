import { encodeDataFrame, inputTokensOf, type Scenario, splitPieces, type VendorReply } from './scenario.ts'

const identity = {
  id: 'chatcmpl-Cq3kT9fVw2',
  created: 1_790_000_000,
  model: 'vendor-large-2026-03-01',
  service_tier: 'default',
  system_fingerprint: 'fp_8d1c7a20be',
}

export function chatReply(scenario: Scenario): VendorReply {
  return { frames: encodeFrames(scenario), body: encodeBody(scenario), scenario, usage: scenario.usage }
}

function encodeUsage(scenario: Scenario) {
  const { cacheRead, output, reasoning } = scenario.usage
  return {
    prompt_tokens: inputTokensOf(scenario),
    completion_tokens: output + reasoning,
    total_tokens: inputTokensOf(scenario) + output + reasoning,
    prompt_tokens_details: { cached_tokens: cacheRead, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

function encodeBody(scenario: Scenario): Record<string, unknown> {
  const { text, reasoning, toolCalls, finish } = scenario
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(reasoning ? { reasoning_content: reasoning.text } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    refusal: null,
    annotations: [],
  }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }]
  return { ...identity, object: 'chat.completion', choices, usage: encodeUsage(scenario) }
}

function encodeFrames(scenario: Scenario): string[] {
  const chunk = (rest: object) => encodeDataFrame({ ...identity, object: 'chat.completion.chunk', ...rest })
  const delta = (fields: object, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finish }], usage: null })
  const { text, reasoning, finish } = scenario
  return [
    delta({ role: 'assistant', content: '', refusal: null }),
    ...splitPieces(reasoning?.text ?? '').map((part) => delta({ reasoning_content: part })),
    ...splitPieces(text).map((part) => delta({ content: part })),
    ...encodeCallDeltas(scenario).map((call) => delta({ tool_calls: [call] })),
    delta({}, finish),
    chunk({ choices: [], usage: encodeUsage(scenario) }),
    'data: [DONE]\n\n',
  ]
}

/** Parallel calls with interleaved arguments: the hardest order the format allows. */
function encodeCallDeltas({ toolCalls }: Scenario): object[] {
  const starts = toolCalls.map(({ id, name }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: '' },
  }))
  const parts = toolCalls.map((call) => splitPieces(call.arguments))
  const maxPieces = Math.max(0, ...parts.map((list) => list.length))
  const turns = Array.from({ length: maxPieces }, (_, turn) =>
    parts.flatMap((list, index) =>
      list[turn] === undefined ? [] : [{ index, function: { arguments: list[turn] } }],
    ),
  )
  return [...starts, ...turns.flat()]
}
